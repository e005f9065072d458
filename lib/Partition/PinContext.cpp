//===- PinContext.cpp - Attention runs by a method of context parallelism -===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks ContextChoice.h for each attention of a module with `dist.context`, and
// writes the axes of its factors. An attention and its backward have equal
// problems, and so one method. Propagation keeps what is written, and
// InsertReshards moves what is sharded otherwise.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Partition/ContextChoice.h"
#include "tessera/Partition/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_PINCONTEXTPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// What `dist.context` says.
struct Context {
  ContextMethod method;
  /// Of the sequence; of sequences; of heads.
  AxisList seq, batch, heads;
};

class ContextPinner {
public:
  ContextPinner(dist::MeshOp mesh, const Context &context, bool gathersAgain)
      : mesh(mesh.getMesh().toMesh()), links(getMeshLinks(mesh)),
        context(context), gathersAgain(gathersAgain) {}

  LogicalResult run(FunctionOpInterface func);
  bool foundAttention() const { return found; }

private:
  template <typename Op> LogicalResult pin(Op op);
  template <typename Op> ContextProblem describe(Op op) const;
  void report(Operation *op, const ContextChoice &choice) const;

  Mesh mesh;
  MeshLinks links;
  Context context;
  bool gathersAgain, hasBackward = false, found = false;
};

} // namespace

/// How the axes of heads are shared between groups and the heads of a group.
static std::pair<AxisList, AxisList> splitAxes(ArrayRef<AxisRef> axes,
                                               int64_t groups, int64_t heads) {
  auto [major, minor] = splitHeads(numShards(axes), groups, heads);
  auto split = splitAt(axes, major);
  return split ? *split : std::pair(AxisList(axes), AxisList());
}

template <typename Op> ContextProblem ContextPinner::describe(Op op) const {
  ArrayRef<int64_t> q = cast<RankedTensorType>(op.getQ().getType()).getShape();
  auto values = cast<RankedTensorType>(op.getV().getType());
  auto [groups, heads] = splitAxes(context.heads, q[2], q[3]);
  ContextProblem problem;
  problem.mesh = mesh;
  problem.links = links;
  problem.axis = context.seq.front();
  problem.batch = llvm::divideCeil(q[0], numShards(context.batch));
  problem.queries = q[1];
  problem.keys = values.getDimSize(1);
  problem.groups = llvm::divideCeil(q[2], numShards(groups));
  problem.heads = llvm::divideCeil(q[3], numShards(heads));
  problem.dim = q[4];
  problem.valueDim = values.getDimSize(3);
  problem.elementBytes = llvm::divideCeil(values.getElementTypeBitWidth(), 8);
  problem.causal = op.getCausal();
  problem.window = op.getWindow();
  problem.hasBackward = hasBackward;
  problem.gathersAgain = gathersAgain;
  return problem;
}

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

template <typename Op> LogicalResult ContextPinner::pin(Op op) {
  found = true;
  ContextProblem problem = describe(op);
  llvm::Error error = problem.check();
  if (error)
    return op.emitOpError(llvm::toString(std::move(error)));
  llvm::Expected<ContextChoice> choice = chooseContext(problem, context.method);
  if (!choice)
    return op.emitOpError(llvm::toString(choice.takeError()));
  ContextAxes axes = getContextAxes(problem, choice->get().method);
  auto [groups, heads] =
      splitAxes(context.heads, op.getQ().getType().getDimSize(2),
                op.getQ().getType().getDimSize(3));
  groups.append(axes.group);
  heads.append(axes.head);
  // Numbers of factors: batch, query, group, head, and others.
  std::vector<AxisList> factors(op.getShardingRule().factors.size());
  factors[1] = axes.query;
  factors[2] = groups;
  factors[3] = heads;
  SmallVector<Attribute> pins;
  for (const AxisList &list : factors)
    pins.push_back(dist::AxesAttr::get(op.getContext(), mesh, list));
  op->setAttr(dist::DistDialect::kFactorsAttr,
              ArrayAttr::get(op.getContext(), pins));
  if (choice->get().isRing)
    op->setAttr(dist::DistDialect::kRingAttr,
                dist::AxesAttr::get(op.getContext(), mesh, axes.query));
  report(op, *choice);
  return success();
}

LogicalResult ContextPinner::run(FunctionOpInterface func) {
  hasBackward = false;
  func.walk([&](nn::AttentionBackwardOp) { hasBackward = true; });
  WalkResult result = func.walk([&](Operation *op) -> WalkResult {
    if (auto attention = dyn_cast<nn::AttentionOp>(op))
      return pin(attention);
    if (auto backward = dyn_cast<nn::AttentionBackwardOp>(op))
      return pin(backward);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The context of a module; none without one.
static std::optional<Context> readContext(ModuleOp module, const Mesh &mesh) {
  auto attr =
      module->getAttrOfType<DictionaryAttr>(dist::DistDialect::kContextAttr);
  if (!attr)
    return std::nullopt;
  auto axes = [&](StringRef name) {
    auto list = attr.getAs<dist::AxesAttr>(name);
    return list ? list.toAxes(mesh) : AxisList();
  };
  Context context;
  context.method =
      *parseContextMethod(attr.getAs<StringAttr>("method").getValue());
  context.seq = axes("seq");
  context.batch = axes("batch");
  context.heads = axes("heads");
  return context;
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
    FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(module);
    if (failed(mesh))
      return failure();
    Context context = *readContext(module, mesh->getMesh().toMesh());
    auto plan =
        module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
    bool again = plan && plan.getPlan().recompute != Recompute::None;
    ContextPinner pinner(*mesh, context, again);
    for (auto func : module.getOps<FunctionOpInterface>())
      if (!func.isExternal() && !func->hasAttr(dist::DistDialect::kLocalAttr) &&
          failed(pinner.run(func)))
        return failure();
    module->removeAttr(dist::DistDialect::kContextAttr);
    bool needs = context.method.kind == ContextMethod::Ring ||
                 context.method.kind == ContextMethod::AllToAll;
    if (needs && !pinner.foundAttention())
      return module.emitError()
             << "strategy 'cp=" << context.method.getName()
             << "' expects a program with attention but got one without";
    return success();
  }
};
} // namespace
