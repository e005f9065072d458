//===- PropagateShardings.cpp - Gives every tensor a sharding -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes build a problem, solve it, write the shardings back and explain
// them.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Propagation/Passes.h"
#include "tessera/Propagation/ProblemBuilder.h"

namespace tessera {
#define GEN_PASS_DEF_PROPAGATESHARDINGSPASS
#define GEN_PASS_DEF_EXPLAINSHARDINGSPASS
#include "tessera/Propagation/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// Writes a solution, and on demand its explanation, into the IR.
class SolutionWriter {
public:
  SolutionWriter(const ProblemBuilder &builder,
                 const PropagationSolution &solution, dist::MeshOp mesh)
      : builder(builder), solution(solution),
        symbol(FlatSymbolRefAttr::get(mesh.getSymNameAttr())) {}

  void write();
  /// Emits a remark for each axis that was chosen by cost.
  void remarkOnConflicts() const;
  void explain();

private:
  /// The sharding of a tensor; null for kNone.
  dist::ShardingAttr getAttr(unsigned tensor) const {
    if (tensor == PropagationProblem::kNone)
      return {};
    return dist::ShardingAttr::get(symbol, builder.problem.mesh,
                                   solution.shardings[tensor]);
  }
  void writeFunction(const PropagatedFunction &function);
  void writeOp(Operation *op);
  void explainOp(Operation *op);
  void writePinned();
  std::string describe(const PropagationStep &step) const;
  ArrayAttr describeAll(unsigned tensor, Location loc, Twine where) const;

  const ProblemBuilder &builder;
  const PropagationSolution &solution;
  FlatSymbolRefAttr symbol;
};

} // namespace

void SolutionWriter::writeOp(Operation *op) {
  SmallVector<Attribute> attrs;
  bool any = false;
  for (Value result : op->getResults()) {
    unsigned id = builder.lookup(result);
    attrs.push_back(id == PropagationProblem::kNone
                        ? Attribute(UnitAttr::get(op->getContext()))
                        : getAttr(id));
    any |= id != PropagationProblem::kNone;
  }
  if (!any)
    return;
  op->setAttr(dist::DistDialect::kShardingsAttr,
              ArrayAttr::get(op->getContext(), attrs));
  if (auto constraint = dyn_cast<dist::ConstraintOp>(op))
    constraint.setShardingAttr(cast<dist::ShardingAttr>(attrs.front()));
}

void SolutionWriter::writeFunction(const PropagatedFunction &function) {
  FunctionOpInterface func = function.func;
  SmallVector<dist::ShardingAttr> args, results;
  for (BlockArgument arg : func.getArguments())
    args.push_back(getAttr(builder.lookup(arg)));
  for (unsigned id : function.results)
    results.push_back(getAttr(id));
  dist::setFunctionShardings(func, args, results);
  for (Block *block : dist::getBlocks(func))
    for (Operation &op : *block)
      writeOp(&op);
}

/// Writes the axes that earlier priorities have decided to the ops.
void SolutionWriter::writePinned() {
  for (auto [op, pinned] : llvm::zip(builder.operations, solution.pinned)) {
    if (llvm::all_of(pinned,
                     [](const AxisList &axes) { return axes.empty(); }) ||
        !isa<ShardingRuleOpInterface>(op) ||
        op->hasAttr(dist::DistDialect::kExactAttr))
      continue;
    SmallVector<Attribute> factors;
    for (const AxisList &axes : pinned)
      factors.push_back(
          dist::AxesAttr::get(op->getContext(), builder.problem.mesh, axes));
    op->setAttr(dist::DistDialect::kFactorsAttr,
                ArrayAttr::get(op->getContext(), factors));
  }
}

void SolutionWriter::write() {
  for (const PropagatedFunction &function : builder.functions)
    writeFunction(function);
  writePinned();
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

void SolutionWriter::remarkOnConflicts() const {
  for (auto [tensor, steps] : llvm::enumerate(solution.steps))
    for (const PropagationStep &step : steps)
      if (step.byCost)
        remark::passed(
            builder.operations[step.op]->getLoc(),
            remark::RemarkOpts::name("ConflictByCost").category("propagation"))
            << remark::add("{0} gets {1}", builder.describe(tensor),
                           describe(step))
            << remark::metric("us", step.cost * 1e6)
            << remark::metric("usOfNextBest", step.otherCost * 1e6);
}

/// The position of `tensor` at an op of the problem: `operand 1` or `result 0`.
static std::string getPosition(const PropagationProblem::Op &op,
                               unsigned tensor) {
  for (auto [i, id] : llvm::enumerate(op.operands))
    if (id == tensor)
      return "operand " + std::to_string(i);
  for (auto [i, id] : llvm::enumerate(op.results))
    if (id == tensor)
      return "result " + std::to_string(i);
  return "elsewhere";
}

std::string SolutionWriter::describe(const PropagationStep &step) const {
  const PropagationProblem &problem = builder.problem;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "dim " << step.dim << ' ';
  problem.mesh.print(os, step.axis);
  if (step.op == PropagationStep::kSeed) {
    os << ": seed of " << builder.describe(step.origin);
    return text;
  }
  const PropagationProblem::Op &op = problem.ops[step.op];
  os << ": " << builder.operations[step.op]->getName() << " factor ";
  problem.rules[op.rule].printName(os, step.factor);
  os << " from " << getPosition(op, step.from) << " ("
     << builder.describe(step.from) << ')';
  if (step.origin != step.from)
    os << ", seed of " << builder.describe(step.origin);
  if (step.byCost)
    os << ", by " << llvm::formatv("{0:F2}", step.cost * 1e6) << " us against "
       << llvm::formatv("{0:F2}", step.otherCost * 1e6);
  return text;
}

ArrayAttr SolutionWriter::describeAll(unsigned tensor, Location loc,
                                      Twine where) const {
  SmallVector<Attribute> lines;
  for (const PropagationStep &step : solution.steps[tensor]) {
    std::string line = describe(step);
    remark::analysis(
        loc, remark::RemarkOpts::name("ShardingOrigin").category("propagation"))
        << remark::add("{0}{1}", where.str(), line);
    lines.push_back(StringAttr::get(loc.getContext(), line));
  }
  return ArrayAttr::get(loc.getContext(), lines);
}

void SolutionWriter::explainOp(Operation *op) {
  SmallVector<Attribute> lines;
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (unsigned id = builder.lookup(result); id != PropagationProblem::kNone)
      llvm::append_range(
          lines, describeAll(id, op->getLoc(),
                             i == 0 ? Twine("") : "result " + Twine(i) + ": "));
  if (!lines.empty())
    op->setAttr(dist::DistDialect::kWhyAttr,
                ArrayAttr::get(op->getContext(), lines));
}

void SolutionWriter::explain() {
  StringRef name = dist::DistDialect::kWhyAttr;
  for (const PropagatedFunction &function : builder.functions) {
    FunctionOpInterface func = function.func;
    for (BlockArgument arg : func.getArguments())
      if (unsigned id = builder.lookup(arg); id != PropagationProblem::kNone)
        func.setArgAttr(
            arg.getArgNumber(), name,
            describeAll(id, func.getLoc(),
                        "argument " + Twine(arg.getArgNumber()) + ": "));
    for (auto [i, id] : llvm::enumerate(function.results))
      if (id != PropagationProblem::kNone)
        func.setResultAttr(
            i, name,
            describeAll(id, func.getLoc(), "result " + Twine(i) + ": "));
    for (Block *block : dist::getBlocks(func))
      for (Operation &op : *block)
        explainOp(&op);
  }
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

LogicalResult tessera::propagateShardings(ModuleOp module,
                                          const PropagationOptions &options) {
  if (module.getOps<dist::MeshOp>().empty())
    return success(); // a program for one device
  FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(module);
  if (failed(mesh))
    return failure();
  ConstantCopies copies;
  copies.split(module);

  ProblemBuilder builder(module, *mesh);
  if (failed(builder.build()))
    return failure();
  MeshLinks links = getMeshLinks(*mesh);
  builder.problem.transferCost = options.transferCost;
  if (!options.transferCost)
    builder.problem.transferCost = [&](CollectiveKind kind, double bytes,
                                       ArrayRef<AxisRef> axes) {
      return getCollectiveTime(links, builder.problem.mesh, kind, bytes, axes);
    };
  if (llvm::Error error = builder.problem.check())
    return module.emitError("propagation: ")
           << llvm::toString(std::move(error));
  PropagationSolution solution = propagate(builder.problem);
  if (llvm::Error error = verify(builder.problem, solution))
    return module.emitError("propagation: ")
           << llvm::toString(std::move(error));

  SolutionWriter writer(builder, solution, *mesh);
  writer.write();
  writer.remarkOnConflicts();
  if (options.explain)
    writer.explain();
  for (dist::GroupOp group : builder.groups)
    group.erase();
  if (!options.keepsCopies)
    copies.merge();
  return success();
}

namespace {

struct PropagateShardingsPass
    : tessera::impl::PropagateShardingsPassBase<PropagateShardingsPass> {
  using PropagateShardingsPassBase::PropagateShardingsPassBase;
  void runOnOperation() override {
    PropagationOptions options;
    options.explain = explain;
    if (failed(propagateShardings(getOperation(), options)))
      signalPassFailure();
  }
};

struct ExplainShardingsPass
    : tessera::impl::ExplainShardingsPassBase<ExplainShardingsPass> {
  void runOnOperation() override {
    PropagationOptions options;
    options.explain = true;
    if (failed(propagateShardings(getOperation(), options)))
      signalPassFailure();
  }
};

} // namespace
