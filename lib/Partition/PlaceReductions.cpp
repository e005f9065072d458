//===- PlaceReductions.cpp - Delays reductions through linear ops ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits each op once, in order, so that a reduction may move through a chain
// of ops. A reduction with several uses stays at first, since delaying it for
// one of them would run it twice. DelayPastUses.h handles these after all
// others have moved.
//
//===----------------------------------------------------------------------===//

#include "DelayPastUses.h"
#include "PartitionContext.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Partition/Passes.h"
#include "tessera/Propagation/FactorProjection.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {
#define GEN_PASS_DEF_PLACEREDUCTIONSPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// An op and the reductions of its operands.
class Delay {
public:
  Delay(PartitionContext &context, Operation *op)
      : context(context), op(op), partial(op->getNumOperands()) {}

  /// True if running the op on partial values takes no more time and no more
  /// bytes.
  bool isWorthwhile();
  void apply();

private:
  bool findReductions();
  bool fitFactors();
  TransferSum getCost(dist::ReshardOp reshard);
  dist::ReshardOp getNextReshard();
  int64_t getTimes(bool isAfter) const;
  Value getPartial(Value operand);

  PartitionContext &context;
  Operation *op;
  /// The reshards that reduce, each used by this op alone.
  llvm::SetVector<Operation *> reductions;
  /// Operands that come from them.
  llvm::SmallBitVector partial;
  /// The sharding of the op's partial result.
  Sharding result;
  TransferSum before, after;
  /// True if some operands are partial over fewer axes than the result, or
  /// whole.
  bool isMixed = false;
};

} // namespace

/// Finds the operands that are reductions of one kind. If they are not all over
/// the same axes, the op may still be linear in operands that are all partial:
/// whole values can be made partial.
bool Delay::findReductions() {
  const Sharding *first = nullptr;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto reshard = operand.getDefiningOp<dist::ReshardOp>();
    if (!reshard)
      continue;
    const Sharding &from = context.toPlain(reshard.getFrom());
    bool onlyHere = llvm::all_of(reshard->getUsers(),
                                 [&](Operation *user) { return user == op; });
    // Sums around a ring belong to the ring.
    Operation *producer = reshard.getInput().getDefiningOp();
    bool isInRing = producer && producer->hasAttr(dist::DistDialect::kRingAttr);
    if (from.unreduced.empty() || !onlyHere || isInRing ||
        !context.toPlain(reshard.getTo()).unreduced.empty())
      continue;
    if (first && first->reduction != from.reduction)
      return false;
    isMixed |= first && first->unreduced != from.unreduced;
    first = first ? first : &from;
    reductions.insert(reshard);
    partial.set(i);
    if (!uniteAxes(result.unreduced, from.unreduced))
      return false;
  }
  if (!first)
    return false;
  result.reduction = first->reduction;
  auto iface = cast<ShardingRuleOpInterface>(op);
  if (!isMixed && iface.commutesWithReduction(result.reduction, partial))
    return true;
  isMixed = true;
  llvm::SmallBitVector all(op->getNumOperands(), true);
  return result.reduction == ReductionKind::Sum &&
         llvm::all_of(op->getOperands(), getTensorType) &&
         iface.commutesWithReduction(ReductionKind::Sum, all);
}

/// Derives the axes of the factors if the op runs before the reductions. Every
/// operand must have them already.
bool Delay::fitFactors() {
  ShardingRule rule = getShardingRule(op);
  FactorAxes axes(rule.factors.size());
  llvm::SmallBitVector known(rule.factors.size());
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = getTensorType(operand);
    if (!type)
      continue;
    const TensorFactors &dims = rule.operands[i];
    const Sharding &sharding =
        partial.test(i)
            ? context.toPlain(
                  operand.getDefiningOp<dist::ReshardOp>().getFrom())
            : context.getSharding(operand);
    if (static_cast<int64_t>(dims.size()) != type.getRank() ||
        (!partial.test(i) && !sharding.unreduced.empty()))
      return false;
    llvm::SmallVector<AxisList, 8> projected =
        projectTensor(rule, dims, sharding.dims);
    for (const DimFactors &dim : dims)
      for (unsigned f : dim) {
        if (known.test(f) && axes[f] != projected[f])
          return false;
        known.set(f);
        axes[f] = projected[f];
      }
    if (unprojectTensor(rule, dims, axes).dims != sharding.dims)
      return false;
  }
  AxisList used = result.unreduced;
  for (auto [f, list] : llvm::enumerate(axes)) {
    // A reduction in the op itself is followed by a reshard.
    FactorKind kind = rule.factors[f].kind;
    if (overlapsAny(used, list) ||
        (kind != FactorKind::Parallel && !list.empty()))
      return false;
    used.append(list);
  }
  const TensorFactors &dims = rule.results[0];
  result.dims = unprojectTensor(rule, dims, axes).dims;
  // A dimension that is split only in its minor factor has no sharding.
  llvm::SmallVector<AxisList, 8> projected =
      projectTensor(rule, dims, result.dims);
  return llvm::all_of(dims, [&](const DimFactors &dim) {
    return llvm::all_of(dim,
                        [&](unsigned f) { return projected[f] == axes[f]; });
  });
}

TransferSum Delay::getCost(dist::ReshardOp reshard) {
  return getReshardCost(
      context.getPlanner(), context.toPlain(reshard.getFrom()),
      context.toPlain(reshard.getTo()), reshard.getType().getShape(),
      getElementBytes(reshard.getType()));
}

/// Returns how often a reduction before the op, or after it, runs. One after
/// the op may wait until its value is summed over micro-batches.
int64_t Delay::getTimes(bool isAfter) const {
  auto accumulate = dyn_cast<dist::AccumulateOp>(op->getParentOp());
  if (!accumulate)
    return 1;
  bool waits = isAfter && !accumulate.getReduceEach() &&
               accumulate.isOnlySummed(op->getResult(0));
  return waits ? 1 : accumulate.getCount();
}

/// Returns the reshard to a whole value if it is the only use of the result;
/// null otherwise.
dist::ReshardOp Delay::getNextReshard() {
  Value value = op->getResult(0);
  if (!value.hasOneUse())
    return {};
  auto next = dyn_cast<dist::ReshardOp>(*value.user_begin());
  bool isWhole = next && next->getBlock() == op->getBlock() &&
                 context.toPlain(next.getTo()).unreduced.empty();
  return isWhole ? next : dist::ReshardOp();
}

bool Delay::isWorthwhile() {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || op->getNumResults() != 1 || !getTensorType(op->getResult(0)) ||
      op->getResult(0).use_empty() || !findReductions())
    return false;
  const Sharding &wanted = context.getSharding(op->getResult(0));
  if (!wanted.unreduced.empty() || !fitFactors())
    return false;
  for (Operation *reduction : reductions)
    before += getCost(cast<dist::ReshardOp>(reduction));
  RankedTensorType type = getTensorType(op->getResult(0));
  // A reshard after the op merges with the reduction.
  const Sharding *target = &wanted;
  if (dist::ReshardOp next = getNextReshard()) {
    before += getCost(next);
    target = &context.toPlain(next.getTo());
  }
  after = getReshardCost(context.getPlanner(), result, *target, type.getShape(),
                         getElementBytes(type));
  before *= getTimes(/*isAfter=*/false);
  after *= getTimes(/*isAfter=*/true);
  // Making a whole value partial pays only for scalars, or if it saves bytes.
  bool isNoWorse =
      after.time <= before.time * (1 + 1e-9) && after.bytes <= before.bytes;
  return isNoWorse &&
         (after.bytes < before.bytes || !isMixed || type.getNumElements() == 1);
}

/// Returns the operand as a partial value over all axes of the result.
Value Delay::getPartial(Value operand) {
  if (auto reshard = operand.getDefiningOp<dist::ReshardOp>())
    if (reductions.contains(reshard))
      operand = reshard.getInput();
  const Sharding &from = context.getSharding(operand);
  if (!isMixed || from.unreduced == result.unreduced)
    return operand;
  Sharding target = from;
  target.unreduced = result.unreduced;
  target.reduction = result.reduction;
  dist::ShardingAttr to = context.toAttr(target);
  OpBuilder builder(op);
  Value value = dist::ReshardOp::create(builder, op->getLoc(), operand,
                                        context.toAttr(from), to);
  dist::setSharding(value, to);
  return value;
}

void Delay::apply() {
  Value value = op->getResult(0);
  dist::ReshardOp next = getNextReshard();
  dist::ShardingAttr to = next ? next.getTo() : dist::getSharding(value);
  if (!to)
    to = context.toAttr(context.getSharding(value));
  dist::ShardingAttr from = context.toAttr(result);
  for (OpOperand &operand : op->getOpOperands())
    if (getTensorType(operand.get()) &&
        (isMixed || partial.test(operand.getOperandNumber())))
      operand.set(getPartial(operand.get()));
  dist::setSharding(value, from);
  if (next) {
    next.setFromAttr(from);
  } else {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    next = dist::ReshardOp::create(builder, op->getLoc(), value, from, to);
    dist::setSharding(next.getResult(), to);
    value.replaceAllUsesExcept(next.getResult(), next);
  }
  remark::passed(
      op->getLoc(),
      remark::RemarkOpts::name("DelayedReduction").category("partition"))
      << remark::add("reduction over {0} moved after {1}",
                     context.print(result.unreduced),
                     op->getName().getStringRef().str())
      << remark::metric("bytesBefore", before.bytes)
      << remark::metric("bytes", after.bytes);
  for (Operation *reduction : reductions)
    reduction->erase();
}

//===----------------------------------------------------------------------===//
// Sums over micro-batches
//===----------------------------------------------------------------------===//

namespace {

/// A reduction of a value that a dist.accumulate adds up.
class SumDelay {
public:
  SumDelay(PartitionContext &context, dist::AccumulateOp op, unsigned index)
      : context(context), op(op), operand(op.getYield()->getOpOperand(index)),
        sum(op->getResult(index)) {}

  /// Adds up the partial values and reduces their sum. With reduce_each, each
  /// micro-batch reduces until each device has its shard, and only the rest is
  /// delayed.
  void apply();

private:
  Value reshard(OpBuilder &builder, Value value, dist::ShardingAttr from,
                dist::ShardingAttr to) const;

  PartitionContext &context;
  dist::AccumulateOp op;
  OpOperand &operand;
  OpResult sum;
};

} // namespace

Value SumDelay::reshard(OpBuilder &builder, Value value,
                        dist::ShardingAttr from, dist::ShardingAttr to) const {
  Value result =
      dist::ReshardOp::create(builder, value.getLoc(), value, from, to);
  dist::setSharding(result, to);
  return result;
}

void SumDelay::apply() {
  auto inner = operand.get().getDefiningOp<dist::ReshardOp>();
  if (!inner || !inner->hasOneUse() ||
      inner->getBlock() != operand.getOwner()->getBlock())
    return;
  const Sharding &from = context.toPlain(inner.getFrom());
  const Sharding &to = context.toPlain(inner.getTo());
  if (from.unreduced.empty() || !to.unreduced.empty() ||
      from.reduction != ReductionKind::Sum)
    return;
  Sharding middle = op.getReduceEach() ? getScattered(from, to) : from;
  if (middle.unreduced.empty())
    return;
  dist::ShardingAttr partial = context.toAttr(middle), whole = inner.getTo();
  OpBuilder builder(inner);
  operand.set(middle.samePlacement(from) ? inner.getInput()
                                         : reshard(builder, inner.getInput(),
                                                   inner.getFrom(), partial));
  inner->erase();
  dist::setSharding(sum, partial);
  builder.setInsertionPointAfter(op);
  Value reduced = reshard(builder, sum, partial, whole);
  sum.replaceAllUsesExcept(reduced, reduced.getDefiningOp());
}

namespace {

struct PlaceReductionsPass
    : tessera::impl::PlaceReductionsPassBase<PlaceReductionsPass> {
  void runOnOperation() override {
    FailureOr<PartitionContext> context = PartitionContext::get(getOperation());
    if (failed(context))
      return signalPassFailure();
    for (FunctionOpInterface func : context->getFunctions())
      runOnBlock(*context, func.getFunctionBody().front());
  }

  void runOnBlock(PartitionContext &context, Block &block) {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      if (!isa<dist::ReshardOp>(op))
        ops.push_back(&op);
    for (Operation *op : ops) {
      if (auto accumulate = dyn_cast<dist::AccumulateOp>(op)) {
        runOnBlock(context, accumulate.getBody().front());
        for (unsigned i = 0; i < accumulate.getNumResults(); ++i)
          if (!accumulate.isStacked(i))
            SumDelay(context, accumulate, i).apply();
      } else if (Delay delay(context, op); delay.isWorthwhile()) {
        delay.apply();
      }
    }
    delayPastUses(context, block);
  }
};

} // namespace
