//===- MergeReshards.cpp - Merges reshards --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on global types, where a chain of reshards is one reshard whose cost
// the planner knows exactly: a slice and its inverse gather vanish, two
// all-to-alls become one, and a scattered and gathered reduction becomes one
// all-reduce.
//
// Between two reshards there may be a unary op whose factors are all parallel:
// a cast, a transpose, a reshape. No op is known by name; its sharding rule
// gives the reshard on its other side. A reshard moves there if that takes less
// time: after a cast to a smaller type, before one to a larger type, or next to
// another reshard. Reductions stay: their element type is part of the result.
//
//===----------------------------------------------------------------------===//

#include "PartitionContext.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Partition/Passes.h"
#include "tessera/Propagation/FactorProjection.h"
#include "llvm/ADT/DenseSet.h"

namespace tessera {
#define GEN_PASS_DEF_MERGERESHARDSPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

class Merger {
public:
  explicit Merger(PartitionContext &context) : context(context) {}

  /// Visits the reshards of a block until nothing changes.
  void run(Block &block);

private:
  bool mergeChain(dist::ReshardOp second);
  bool moveDown(dist::ReshardOp reshard);
  bool moveUp(dist::ReshardOp reshard);

  TransferSum getCost(RankedTensorType type, const Sharding &from,
                      const Sharding &to);
  TransferSum getCost(dist::ReshardOp op) {
    return getCost(op.getType(), context.toPlain(op.getFrom()),
                   context.toPlain(op.getTo()));
  }
  Value create(OpBuilder &builder, Location loc, Value value,
               const Sharding &from, const Sharding &to);
  void remark(Operation *op, StringRef name, bool passed,
              const TransferSum &before, const TransferSum &after);

  void erase(dist::ReshardOp op) {
    erased.insert(op);
    op->erase();
  }

  PartitionContext &context;
  /// Ops that were erased since the list of reshards was created.
  llvm::DenseSet<Operation *> erased;
  /// True in the first round, so that missed merges are reported once.
  bool isFirst = true;
};

} // namespace

/// True if it takes less time, and no more bytes. After an op that enlarges its
/// operand, a reshard may have fewer steps but would move more bytes.
static bool isBetter(const TransferSum &a, const TransferSum &b) {
  return isShorter(a, b) && a.bytes <= b.bytes;
}

TransferSum Merger::getCost(RankedTensorType type, const Sharding &from,
                            const Sharding &to) {
  return getReshardCost(context.getPlanner(), from, to, type.getShape(),
                        getElementBytes(type));
}

void Merger::remark(Operation *op, StringRef name, bool passed,
                    const TransferSum &before, const TransferSum &after) {
  auto options = remark::RemarkOpts::name(name).category("partition");
  auto remark = passed ? remark::passed(op->getLoc(), options)
                       : remark::missed(op->getLoc(), options);
  remark << remark::metric("bytesBefore", before.bytes)
         << remark::metric("bytes", after.bytes)
         << remark::metric("usBefore", before.time * 1e6)
         << remark::metric("us", after.time * 1e6);
}

/// Returns the value with sharding `to`; itself if it has that already.
Value Merger::create(OpBuilder &builder, Location loc, Value value,
                     const Sharding &from, const Sharding &to) {
  if (from.samePlacement(to))
    return value;
  dist::ShardingAttr target = context.toAttr(to);
  auto reshard = dist::ReshardOp::create(builder, loc, value,
                                         context.toAttr(from), target);
  dist::setSharding(reshard.getResult(), target);
  return reshard;
}

/// Merges reshard of reshard: directly from the first sharding to the last.
bool Merger::mergeChain(dist::ReshardOp second) {
  auto first = second.getInput().getDefiningOp<dist::ReshardOp>();
  if (!first)
    return false;
  Sharding from = context.toPlain(first.getFrom()),
           to = context.toPlain(second.getTo());
  if (!from.unreduced.empty() && !to.unreduced.empty() &&
      from.reduction != to.reduction)
    return false;
  bool onlyUse = first->hasOneUse();
  TransferSum direct = getCost(second.getType(), from, to);
  TransferSum before = getCost(second);
  if (onlyUse)
    before += getCost(first);
  bool pays = onlyUse ? !isShorter(before, direct) : isShorter(direct, before);
  if (pays || (isFirst && before.time > 0))
    remark(second, "MergedReshards", pays, before, direct);
  if (!pays)
    return false;
  OpBuilder builder(second);
  Value value = create(builder, second.getLoc(), first.getInput(), from, to);
  second.getResult().replaceAllUsesWith(value);
  erase(second);
  if (first.use_empty())
    erase(first);
  return true;
}

/// Returns the rule of a unary op that may run on any part of its operand.
static std::optional<ShardingRule> getMovableRule(Operation *op) {
  if (!op || !isa<ShardingRuleOpInterface>(op) || op->getNumResults() != 1 ||
      op->getNumOperands() != 1 || op->getNumRegions() != 0 ||
      !getTensorType(op->getOperand(0)) || !getTensorType(op->getResult(0)))
    return std::nullopt;
  ShardingRule rule = getShardingRule(op);
  bool parallel = llvm::all_of(rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Parallel && !factor.positional;
  });
  if (!parallel || rule.operands.empty() || rule.results.empty())
    return std::nullopt;
  return rule;
}

/// Maps the `sharding` of a tensor with dimensions `here` to dimensions `there`
/// on the other side of the op; none if that is not the same placement.
static std::optional<Sharding> carry(const ShardingRule &rule,
                                     const TensorFactors &here,
                                     const TensorFactors &there,
                                     const Sharding &sharding) {
  if (!sharding.unreduced.empty() || here.size() != sharding.dims.size())
    return std::nullopt;
  llvm::SmallVector<AxisList, 8> axes =
      projectTensor(rule, here, sharding.dims);
  Sharding back = unprojectTensor(rule, here, axes);
  Sharding carried = unprojectTensor(rule, there, axes);
  if (!back.samePlacement(sharding) ||
      numShards(carried.dimAxes()) != numShards(sharding.dimAxes()))
    return std::nullopt;
  return carried;
}

static bool divides(RankedTensorType type, const Sharding &sharding) {
  return llvm::all_of(llvm::zip(type.getShape(), sharding.dims), [](auto pair) {
    auto [n, dim] = pair;
    return n % numShards(dim.axes) == 0;
  });
}

/// Rewrites reshard, op  ->  op, reshard.
bool Merger::moveDown(dist::ReshardOp reshard) {
  if (!reshard->hasOneUse())
    return false;
  Operation *op = *reshard->user_begin();
  std::optional<ShardingRule> rule = getMovableRule(op);
  if (!rule || op->getBlock() != reshard->getBlock())
    return false;
  Value result = op->getResult(0);
  RankedTensorType type = getTensorType(result);
  std::optional<Sharding> from =
      carry(*rule, rule->operands[0], rule->results[0],
            context.toPlain(reshard.getFrom()));
  Sharding made = context.getSharding(result), wanted = made;
  if (!from || !divides(type, *from) || !made.unreduced.empty())
    return false;
  TransferSum before = getCost(reshard);
  auto next = result.hasOneUse()
                  ? dyn_cast<dist::ReshardOp>(*result.user_begin())
                  : dist::ReshardOp();
  if (next) {
    before += getCost(next);
    wanted = context.toPlain(next.getTo());
  }
  TransferSum after = getCost(type, *from, wanted);
  if (!isBetter(after, before))
    return false;
  remark(op, "MovedReshard", true, before, after);
  op->setOperand(0, reshard.getInput());
  erase(reshard);
  dist::setSharding(result, context.toAttr(*from));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value moved = create(builder, op->getLoc(), result, *from, wanted);
  if (next) {
    next.getResult().replaceAllUsesWith(moved);
    erase(next);
  } else if (moved != result) {
    result.replaceAllUsesExcept(moved, moved.getDefiningOp());
  }
  return true;
}

/// Rewrites op, reshard  ->  reshard, op.
bool Merger::moveUp(dist::ReshardOp reshard) {
  Operation *op = reshard.getInput().getDefiningOp();
  std::optional<ShardingRule> rule = getMovableRule(op);
  if (!rule || !op->getResult(0).hasOneUse() ||
      op->getBlock() != reshard->getBlock())
    return false;
  Value input = op->getOperand(0);
  RankedTensorType type = getTensorType(input);
  Sharding from = context.getSharding(input);
  std::optional<Sharding> to = carry(*rule, rule->results[0], rule->operands[0],
                                     context.toPlain(reshard.getTo()));
  if (!to || !divides(type, *to) || !from.unreduced.empty() ||
      !context.toPlain(reshard.getFrom()).unreduced.empty())
    return false;
  TransferSum before = getCost(reshard), after = getCost(type, from, *to);
  if (!isBetter(after, before))
    return false;
  remark(op, "MovedReshard", true, before, after);
  OpBuilder builder(op);
  op->setOperand(0, create(builder, reshard.getLoc(), input, from, *to));
  dist::setSharding(op->getResult(0), reshard.getTo());
  reshard.getResult().replaceAllUsesWith(op->getResult(0));
  erase(reshard);
  return true;
}

void Merger::run(Block &block) {
  // Each change saves time, or a reshard.
  bool changed = true;
  for (isFirst = true; changed; isFirst = false) {
    changed = false;
    SmallVector<Operation *> reshards;
    for (auto reshard : block.getOps<dist::ReshardOp>())
      reshards.push_back(reshard);
    erased.clear();
    for (Operation *op : reshards) {
      if (erased.contains(op))
        continue;
      auto reshard = cast<dist::ReshardOp>(op);
      changed |= mergeChain(reshard) || moveDown(reshard) || moveUp(reshard);
    }
  }
}

namespace {
struct MergeReshardsPass
    : tessera::impl::MergeReshardsPassBase<MergeReshardsPass> {
  void runOnOperation() override {
    FailureOr<PartitionContext> context = PartitionContext::get(getOperation());
    if (failed(context))
      return signalPassFailure();
    for (FunctionOpInterface func : context->getFunctions())
      for (Block *block : dist::getBlocks(func))
        Merger(*context).run(*block);
  }
};
} // namespace
