//===- PadOps.cpp - Pads one op after the other ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clones each op for padded types. An op that cannot take padding, along some
// dimensions or at all, gets the true elements of its operands, and zeros are
// appended to its results.
//
//===----------------------------------------------------------------------===//

#include "Padder.h"
#include "ResizePadding.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace tessera;

/// Returns the current `value` with the sizes of `type`: the padded ones, or
/// true ones for an op that cannot take padding.
Value Padder::fit(Value value, Type type, Operation *user) {
  Value now = padded.contains(value) ? padded.lookup(value) : value;
  if (now.getType() == type)
    return now;
  Value &made = resized[{value, type, user->getBlock()}];
  if (made)
    return made;
  OpBuilder builder(user);
  made = resizePadding(builder, now, cast<RankedTensorType>(type),
                       dist::getSharding(value), mesh);
  remark::missed(user->getLoc(),
                 remark::RemarkOpts::name("TrueSize").category("partition"))
      << remark::add("{0} cannot take padding: of {1} it gets {2}, whole along "
                     "the dimensions that differ",
                     user->getName().getStringRef().str(),
                     llvm::formatv("{0}", now.getType()).str(),
                     llvm::formatv("{0}", type).str());
  return made;
}

/// Clones the op with fitted operands; fails if it cannot be resized to them.
FailureOr<Operation *> Padder::clonePadded(Operation *op, ValueRange operands) {
  SmallVector<Type> types;
  for (OpResult result : op->getResults())
    types.push_back(sizes.getTypeAt(result));
  OpBuilder builder(op);
  if (llvm::equal(types, op->getResultTypes()) &&
      llvm::equal(TypeRange(operands), op->getOperandTypes()))
    return cloneWithTypes(builder, op, operands, types);
  if (auto iface = dyn_cast<ShardingRuleOpInterface>(op))
    return iface.cloneWithShapes(builder, operands, types);
  return cloneWithTypes(builder, op, operands, types);
}

/// Clones the op on true elements.
Operation *Padder::cloneAsIs(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(fit(operand, operand.getType(), op));
  OpBuilder builder(op);
  return cloneWithTypes(builder, op, operands, op->getResultTypes());
}

/// Records that `clone` replaces `op`. Pads results that it computes without
/// their padding.
void Padder::replace(Operation *op, Operation *clone) {
  OpBuilder builder(clone->getContext());
  builder.setInsertionPointAfter(clone);
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
    auto type = dyn_cast<RankedTensorType>(sizes.getPaddedType(from));
    padded[from] = to;
    if (!type || type == to.getType())
      continue;
    auto made = cast<RankedTensorType>(to.getType());
    dist::ShardingAttr sharding = dist::getSharding(from);
    if (sharding)
      dist::setSharding(to, getResizedSharding(sharding, made, type, mesh));
    padded[from] = resizePadding(builder, to, type, sharding, mesh);
    auto plain = cast<RankedTensorType>(from.getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (made.getDimSize(dim) == plain.getDimSize(dim))
        zeros.insert({from, dim});
  }
  // Bodies use values from outside in their true sizes.
  clone->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      if (inner != clone && padded.contains(operand.get()))
        operand.set(fit(operand.get(), operand.get().getType(), clone));
  });
  replaced.push_back(op);
}

/// Pads the operands of a call to the callee's padded types, with zeros.
void Padder::padCall(CallOpInterface call) {
  auto it = signatures->find(call.resolveCallable());
  if (it == signatures->end())
    return;
  OpBuilder builder(call);
  SmallVector<Value> operands;
  for (auto [operand, type] :
       llvm::zip(call.getArgOperands(), it->second.inputs)) {
    Value value = padded.contains(operand) ? padded.lookup(operand) : operand;
    if (value.getType() == type) {
      operands.push_back(maskNonZeros(builder, operand, value));
      continue;
    }
    value = fit(operand, operand.getType(), call);
    operands.push_back(resizePadding(builder, value,
                                     cast<RankedTensorType>(type),
                                     dist::getSharding(operand), mesh));
  }
  replace(call, cloneWithTypes(builder, call, operands, it->second.outputs));
}

void Padder::padOp(Operation *op) {
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
    return padAccumulate(accumulate);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return padCall(call);
  ShardingRule rule = getShardingRule(op);
  if (!absorbOwnReductions(op, rule)) {
    replace(op, cloneAsIs(op));
    return;
  }
  SmallVector<Value> operands = maskOperands(op, rule);
  trackZeros(op, rule);
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    padTerminator(op, operands);
    return;
  }
  bool isSame = llvm::equal(operands, op->getOperands()) &&
                llvm::all_of(op->getResults(), [&](Value value) {
                  return sizes.getPaddedType(value) == value.getType();
                });
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      isSame &= !padded.contains(operand);
  });
  if (isSame)
    return;
  FailureOr<Operation *> clone = clonePadded(op, operands);
  replace(op, succeeded(clone) ? *clone : cloneAsIs(op));
}
