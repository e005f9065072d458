//===- ProveDistOps.cpp - Effects of dist ops and calls on blocks ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionProver.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Ops of dist
//===----------------------------------------------------------------------===//

/// Facts about the global value of a device's shard of `type`.
GlobalFacts PartitionProver::getFacts(const ShardState &state,
                                      Type type) const {
  GlobalFacts facts;
  facts.numTrueBlocks.assign(state.dims.size(), GlobalFacts::kAnyLength);
  if (state.value < 0)
    return facts;
  const ReferenceValue &value = reference.getValue(state.value);
  facts.isZero = value.isZero;
  auto part = dyn_cast<RankedTensorType>(type);
  auto whole = dyn_cast<RankedTensorType>(value.type);
  if (!part || !whole)
    return facts;
  for (auto [dim, count] : llvm::enumerate(facts.numTrueBlocks))
    if (!value.freeDims.test(dim) && part.getDimSize(dim) > 0)
      count = llvm::divideCeil(whole.getDimSize(dim), part.getDimSize(dim));
  return facts;
}

bool PartitionProver::visitCollective(dist::CollectiveOpInterface op,
                                      Value operand, Value result) {
  if (op.getFromAttr())
    return giveUp(op, "a collective on global types in a local function");
  if (op->getNumOperands() != 1)
    return giveUp(op, "a collective that sends a part of its operand");
  const ShardState &state = states.getWithEnds(operand);
  llvm::Expected<ShardState> made = applyCollective(
      op, state, getFacts(state, operand.getType()), placements);
  if (!made)
    return refute(op, llvm::toString(made.takeError()));
  setState(result, std::move(*made));
  return true;
}

/// A future represents the result of its collective.
bool PartitionProver::visitStart(dist::StartOp op) {
  for (Operation &inner : op.getBody().front().without_terminator()) {
    auto collective = dyn_cast<dist::CollectiveOpInterface>(inner);
    if (!collective)
      return giveUp(&inner, "an op that is no collective in dist.start");
    if (!visitCollective(collective, op.getInput(), op.getFuture()))
      return false;
  }
  return true;
}

/// Each result is the result of its member on its operand.
bool PartitionProver::visitBucket(dist::BucketOp op) {
  for (auto [member, input, result] :
       llvm::zip_equal(op.getMembers(), op.getInputs(), op.getResults()))
    if (!visitCollective(member, input, result))
      return false;
  return true;
}

/// Visits the region, which defines the result; its chunked execution is not
/// checked.
template <typename Op> bool PartitionProver::visitRegion(Op op) {
  for (auto [argument, input] :
       llvm::zip_equal(op.getBody().getArguments(), op.getInputs()))
    setState(argument, states.getWithEnds(input));
  if (!visitBlock(op.getBody().front()))
    return false;
  for (auto [result, yielded] :
       llvm::zip_equal(op.getResults(), op.getYield().getOperands()))
    setState(result, states.getWithEnds(yielded));
  return true;
}

template bool PartitionProver::visitRegion(dist::CollectiveMatmulOp op);
template bool PartitionProver::visitRegion(dist::RingAttentionOp op);

bool PartitionProver::visitToPartial(dist::ToPartialOp op) {
  llvm::Expected<ShardState> made =
      applyToPartial(op, states.getWithEnds(op.getInput()), placements);
  if (!made)
    return refute(op, llvm::toString(made.takeError()));
  setState(op.getResult(), std::move(*made));
  return true;
}

bool PartitionProver::visitOffset(dist::AxisOffsetOp op) {
  const Mesh &mesh = placements.getMesh();
  const AxisGroups &groups = placements.getGroups(op.getAxes().toAxes(mesh));
  auto numbers = std::make_shared<std::vector<int64_t>>(groups.index.begin(),
                                                        groups.index.end());
  for (int64_t &number : *numbers)
    number *= op.getLocalSize();
  ShardState state;
  state.numbers = std::move(numbers);
  setState(op.getOffset(), std::move(state));
  return true;
}

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// The result of the reference that adds up or stacks a value of its
/// micro-batch: number `first` if it does, else the first one that does. Their
/// order does not matter.
std::optional<unsigned> PartitionProver::findYielded(dist::AccumulateOp target,
                                                     int value, unsigned first,
                                                     bool isStacked) const {
  auto isIt = [&](unsigned number) {
    return target.isStacked(number) == isStacked &&
           reference.lookup(target.getYield()->getOperand(number)) == value;
  };
  if (first < target.getNumResults() && isIt(first))
    return first;
  for (unsigned number = 0; number < target.getNumResults(); ++number)
    if (isIt(number))
      return number;
  return std::nullopt;
}

/// Visits the region on slices of the operands, and sums up its yields.
/// `target` is null without a reference.
bool PartitionProver::visitAccumulateAs(dist::AccumulateOp op,
                                        dist::AccumulateOp target) {
  Block &body = op.getBody().front();
  for (auto [i, arg] : llvm::enumerate(body.getArguments())) {
    ShardState state = states.getWithEnds(op.getSlices()[i]);
    Type wanted = target ? target.getSlices()[i].getType() : Type();
    if (!closeEnds(op, state, wanted, "operand " + Twine(i)))
      return false;
    DimState first = state.dims.front();
    if (!first.uniform && first.placement != Placements::kWhole)
      return refute(op, "operand " + Twine(i) +
                            " is cut in its dimension of micro-batches");
    Type whole = reference.getValue(state.value).type;
    state.dims.erase(state.dims.begin());
    if (target) {
      state.value = reference.lookup(target.getBody().getArgument(i));
    } else {
      state.value = reference.addValue(
          dist::getSliceType(cast<RankedTensorType>(whole)), op.getLoc());
    }
    setState(arg, std::move(state));
  }
  if (!visitBlock(body))
    return false;
  Operation *yield = body.getTerminator();
  for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
    if (!states.contains(value))
      return giveUp(yield, "an operand of unknown origin");
    ShardState state = states.getWithEnds(value);
    bool isStacked = op.isStacked(i);
    std::optional<unsigned> number =
        target ? findYielded(target, state.value, i, isStacked) : std::nullopt;
    bool isForeign = target && foreign.contains(state.value);
    if (target && !number && !isForeign) {
      if (i < target.getNumResults())
        verdict.reference =
            target.getBody().front().getTerminator()->getOperand(i).getLoc();
      return refuteValue(yield,
                         "operand " + Twine(i) +
                             " is another value than in the reference",
                         state.value, -1);
    }
    Type wanted =
        number ? target.getYield()->getOperand(*number).getType() : Type();
    if (!closeEnds(yield, state, wanted, "operand " + Twine(i)))
      return false;
    bool isSum = state.reduction == ::tessera::ReductionKind::Sum;
    if (state.isPartial() && !isSum && !isStacked)
      return refute(yield, "operand " + Twine(i) +
                               " is still to be reduced, which does not "
                               "commute with a sum over micro-batches");
    for (DimState &dim : state.dims)
      if (dim.padding != PadContent::Zero)
        dim.padding = PadContent::Any;
    if (number) {
      state.value = reference.lookup(target.getResult(*number));
    } else {
      auto type = cast<RankedTensorType>(reference.getValue(state.value).type);
      SmallVector<int64_t> shape(type.getShape());
      if (isStacked)
        shape.insert(shape.begin(), op.getCount());
      int yielded = state.value;
      state.value = reference.addValue(type.clone(shape), op.getLoc());
      if (isForeign)
        foreign.add(state.value, op, yielded, i);
    }
    if (isStacked)
      state.dims.insert(state.dims.begin(), DimState());
    setState(op.getResult(i), std::move(state));
  }
  return true;
}

bool PartitionProver::visitAccumulate(dist::AccumulateOp op) {
  if (!global)
    return visitAccumulateAs(op, nullptr);
  SmallVector<int, 4> numbers;
  for (Value operand : op->getOperands())
    numbers.push_back(states.getNumber(operand));
  std::optional<PartitionVerdict> first, doubtBefore = doubt;
  for (unsigned index :
       reference.find(op->getName(), op->getOperands(), numbers)) {
    auto target = dyn_cast<dist::AccumulateOp>(reference.getOp(index).op);
    if (!target || target.getCount() != op.getCount() ||
        !active.insert(target).second)
      continue;
    llvm::scope_exit leave([&] { active.erase(target); });
    verdict = PartitionVerdict();
    doubt = doubtBefore;
    if (visitAccumulateAs(op, target))
      return true;
    if (!first)
      first = verdict;
  }
  if (!first)
    return explainUnknownOp(op, numbers);
  verdict = *first;
  return false;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The function of the reference that `callee` was made from.
static FlatSymbolRefAttr getReferenceOf(FunctionOpInterface callee) {
  if (auto named = callee->getAttrOfType<FlatSymbolRefAttr>(
          dist::DistDialect::kReferenceAttr))
    return named;
  return FlatSymbolRefAttr::get(callee->getContext(), callee.getName());
}

/// Visits a call of a local function and reads its declared shardings. The body
/// of the callee is compared separately with the function called in the
/// reference.
bool PartitionProver::visitCall(CallOpInterface call) {
  Operation *op = call;
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  if (!callee || callee.isExternal() ||
      !callee->hasAttr(dist::DistDialect::kLocalAttr))
    return giveUp(op, "a call of a function that is not local");
  FlatSymbolRefAttr calleeOfReference = getReferenceOf(callee);
  SmallVector<int, 4> numbers;
  SmallVector<int64_t> shape;
  for (auto [i, operand] : llvm::enumerate(call.getArgOperands())) {
    ShardState got = states.getWithEnds(operand);
    numbers.push_back(got.value);
    ShardState needed;
    if (!readBoundary(op, operand.getType(),
                      dist::getSharding(callee.getArgument(i)),
                      callee.getArgAttr(i, dist::DistDialect::kGlobalShapeAttr),
                      needed, shape, "argument " + Twine(i)) ||
        !checkPlace(op, got, needed, ("operand " + Twine(i)).str()) ||
        !checkZeroPadding(op, operand.getType(), got, needed, shape,
                          "operand " + Twine(i)))
      return false;
    if (auto tensor = dyn_cast<RankedTensorType>(operand.getType());
        tensor &&
        !closeEnds(op, got, tensor.clone(shape), "operand " + Twine(i)))
      return false;
    shape.clear();
  }
  const ReferenceOp *target = nullptr;
  for (unsigned index :
       reference.find(op->getName(), op->getOperands(), numbers))
    if (const ReferenceOp &other = reference.getOp(index);
        !target && other.op->getName() == op->getName() &&
        cast<CallOpInterface>(other.op).getCallableForCallee() ==
            CallInterfaceCallable(SymbolRefAttr(calleeOfReference)))
      target = &other;
  if (!target && global)
    return explainUnknownOp(op, numbers);
  if (target)
    calls.push_back({callee, calleeOfReference});
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    ShardState state;
    shape.clear();
    if (!readBoundary(
            op, result.getType(), dist::getResultSharding(callee, i),
            callee.getResultAttr(i, dist::DistDialect::kGlobalShapeAttr), state,
            shape, "result " + Twine(i)))
      return false;
    auto tensor = dyn_cast<RankedTensorType>(result.getType());
    state.value = target ? target->results[i]
                         : reference.addValue(tensor ? Type(tensor.clone(shape))
                                                     : result.getType(),
                                              op->getLoc());
    // The padding of the callee's results is unknown.
    for (DimState &dim : state.dims)
      dim.padding = PadContent::Any;
    setState(result, std::move(state));
  }
  return true;
}
