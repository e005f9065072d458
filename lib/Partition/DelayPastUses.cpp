//===- DelayPastUses.cpp - Delays reductions past several users -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a reduction, takes the ops that are linear in its value one by one, in
// order, as if they ran on partial values. After each op, counts the time of
// all reductions that this adds and saves. The best number of ops is applied,
// if it saves time.
//
//===----------------------------------------------------------------------===//

#include "DelayPastUses.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tessera;

bool tessera::uniteAxes(AxisList &axes, ArrayRef<AxisRef> added) {
  for (const AxisRef &axis : added) {
    if (llvm::any_of(axes, [&](auto &a) { return a.contains(axis); }))
      continue;
    llvm::erase_if(axes, [&](auto &a) { return axis.contains(a); });
    if (overlapsAny(axes, axis))
      return false;
    axes.push_back(axis);
  }
  llvm::sort(axes);
  axes = mergeAdjacent(axes);
  return true;
}

Sharding tessera::getScattered(const Sharding &from, const Sharding &to) {
  Sharding scattered = to;
  scattered.reduction = from.reduction;
  AxisList wanted = to.dimAxes();
  for (const AxisRef &axis : from.unreduced)
    if (!overlapsAny(wanted, axis))
      scattered.unreduced.push_back(axis);
  return scattered.unreduced.size() == from.unreduced.size() ? from : scattered;
}

namespace {

/// Maximum number of ops that a reduction may pass.
constexpr unsigned kMaxOps = 16;

class UseDelay {
public:
  UseDelay(PartitionContext &context, dist::ReshardOp reduction)
      : context(&context), reduction(reduction), block(reduction->getBlock()) {}

  bool isWorthwhile();
  void apply();

private:
  /// An op that may run on partial values.
  struct Step {
    /// The sharding of its result.
    Sharding result;
    /// True if some operands are partial over fewer axes, or whole.
    bool isMixed = false;
    /// Other reductions that move after it.
    llvm::SmallVector<dist::ReshardOp, 2> joined;
  };

  Operation *getNext(const llvm::SetVector<Operation *> &refused) const;
  bool take(Operation *op);
  dist::ReshardOp getJoined(Value operand);
  std::optional<Step> getStep(Operation *op);
  Sharding getMade(Value value) const { return made.lookup(value); }
  bool takesPartial(Operation *user, const Sharding &partial);
  bool isNeeded(Value value);
  void count(Value value, const Sharding &from, const Sharding &to, Value moved,
             TransferSum &total);
  void countValue(Value value);
  void rewriteOperands(Operation *op);
  void rewriteUses(Value value);

  PartitionContext *context;
  dist::ReshardOp reduction;
  Block *block;
  /// The reduction, and others that move with it.
  llvm::SetVector<Operation *> sources;
  /// Values that stay partial, and their sharding then; also the sources'
  /// results.
  llvm::MapVector<Value, Sharding> made;
  /// The ops that run on partial values, and the ones among them whose operands
  /// are not all partial over the same axes.
  llvm::SetVector<Operation *> ops;
  llvm::DenseSet<Operation *> mixed;
  TransferSum before, after;
};

} // namespace

/// Returns the reshard that computes `operand` if it only reduces and has no
/// other use; null otherwise.
dist::ReshardOp UseDelay::getJoined(Value operand) {
  auto reshard = operand.getDefiningOp<dist::ReshardOp>();
  if (!reshard || reshard->getBlock() != block || !operand.hasOneUse() ||
      sources.contains(reshard))
    return {};
  const Sharding &from = context->toPlain(reshard.getFrom());
  const Sharding &to = context->toPlain(reshard.getTo());
  bool reduces = !from.unreduced.empty() && to.unreduced.empty() &&
                 from.reduction == ReductionKind::Sum && from.dims == to.dims;
  return reduces ? reshard : dist::ReshardOp();
}

/// Returns the first op of the block, in order, that uses a partial value.
Operation *
UseDelay::getNext(const llvm::SetVector<Operation *> &refused) const {
  Operation *next = nullptr;
  for (auto &[value, sharding] : made)
    for (Operation *user : value.getUsers())
      if (user->getBlock() == block && !ops.contains(user) &&
          !refused.contains(user) && (!next || user->isBeforeInBlock(next)))
        next = user;
  return next;
}

/// Returns how the op may run on the current partial values; none if it may
/// not.
std::optional<UseDelay::Step> UseDelay::getStep(Operation *op) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || op->getNumResults() != 1 || !getTensorType(op->getResult(0)) ||
      op->getResult(0).use_empty())
    return std::nullopt;
  Step step;
  step.result = context->getSharding(op->getResult(0));
  AxisList used = step.result.dimAxes(), added;
  llvm::SmallBitVector partial(op->getNumOperands());
  const Sharding *first = nullptr;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!getTensorType(operand))
      continue;
    const Sharding *sharding = &context->getSharding(operand);
    used.append(sharding->dimAxes());
    if (auto it = made.find(operand); it != made.end()) {
      sharding = &it->second;
    } else if (dist::ReshardOp joined = getJoined(operand)) {
      step.joined.push_back(joined);
      sharding = &context->toPlain(joined.getFrom());
    }
    if (sharding->unreduced.empty())
      continue;
    if (sharding->reduction != ReductionKind::Sum)
      return std::nullopt;
    step.isMixed |= first && first->unreduced != sharding->unreduced;
    first = first ? first : sharding;
    partial.set(i);
    if (!uniteAxes(added, sharding->unreduced))
      return std::nullopt;
  }
  if (step.result.reduction != ReductionKind::Sum || overlapsAny(added, used) ||
      !uniteAxes(step.result.unreduced, added))
    return std::nullopt;
  if (!step.isMixed && iface.commutesWithReduction(ReductionKind::Sum, partial))
    return step;
  step.isMixed = true;
  partial.set();
  if (llvm::all_of(op->getOperands(), getTensorType) &&
      iface.commutesWithReduction(ReductionKind::Sum, partial))
    return step;
  return std::nullopt;
}

/// Makes the op run on partial values, if it may.
bool UseDelay::take(Operation *op) {
  if (isa<dist::ReshardOp>(op))
    return false;
  std::optional<Step> step = getStep(op);
  if (!step)
    return false;
  ops.insert(op);
  if (step->isMixed)
    mixed.insert(op);
  for (dist::ReshardOp joined : step->joined) {
    sources.insert(joined);
    made[joined.getResult()] = context->toPlain(joined.getFrom());
  }
  Value result = op->getResult(0);
  if (!context->getSharding(result).samePlacement(step->result))
    made[result] = step->result;
  return true;
}

/// True for a reshard that leaves the value partial, or reduces all of it.
bool UseDelay::takesPartial(Operation *user, const Sharding &partial) {
  auto reshard = dyn_cast<dist::ReshardOp>(user);
  if (!reshard || user->getBlock() != block)
    return false;
  const AxisList &left = context->toPlain(reshard.getTo()).unreduced;
  return left.empty() || llvm::all_of(partial.unreduced, [&](auto &axis) {
           return llvm::any_of(left, [&](auto &a) { return a.contains(axis); });
         });
}

/// True if some user needs the reduced value.
bool UseDelay::isNeeded(Value value) {
  bool isSource = sources.contains(value.getDefiningOp());
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !ops.contains(user) &&
           (isSource || !takesPartial(user, getMade(value)));
  });
}

/// Adds the cost of a reshard of `value`, whose result is `moved` or replaces
/// the uses of `moved`. It counts once per micro-batch, unless it waits for the
/// sum over micro-batches.
void UseDelay::count(Value value, const Sharding &from, const Sharding &to,
                     Value moved, TransferSum &total) {
  RankedTensorType type = getTensorType(value);
  auto cost = [&](const Sharding &a, const Sharding &b) {
    return getReshardCost(context->getPlanner(), a, b, type.getShape(),
                          getElementBytes(type));
  };
  auto accumulate = dyn_cast<dist::AccumulateOp>(block->getParentOp());
  if (!accumulate) {
    total += cost(from, to);
    return;
  }
  Sharding waiting = accumulate.getReduceEach() ? getScattered(from, to) : from;
  bool isSum = to.unreduced.empty() && accumulate.isOnlySummed(moved);
  TransferSum each = isSum ? cost(from, waiting) : cost(from, to);
  each *= accumulate.getCount();
  total += each;
  if (isSum)
    total += cost(waiting, to);
}

/// Counts the reductions right after a value, before and after the change.
void UseDelay::countValue(Value value) {
  const Sharding &is = context->getSharding(value);
  const Sharding &becomes = getMade(value);
  if (sources.contains(value.getDefiningOp())) {
    count(value, becomes, is, value, before);
    if (isNeeded(value))
      count(value, becomes, is, value, after);
    return;
  }
  if (isNeeded(value))
    count(value, becomes, is, value, after);
  for (Operation *user : value.getUsers()) {
    auto reshard = dyn_cast<dist::ReshardOp>(user);
    if (!reshard || !takesPartial(user, becomes))
      continue;
    const Sharding &to = context->toPlain(reshard.getTo());
    count(value, is, to, reshard.getResult(), before);
    if (to.unreduced.empty())
      count(value, becomes, to, reshard.getResult(), after);
  }
}

bool UseDelay::isWorthwhile() {
  const Sharding &from = context->toPlain(reduction.getFrom());
  const Sharding &to = context->toPlain(reduction.getTo());
  Value source = reduction.getResult();
  if (from.unreduced.empty() || !to.unreduced.empty() || from.dims != to.dims ||
      from.reduction != ReductionKind::Sum || source.use_empty() ||
      llvm::all_of(source.getUsers(),
                   [&](Operation *u) { return u == *source.user_begin(); }))
    return false;
  made[source] = from;
  sources.insert(reduction);
  llvm::SetVector<Operation *> refused;
  UseDelay best = *this;
  while (ops.size() < kMaxOps) {
    Operation *op = getNext(refused);
    if (!op)
      break;
    if (!take(op)) {
      refused.insert(op);
      continue;
    }
    before = after = TransferSum();
    for (auto &[value, sharding] : made)
      countValue(value);
    if (after.bytes <= before.bytes &&
        after.time - before.time <
            best.after.time - best.before.time - 1e-9 * before.time)
      best = *this;
  }
  *this = std::move(best);
  return !ops.empty();
}

static Value createReshard(PartitionContext &context, OpBuilder &builder,
                           Value value, const Sharding &from,
                           const Sharding &to) {
  dist::ShardingAttr attr = context.toAttr(to);
  Value result = dist::ReshardOp::create(builder, value.getLoc(), value,
                                         context.toAttr(from), attr);
  dist::setSharding(result, attr);
  return result;
}

/// Gives the op its partial operands. Makes whole operands partial if the op
/// accepts nothing else.
void UseDelay::rewriteOperands(Operation *op) {
  Value result = op->getResult(0);
  const Sharding &target = made.count(result) ? made.find(result)->second
                                              : context->getSharding(result);
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!getTensorType(value))
      continue;
    auto it = made.find(value);
    Sharding sharding =
        it == made.end() ? context->getSharding(value) : it->second;
    if (sources.contains(value.getDefiningOp()))
      value = value.getDefiningOp<dist::ReshardOp>().getInput();
    Sharding needed = sharding;
    needed.unreduced = target.unreduced;
    needed.reduction = target.reduction;
    if (mixed.contains(op) && !sharding.samePlacement(needed))
      value = createReshard(*context, builder, value, sharding, needed);
    operand.set(value);
  }
}

/// Makes `value` partial for users that accept that, and reduces it for others.
void UseDelay::rewriteUses(Value value) {
  Sharding is = context->getSharding(value), becomes = getMade(value);
  bool needed = isNeeded(value);
  llvm::SmallPtrSet<Operation *, 4> keep;
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    if (ops.contains(user)) {
      keep.insert(user);
      continue;
    }
    if (!takesPartial(user, becomes))
      continue;
    auto reshard = cast<dist::ReshardOp>(user);
    if (context->toPlain(reshard.getTo()).samePlacement(becomes)) {
      reshard.getResult().replaceAllUsesWith(value);
      reshard->erase();
      continue;
    }
    reshard.setFromAttr(context->toAttr(becomes));
    keep.insert(user);
  }
  dist::setSharding(value, context->toAttr(becomes));
  if (!needed)
    return;
  OpBuilder builder(block->getParentOp()->getContext());
  builder.setInsertionPointAfterValue(value);
  Value whole = createReshard(*context, builder, value, becomes, is);
  keep.insert(whole.getDefiningOp());
  value.replaceUsesWithIf(
      whole, [&](OpOperand &use) { return !keep.contains(use.getOwner()); });
}

void UseDelay::apply() {
  remark::passed(
      reduction.getLoc(),
      remark::RemarkOpts::name("DelayedReduction").category("partition"))
      << remark::add("reduction over {0} moved after {1} ops",
                     context->print(getMade(reduction.getResult()).unreduced),
                     ops.size())
      << remark::metric("bytesBefore", before.bytes)
      << remark::metric("bytes", after.bytes);
  // Rewrite operands first: partial values are looked up by the original
  // values.
  for (Operation *op : ops)
    rewriteOperands(op);
  for (auto &[value, sharding] : made)
    if (!sources.contains(value.getDefiningOp()))
      rewriteUses(value);
  for (Operation *source : sources)
    if (source->use_empty())
      source->erase();
}

void tessera::delayPastUses(PartitionContext &context, Block &block) {
  // The op after which to go on. It is not a reshard, which may be erased.
  Operation *last = nullptr;
  for (Operation *op = &block.front(); op;) {
    auto reduction = dyn_cast<dist::ReshardOp>(op);
    if (!reduction) {
      last = op;
    } else if (UseDelay delay(context, reduction); delay.isWorthwhile()) {
      delay.apply();
      op = last ? last->getNextNode() : &block.front();
      continue;
    }
    op = op->getNextNode();
  }
}
