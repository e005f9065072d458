//===- PartitionProver.cpp - Follows blocks through a local function ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionProver.h"
#include "ReplicatedOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;

LogicalResult PartitionVerdict::report() const {
  if (answer == PartitionAnswer::Proven)
    return success();
  InFlightDiagnostic error =
      op->emitError("verify-partition: ")
      << (answer == PartitionAnswer::Refuted ? "refuted" : "not provable")
      << ": " << op->getName() << ": " << why;
  if (reference)
    error.attachNote(*reference) << "the reference computes it here";
  return error;
}

bool PartitionProver::refute(Operation *op, const Twine &why) {
  verdict.answer = PartitionAnswer::Refuted;
  verdict.op = op;
  verdict.why = why.str();
  return false;
}

bool PartitionProver::giveUp(Operation *op, const Twine &why) {
  refute(op, why);
  verdict.answer = PartitionAnswer::NotProvable;
  return false;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The state that a sharding describes, and the true shape.
bool PartitionProver::readBoundary(Operation *where, Type type,
                                   dist::ShardingAttr attr, Attribute shape,
                                   ShardState &state,
                                   SmallVectorImpl<int64_t> &trueShape,
                                   const Twine &name) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return true;
  Sharding sharding = attr ? attr.toSharding(placements.getMesh())
                           : Sharding::replicatedOf(tensor.getRank());
  auto sizes = dyn_cast_or_null<DenseI64ArrayAttr>(shape);
  if (sharding.rank() != tensor.getRank() ||
      (sizes && sizes.size() != tensor.getRank()))
    return refute(where, name +
                             " has a sharding or true shape of another rank "
                             "than " +
                             Twine(tensor.getRank()));
  for (auto [dim, s] : llvm::enumerate(sharding.dims)) {
    DimState &mine = state.dims.emplace_back();
    mine.placement = placements.get(s.axes);
    mine.padding = PadContent::Zero;
    int64_t held = tensor.getDimSize(dim) * numShards(s.axes);
    trueShape.push_back(sizes ? sizes[dim] : held);
    if (trueShape.back() > held)
      return refute(where, name + " has " + Twine(held) +
                               " elements on all devices in dimension " +
                               Twine(dim) + " but " + Twine(trueShape.back()) +
                               " are needed");
  }
  state.unreduced = normalizeAxes(placements.getMesh(), sharding.unreduced);
  state.reduction = sharding.reduction;
  return true;
}

bool PartitionProver::setArguments() {
  if (global && global.getNumArguments() != local.getNumArguments())
    return refute(local, "it has " + Twine(local.getNumArguments()) +
                             " arguments but the reference has " +
                             Twine(global.getNumArguments()));
  for (BlockArgument arg : local.getArguments()) {
    unsigned i = arg.getArgNumber();
    ShardState state;
    SmallVector<int64_t> shape;
    if (!readBoundary(local, arg.getType(), dist::getSharding(arg),
                      local.getArgAttr(i, dist::DistDialect::kGlobalShapeAttr),
                      state, shape, "argument " + Twine(i)))
      return false;
    auto tensor = dyn_cast<RankedTensorType>(arg.getType());
    Type type = tensor ? Type(tensor.clone(shape)) : arg.getType();
    if (!global) {
      state.value = reference.addValue(type, arg.getLoc());
    } else {
      if (global.getArgument(i).getType() != type)
        return refute(local, "argument " + Twine(i) +
                                 " is of another global type than in the "
                                 "reference");
      state.value = reference.lookup(global.getArgument(i));
    }
    states[arg] = std::move(state);
  }
  return true;
}

/// A value must lie as a boundary says.
bool PartitionProver::checkPlace(Operation *op, const ShardState &got,
                                 const ShardState &needed, const Twine &name) {
  const Mesh &mesh = placements.getMesh();
  // Equal parts are parts over any axes of as many devices.
  bool isShared = got.share != 1 && !got.isPartial() &&
                  needed.reduction == ::tessera::ReductionKind::Sum &&
                  numShards(needed.unreduced) == got.share;
  if (got.share != 1 && !isShared)
    return refute(op, name + " is one of " + Twine(got.share) +
                          " parts that are still to be summed");
  if (!isShared && got.unreduced != needed.unreduced)
    return refute(
        op, name + " is to be reduced over " + printAxes(mesh, got.unreduced) +
                " but its sharding says " + printAxes(mesh, needed.unreduced));
  if (got.isPartial() && got.reduction != needed.reduction)
    return refute(op, name + " is to be reduced by another reduction");
  for (auto [dim, a, b] : llvm::enumerate(got.dims, needed.dims))
    if (!a.uniform && a.placement != b.placement)
      return refute(
          op, name + ", dimension " + Twine(dim) + ": " +
                  explainDifference(placements, a.placement, b.placement));
  return true;
}

bool PartitionProver::checkResult(Operation *terminator, unsigned i) {
  Value value = terminator->getOperand(i);
  const ShardState &got = states.find(value)->second;
  ShardState needed;
  SmallVector<int64_t> shape;
  std::string name = ("result " + Twine(i)).str();
  if (!readBoundary(terminator, value.getType(),
                    dist::getResultSharding(local, i),
                    local.getResultAttr(i, dist::DistDialect::kGlobalShapeAttr),
                    needed, shape, name))
    return false;
  if (global) {
    Value wanted =
        global.getFunctionBody().front().getTerminator()->getOperand(i);
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if ((tensor ? Type(tensor.clone(shape)) : value.getType()) !=
        wanted.getType())
      return refute(terminator, name + " is of another global type than in "
                                       "the reference");
    if (got.value != reference.lookup(wanted)) {
      verdict.reference = wanted.getLoc();
      return refute(terminator, name + " is another value than in the "
                                       "reference");
    }
  }
  return checkPlace(terminator, got, needed, name);
}

bool PartitionProver::checkResults(Operation *terminator) {
  if (global && global.getNumResults() != local.getNumResults())
    return refute(local, "it has " + Twine(local.getNumResults()) +
                             " results but the reference has " +
                             Twine(global.getNumResults()));
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    if (!checkResult(terminator, i))
      return false;
  for (unsigned i = 0; i < local.getNumArguments(); ++i)
    if (auto result = local.getArgAttrOfType<IntegerAttr>(
            i, dist::DistDialect::kDonateAttr))
      if (!checkDonation(terminator, i, result.getInt()))
        return false;
  return true;
}

/// A result that takes the place of an argument lies as that does, with zeros
/// in its padding: the next call takes them for granted.
bool PartitionProver::checkDonation(Operation *terminator, unsigned argument,
                                    int64_t index) {
  std::string name = ("result " + Twine(index) +
                      ", which takes the place of argument " + Twine(argument))
                         .str();
  if (index < 0 || index >= terminator->getNumOperands())
    return refute(terminator, name + ", is not there");
  Value value = terminator->getOperand(index);
  if (value.getType() != local.getArgument(argument).getType())
    return refute(terminator, name + ", is of another type");
  const ShardState &got = states.find(value)->second;
  const ShardState &needed = states.find(local.getArgument(argument))->second;
  if (!checkPlace(terminator, got, needed, name))
    return false;
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  auto shape = local.getArgAttrOfType<DenseI64ArrayAttr>(
      argument, dist::DistDialect::kGlobalShapeAttr);
  for (auto [dim, s] : llvm::enumerate(needed.dims)) {
    int64_t held = tensor.getDimSize(dim) * placements.getCount(s.placement);
    bool isPadded = shape && shape[dim] < held;
    const DimState &mine = got.dims[dim];
    if (isPadded && (mine.uniform || mine.padding != PadContent::Zero))
      return refute(terminator, name +
                                    ", is not known to have zeros in the "
                                    "padding of dimension " +
                                    Twine(dim));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

bool PartitionProver::visit(Operation *op) {
  for (Value operand : op->getOperands())
    if (!states.contains(operand))
      return giveUp(op, "an operand of unknown origin");
  if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
    return visitCollective(collective, op->getOperand(0), op->getResult(0));
  if (auto start = dyn_cast<dist::StartOp>(op))
    return visitStart(start);
  if (auto bucket = dyn_cast<dist::BucketOp>(op))
    return visitBucket(bucket);
  if (auto wait = dyn_cast<dist::WaitOp>(op)) {
    ShardState state = states.find(wait.getFuture())->second;
    states[wait.getResult()] = std::move(state);
    return true;
  }
  if (auto matmul = dyn_cast<dist::CollectiveMatmulOp>(op))
    return visitCollectiveMatmul(matmul);
  if (auto partial = dyn_cast<dist::ToPartialOp>(op))
    return visitToPartial(partial);
  if (auto offset = dyn_cast<dist::AxisOffsetOp>(op))
    return visitOffset(offset);
  if (ConstantValue constant = getConstantValue(op); constant.value)
    return visitConstant(op, constant);
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
    return visitAccumulate(accumulate);
  if (auto made = matchReplicated(op, reference, states, !global)) {
    for (auto [result, state] : llvm::zip(op->getResults(), *made))
      states[result] = std::move(state);
    return true;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (auto send = dyn_cast<dist::SendOp>(op))
    return visitSend(send);
  if (auto recv = dyn_cast<dist::RecvOp>(op))
    return visitRecv(recv);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return visitCall(call);
  return visitOp(op);
}

bool PartitionProver::visitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!visit(&op))
      return false;
  return true;
}

PartitionVerdict PartitionProver::run() {
  if (!llvm::hasSingleElement(local.getFunctionBody()) ||
      (global && !llvm::hasSingleElement(global.getFunctionBody()))) {
    giveUp(local, "a function of several blocks");
    return verdict;
  }
  if (global)
    reference.addFunction(global, local);
  firstForeign = reference.getNumValues();
  Block &block = local.getFunctionBody().front();
  bool ok = setArguments() && visitBlock(block) &&
            checkResults(block.getTerminator());
  (void)ok;
  return verdict;
}

PartitionVerdict tessera::verifyPartition(FunctionOpInterface local,
                                          const Mesh &mesh,
                                          FunctionOpInterface reference) {
  return PartitionProver(local, mesh, reference).run();
}
