//===- ReshardToCollectives.cpp - Collectives on global types -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionContext.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Partition/Passes.h"
#include "tessera/Reshard/ReshardPlanner.h"

namespace tessera {
#define GEN_PASS_DEF_RESHARDTOCOLLECTIVESPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using Kind = ReshardStep::Kind;

namespace {

/// Builds the ops for the steps of one reshard.
class StepBuilder {
public:
  StepBuilder(PartitionContext &context, dist::ReshardOp reshard)
      : context(context), reshard(reshard), builder(reshard),
        value(reshard.getInput()), from(reshard.getFrom()) {}

  void build(const ReshardPlan &plan, const ReshardStep &step);
  Value getValue() const { return value; }

private:
  Value create(const ReshardStep &step, dist::ShardingAttr to);
  std::string getCause(const ReshardStep &step);
  std::pair<std::string, double> getRunnerUp(const ReshardPlan &plan,
                                             const ReshardStep &step);
  void report(const ReshardPlan &plan, const ReshardStep &step);

  PartitionContext &context;
  dist::ReshardOp reshard;
  OpBuilder builder;
  Value value;
  /// The current sharding of the value.
  dist::ShardingAttr from;
};

} // namespace

Value StepBuilder::create(const ReshardStep &step, dist::ShardingAttr to) {
  Location loc = reshard.getLoc();
  Type type = value.getType();
  dist::AxesAttr axes = context.toAttr(step.axes);
  FlatSymbolRefAttr mesh = context.getSymbol();
  auto kindOf = [&](dist::ShardingAttr sharding) {
    return dist::ReductionKindAttr::get(builder.getContext(),
                                        sharding.getReduction());
  };
  IntegerAttr dim = builder.getI64IntegerAttr(step.dim);
  switch (step.kind) {
  case Kind::Slice:
    return dist::AllSliceOp::create(builder, loc, type, value, dim, axes, mesh,
                                    from, to);
  case Kind::ReduceScatter:
    return dist::ReduceScatterOp::create(builder, loc, type, value, dim,
                                         kindOf(from), axes, mesh, from, to);
  case Kind::AllReduce:
    return dist::AllReduceOp::create(builder, loc, type, value, kindOf(from),
                                     axes, mesh, from, to);
  case Kind::Permute:
    return dist::CollectivePermuteOp::create(
        builder, loc, type, value, builder.getDenseI64ArrayAttr(step.targets),
        axes, mesh, from, to);
  case Kind::AllToAll:
    return dist::AllToAllOp::create(builder, loc, type, value, dim,
                                    builder.getI64IntegerAttr(step.splitDim),
                                    axes, mesh, from, to);
  case Kind::AllGather:
    return dist::AllGatherOp::create(builder, loc, type, value, dim, axes, mesh,
                                     from, to);
  case Kind::ToPartial:
    return dist::ToPartialOp::create(builder, loc, value, axes, kindOf(to),
                                     mesh);
  }
  llvm_unreachable("all kinds are handled");
}

/// Returns the op that needs this step, and its factors: those that the source
/// reduces over the axes, or those that the user has on the dimension.
std::string StepBuilder::getCause(const ReshardStep &step) {
  bool reduces =
      step.kind == Kind::AllReduce || step.kind == Kind::ReduceScatter;
  Operation *op = reduces                ? reshard.getInput().getDefiningOp()
                  : reshard->use_empty() ? nullptr
                                         : *reshard->user_begin();
  if (!op)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName() << (reduces ? " reduces" : " needs");
  // An op with a region, or a terminator, has no factors of its own.
  if (op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>()) {
    ShardingRule rule = getShardingRule(op);
    if (reduces) {
      FactorAxes axes = context.getFactorAxes(op, rule);
      for (auto [f, factor] : llvm::enumerate(rule.factors))
        if (factor.kind == FactorKind::Reduction &&
            overlapsAny(axes[f], step.axes))
          rule.printName(os << " factor ", f);
    } else {
      OpOperand &use = *reshard->use_begin();
      const TensorFactors &dims = rule.operands[use.getOperandNumber()];
      if (step.dim < static_cast<int64_t>(dims.size()))
        for (unsigned f : dims[step.dim])
          rule.printName(os << " factor ", f);
    }
  }
  if (!reduces)
    os << " of dim " << step.dim;
  return text;
}

/// Returns the cheapest plan without this step, as text, and its additional
/// seconds.
std::pair<std::string, double>
StepBuilder::getRunnerUp(const ReshardPlan &plan, const ReshardStep &step) {
  BannedStep banned{step.kind, step.axes};
  ReshardPlanner &planner = context.getPlanner();
  ReshardPlan other = planReshard(
      planner.getMesh(), planner.getLinks(), context.toPlain(reshard.getFrom()),
      context.toPlain(reshard.getTo()), reshard.getType().getShape(),
      getElementBytes(reshard.getType()), &banned);
  if (!other.error.empty())
    return {"none", 0};
  std::string text;
  for (const ReshardStep &s : other.steps)
    text += (text.empty() ? "" : "; ") + stringifyReshardStep(s.kind).str() +
            " over " + context.print(s.axes);
  return {text, other.time - plan.time};
}

void StepBuilder::report(const ReshardPlan &plan, const ReshardStep &step) {
  auto remark = remark::passed(
      reshard.getLoc(),
      remark::RemarkOpts::name("Collective").category("partition"));
  // Compute the rest, which takes time, only if remarks are enabled.
  if (!remark)
    return;
  Operation *source = reshard.getInput().getDefiningOp();
  remark << remark::add("{0} over {1}", stringifyReshardStep(step.kind).str(),
                        context.print(step.axes))
         << remark::reason("{0} is {1} and wanted {2}",
                           source ? source->getName().getStringRef().str()
                                  : std::string("an argument"),
                           context.print(context.toPlain(reshard.getFrom())),
                           context.print(context.toPlain(reshard.getTo())))
         << remark::metric("bytes",
                           step.elements * getElementBytes(reshard.getType()));
  if (!getCollectiveKind(step.kind))
    return;
  auto [other, more] = getRunnerUp(plan, step);
  remark << remark::metric("us", step.time * 1e6)
         << remark::metric("cause", getCause(step))
         << remark::metric("runnerUp", other)
         << remark::metric("usMore", more * 1e6);
}

void StepBuilder::build(const ReshardPlan &plan, const ReshardStep &step) {
  dist::ShardingAttr to = context.toAttr(step.to);
  value = create(step, to);
  dist::setSharding(value, to);
  report(plan, step);
  from = to;
}

static LogicalResult expand(PartitionContext &context, dist::ReshardOp op) {
  const Sharding &from = context.toPlain(op.getFrom());
  const Sharding &to = context.toPlain(op.getTo());
  const ReshardPlan &plan = context.getPlanner().plan(
      from, to, op.getType().getShape(), getElementBytes(op.getType()));
  if (!plan.error.empty())
    return op.emitError("reshard: ")
           << plan.error << ": " << op.getType() << " from "
           << context.print(from) << " to " << context.print(to);
  if (plan.exceedsEnds)
    remark::missed(op.getLoc(),
                   remark::RemarkOpts::name("LargeStep").category("partition"))
        << remark::reason("no way from {0} to {1} divides the shape without a "
                          "value larger than both",
                          context.print(from), context.print(to));
  StepBuilder builder(context, op);
  for (const ReshardStep &step : plan.steps)
    builder.build(plan, step);
  op.getResult().replaceAllUsesWith(builder.getValue());
  op.erase();
  return success();
}

namespace {

struct ReshardToCollectivesPass
    : tessera::impl::ReshardToCollectivesPassBase<ReshardToCollectivesPass> {
  void runOnOperation() override {
    FailureOr<PartitionContext> context = PartitionContext::get(getOperation());
    if (failed(context))
      return signalPassFailure();
    for (FunctionOpInterface func : context->getFunctions())
      for (Block *block : dist::getBlocks(func))
        for (auto reshard :
             llvm::make_early_inc_range(block->getOps<dist::ReshardOp>()))
          if (failed(expand(*context, reshard)))
            return signalPassFailure();
  }
};

} // namespace
