//===- PinContext.cpp - Applies context parallelism to attention ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks ContextChoice.h for each attention in a module with `dist.context`, and
// writes the axes of its factors. An attention and its backward have equal
// problems, and so the same method. Propagation keeps these axes, and
// InsertReshards reshards tensors with other shardings.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "tessera/Partition/AttentionContext.h"
#include "tessera/Partition/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_PINCONTEXTPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

class ContextPinner {
public:
  explicit ContextPinner(const SequenceContext &context) : context(context) {}

  LogicalResult run(FunctionOpInterface func);
  bool foundAttention() const { return found; }

private:
  template <typename Op> FailureOr<ContextChoice> pin(Op op);
  LogicalResult pinForward(nn::AttentionOp op);
  LogicalResult pinBackward(nn::AttentionBackwardOp op);
  void keepWhole(Value value, unsigned dim) const;
  void keepPartial(Value value) const;
  void report(Operation *op, const ContextChoice &choice) const;

  const SequenceContext &context;
  bool hasBackward = false, found = false;
};

} // namespace

void ContextPinner::report(Operation *op, const ContextChoice &choice) const {
  auto remark = remark::analysis(
      op->getLoc(),
      remark::RemarkOpts::name("ContextMethod").category("partition"));
  if (!remark)
    return;
  remark << remark::add("{0} runs by {1}", op->getName().getStringRef(),
                        choice.get().method.getName());
  for (const ContextCost &cost : choice.costs) {
    std::string name = cost.method.getName();
    remark << remark::metric("us of " + name, cost.seconds * 1e6)
           << remark::metric("bytes of " + name,
                             cost.forwardBytes + cost.backwardBytes);
  }
}

template <typename Op> FailureOr<ContextChoice> ContextPinner::pin(Op op) {
  found = true;
  ContextProblem problem = getContextProblem(op, context, hasBackward);
  llvm::Error error = problem.check();
  if (error)
    return op.emitOpError(llvm::toString(std::move(error)));
  llvm::Expected<ContextChoice> choice = chooseContext(problem, context.method);
  if (!choice)
    return op.emitOpError(llvm::toString(choice.takeError()));
  ContextAxes axes = getContextAxes(problem, choice->get().method);
  auto [groups, heads] =
      splitHeadAxes(context.heads, op.getQ().getType().getDimSize(2),
                    op.getQ().getType().getDimSize(3));
  groups.append(axes.group);
  heads.append(axes.head);
  // The factors are numbered: batch, query, group, head, and others.
  std::vector<AxisList> factors(op.getShardingRule().factors.size());
  factors[1] = axes.query;
  factors[2] = groups;
  factors[3] = heads;
  SmallVector<Attribute> pins;
  for (const AxisList &list : factors)
    pins.push_back(dist::AxesAttr::get(op.getContext(), context.mesh, list));
  op->setAttr(dist::DistDialect::kFactorsAttr,
              ArrayAttr::get(op.getContext(), pins));
  if (choice->get().isRing)
    op->setAttr(dist::DistDialect::kRingAttr,
                dist::AxesAttr::get(op.getContext(), context.mesh, axes.query));
  report(op, *choice);
  return *choice;
}

/// Sets the sharding of a value that each device has for all tokens.
void ContextPinner::keepWhole(Value value, unsigned dim) const {
  Sharding sharding = context.getWholeSequence(value, dim);
  dist::setSharding(value, dist::ShardingAttr::get(context.meshSymbol,
                                                   context.mesh, sharding));
}

/// Sets the sharding of a gradient to which each device adds for all tokens.
void ContextPinner::keepPartial(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  Sharding sharding = Sharding::replicatedOf(type.getRank(), /*open=*/true);
  sharding.unreduced = context.seq;
  dist::setSharding(value, dist::ShardingAttr::get(context.meshSymbol,
                                                   context.mesh, sharding));
}

/// Keeps keys and values whole that are computed from latents.
LogicalResult ContextPinner::pinForward(nn::AttentionOp op) {
  FailureOr<ContextChoice> choice = pin(op);
  if (failed(choice) || choice->get().method.kind != ContextMethod::Latent)
    return choice;
  for (Value operand : {op.getK(), op.getV()})
    for (auto [value, dim] : listFromLatents(operand))
      keepWhole(value, dim);
  return success();
}

/// Keeps gradients of keys and values partial until they are gradients of their
/// latents and of weights.
LogicalResult ContextPinner::pinBackward(nn::AttentionBackwardOp op) {
  FailureOr<ContextChoice> choice = pin(op);
  if (failed(choice) || choice->get().method.kind != ContextMethod::Latent)
    return choice;
  for (Value value : listPartialGradients(op))
    keepPartial(value);
  return success();
}

LogicalResult ContextPinner::run(FunctionOpInterface func) {
  hasBackward = false;
  func.walk([&](nn::AttentionBackwardOp) { hasBackward = true; });
  WalkResult result = func.walk([&](Operation *op) -> WalkResult {
    if (auto attention = dyn_cast<nn::AttentionOp>(op))
      return pinForward(attention);
    if (auto backward = dyn_cast<nn::AttentionBackwardOp>(op))
      return pinBackward(backward);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct PinContextPass : tessera::impl::PinContextPassBase<PinContextPass> {
  void runOnOperation() override {
    if (failed(pin()))
      signalPassFailure();
  }

  LogicalResult pin() {
    ModuleOp module = getOperation();
    if (!module->hasAttr(dist::DistDialect::kContextAttr))
      return success();
    FailureOr<SequenceContext> context = readContext(module);
    if (failed(context))
      return failure();
    ContextPinner pinner(*context);
    for (auto func : module.getOps<FunctionOpInterface>())
      if (!func.isExternal() && !func->hasAttr(dist::DistDialect::kLocalAttr) &&
          failed(pinner.run(func)))
        return failure();
    module->removeAttr(dist::DistDialect::kContextAttr);
    bool needs = context->method.kind != ContextMethod::Auto &&
                 context->method.kind != ContextMethod::AllGather;
    if (needs && !pinner.foundAttention())
      return module.emitError()
             << "strategy 'cp=" << context->method.getName()
             << "' expects a program with attention but got one without";
    return success();
  }
};
} // namespace
