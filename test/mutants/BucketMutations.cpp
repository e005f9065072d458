//===- BucketMutations.cpp - Wrong versions of a bucket -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors that only buckets have, in addition to the errors of each member:
// results or operands that belong to another member.
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"
#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The op in a bucket's region for member `i`.
Operation *getMember(Operation *op, unsigned i) {
  return cast<dist::BucketOp>(op).getMembers()[i];
}

/// Replaces result `i` by a local value; the member stays, unused.
Operation *leaveOut(Operation *op, unsigned i) {
  OpResult result = op->getResult(i);
  Value input = op->getOperand(i);
  if (result.use_empty())
    return nullptr;
  OpBuilder b(op);
  auto type = cast<RankedTensorType>(result.getType());
  // The error must be found at the first op that reads the value.
  Operation *user = *result.user_begin();
  for (Operation *other : result.getUsers())
    if (other->getBlock() == user->getBlock() && other->isBeforeInBlock(user))
      user = other;
  Value value = cutAndPad(b, op->getLoc(), input, type);
  result.replaceAllUsesWith(value);
  return value == input ? user : value.getDefiningOp();
}

/// Exchanges the results of two members.
Operation *exchangeResults(Operation *op, unsigned i, unsigned j) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op->getResult(i).getUses())
    uses.push_back(&use);
  op->getResult(j).replaceAllUsesWith(op->getResult(i));
  for (OpOperand *use : uses)
    use->set(op->getResult(j));
  return getMember(op, std::min(i, j));
}

Operation *exchangeOperands(Operation *op, unsigned i, unsigned j) {
  Value first = op->getOperand(i);
  op->setOperand(i, op->getOperand(j));
  op->setOperand(j, first);
  return getMember(op, std::min(i, j));
}

/// Reduces result `i` once more.
Operation *reduceAgain(Operation *op, unsigned i) {
  auto member = cast<dist::CollectiveOpInterface>(getMember(op, i));
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  auto kind = member->getAttrOfType<dist::ReductionKindAttr>("kind");
  if (!kind)
    kind = dist::ReductionKindAttr::get(op->getContext(),
                                        dist::ReductionKind::Sum);
  OpResult result = op->getResult(i);
  auto again = dist::AllReduceOp::create(
      b, op->getLoc(), result.getType(), result, kind, member.getAxes(),
      member.getMeshAttr(), dist::ShardingAttr(), dist::ShardingAttr());
  result.replaceAllUsesExcept(again.getResult(), again);
  return again;
}

/// Sets an attribute of all members.
Operation *setAll(Operation *op, StringRef name, Attribute attribute) {
  for (dist::CollectiveOpInterface member :
       cast<dist::BucketOp>(op).getMembers())
    member->setAttr(name, attribute);
  return getMember(op, 0);
}

/// Changes the dimension of member `i`; its result is then reshaped to the
/// needed type.
Operation *setDim(Operation *op, unsigned i, int64_t dim, int64_t groupSize) {
  auto member = cast<dist::CollectiveOpInterface>(getMember(op, i));
  member->setAttr("dim", Builder(op->getContext()).getI64IntegerAttr(dim));
  OpResult result = op->getResult(i);
  auto needed = cast<RankedTensorType>(result.getType());
  RankedTensorType type = member.getLocalResultType(
      cast<RankedTensorType>(member->getOperand(0).getType()), groupSize);
  if (!type || type.getNumElements() != needed.getNumElements())
    return nullptr;
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : result.getUses())
    uses.push_back(&use);
  member->getResult(0).setType(type);
  result.setType(type);
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  Value value = reshapeTo(b, op->getLoc(), result, needed);
  if (!value)
    return nullptr;
  for (OpOperand *use : uses)
    use->set(value);
  return member;
}

/// Every other list of axes that a group can have.
std::vector<AxisList> getOtherAxes(const Mesh &mesh, const AxisList &mine) {
  std::vector<AxisList> all{{}};
  for (size_t i = 0; i < all.size(); ++i)
    for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis) {
      AxisRef ref = mesh.fullAxis(axis);
      if (ref.size == 1 || llvm::is_contained(all[i], ref))
        continue;
      AxisList longer = all[i];
      longer.push_back(ref);
      all.push_back(longer);
    }
  llvm::erase_if(
      all, [&](const AxisList &axes) { return axes.empty() || axes == mine; });
  return all;
}

} // namespace

std::vector<Mutation> tessera::getBucketMutations(Operation *op,
                                                  const Mesh &mesh) {
  std::vector<Mutation> list;
  auto bucket = cast<dist::BucketOp>(op);
  auto add = [&](const Twine &what,
                 std::function<Operation *(Operation *)> apply) {
    list.push_back({what.str(), std::move(apply)});
  };
  auto first = bucket.getMembers().front();
  AxisList mine = first.getAxes().toAxes(mesh);
  int64_t groupSize = numShards(mine);
  for (const AxisList &axes : getOtherAxes(mesh, mine)) {
    std::string text;
    llvm::raw_string_ostream os(text);
    mesh.print(os, axes);
    Attribute attribute = dist::AxesAttr::get(op->getContext(), mesh, axes);
    add("axes " + text,
        [=](Operation *op) { return setAll(op, "axes", attribute); });
  }
  if (auto kind = first->getAttrOfType<dist::ReductionKindAttr>("kind"))
    for (auto other : {dist::ReductionKind::Sum, dist::ReductionKind::Max})
      if (other != kind.getValue()) {
        auto attribute = dist::ReductionKindAttr::get(op->getContext(), other);
        add("kind " + dist::stringifyReductionKind(other),
            [=](Operation *op) { return setAll(op, "kind", attribute); });
      }
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    std::string member = "member " + std::to_string(i);
    add(member + ": delete", [=](Operation *op) { return leaveOut(op, i); });
    add(member + ": twice", [=](Operation *op) { return reduceAgain(op, i); });
    if (first->hasAttr("dim"))
      for (int64_t dim = 0,
                   rank = cast<RankedTensorType>(op->getOperand(i).getType())
                              .getRank();
           dim < rank; ++dim)
        add(member + ": dim " + std::to_string(dim),
            [=](Operation *op) { return setDim(op, i, dim, groupSize); });
    for (unsigned j = i + 1; j < op->getNumOperands(); ++j)
      if (op->getOperand(i).getType() == op->getOperand(j).getType() &&
          op->getResult(i).getType() == op->getResult(j).getType()) {
        std::string other = " and " + std::to_string(j);
        add(member + other + ": results exchanged",
            [=](Operation *op) { return exchangeResults(op, i, j); });
        add(member + other + ": operands exchanged",
            [=](Operation *op) { return exchangeOperands(op, i, j); });
        break;
      }
  }
  return list;
}
