//===- WriteShardings.cpp - A solution as seeds ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteShardings.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Partition/ReshardCost.h"
#include "tessera/Search/CostNetwork.h"

using namespace mlir;
using namespace tessera;

namespace {

class SeedWriter {
public:
  SeedWriter(const ProgramReader &program, const ShardingSolution &solution,
             dist::MeshOp mesh)
      : program(program), solution(solution),
        symbol(FlatSymbolRefAttr::get(mesh.getSymNameAttr())) {}

  void write();

private:
  dist::ShardingAttr toAttr(const Sharding &sharding) const {
    return dist::ShardingAttr::get(symbol, program.problem.mesh, sharding);
  }
  dist::ShardingAttr getAttr(unsigned tensor) const {
    return tensor == ShardingProblem::kNone ? dist::ShardingAttr()
                                            : toAttr(solution.tensors[tensor]);
  }
  void writeFunction(const PropagatedFunction &function) const;
  void writeResults(Operation *op) const;
  void writeConstant(Operation *op) const;
  void writeFactors(unsigned number) const;
  void remarkOn(unsigned number) const;
  void remarkOnAxes() const;

  const ProgramReader &program;
  const ShardingSolution &solution;
  FlatSymbolRefAttr symbol;
  llvm::DenseMap<Operation *, unsigned> numbers;
};

} // namespace

void SeedWriter::writeFunction(const PropagatedFunction &function) const {
  FunctionOpInterface func = function.func;
  SmallVector<dist::ShardingAttr> arguments, results;
  for (BlockArgument argument : func.getArguments())
    arguments.push_back(getAttr(program.lookup(argument)));
  for (unsigned id : function.results)
    results.push_back(getAttr(program.getTensor(id)));
  dist::setFunctionShardings(func, arguments, results);
  for (Block *block : dist::getBlocks(func))
    for (Operation &op : *block)
      if (program.isConstant(&op))
        writeConstant(&op);
      else
        writeResults(&op);
}

void SeedWriter::writeResults(Operation *op) const {
  SmallVector<Attribute> attrs;
  bool any = false;
  for (Value result : op->getResults()) {
    dist::ShardingAttr attr = getAttr(program.lookup(result));
    attrs.push_back(attr ? Attribute(attr) : UnitAttr::get(op->getContext()));
    any |= bool(attr);
  }
  if (!any)
    return;
  op->setAttr(dist::DistDialect::kShardingsAttr,
              ArrayAttr::get(op->getContext(), attrs));
  if (auto constraint = dyn_cast<dist::ConstraintOp>(op))
    constraint.setShardingAttr(cast<dist::ShardingAttr>(attrs.front()));
}

/// Makes a constant with the sharding that its user needs.
void SeedWriter::writeConstant(Operation *op) const {
  if (op->use_empty())
    return;
  OpOperand &use = *op->getUses().begin();
  auto it = numbers.find(use.getOwner());
  if (it == numbers.end() || !program.isOwn(it->second))
    return;
  const ShardingRule &rule =
      program.problem.rules[program.problem.ops[it->second].rule];
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (use.getOperandNumber() < rule.operands.size())
    dist::setSharding(op->getResult(0),
                      toAttr(getOperandSharding(
                          rule, rule.operands[use.getOperandNumber()],
                          type.getRank(), solution.ops[it->second].axes)));
}

void SeedWriter::writeFactors(unsigned number) const {
  Operation *op = program.operations[number];
  const RunState &state = solution.ops[number];
  if (!isa<ShardingRuleOpInterface>(op) || isa<dist::ConstraintOp>(op) ||
      state.isDecomposed)
    return;
  const Mesh &mesh = program.problem.mesh;
  SmallVector<Attribute> factors;
  for (const AxisList &axes : state.axes)
    factors.push_back(dist::AxesAttr::get(op->getContext(), mesh, axes));
  op->setAttr(dist::DistDialect::kFactorsAttr,
              ArrayAttr::get(op->getContext(), factors));
  op->setAttr(dist::DistDialect::kExactAttr,
              dist::AxesAttr::get(op->getContext(), mesh, state.partial));
  SmallVector<int64_t> apart;
  for (int64_t operand : solution.apart[number])
    if (operand < op->getNumOperands())
      apart.push_back(operand);
  llvm::sort(apart);
  if (!apart.empty())
    op->setAttr(dist::DistDialect::kApartAttr,
                DenseI64ArrayAttr::get(op->getContext(), apart));
}

/// `m {"x"}, partial over {"y"}`.
void SeedWriter::remarkOn(unsigned number) const {
  Operation *op = program.operations[number];
  const RunState &state = solution.ops[number];
  const Mesh &mesh = program.problem.mesh;
  auto remark = remark::passed(
      op->getLoc(),
      remark::RemarkOpts::name("SearchedSharding").category("propagation"));
  if (!remark)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [f, axes] : llvm::enumerate(state.axes)) {
    if (axes.empty())
      continue;
    os << (text.empty() ? "" : ", ");
    program.problem.rules[program.problem.ops[number].rule].printName(os, f);
    os << ' ';
    mesh.print(os, axes);
  }
  if (!state.partial.empty()) {
    os << (text.empty() ? "" : ", ") << "partial over ";
    mesh.print(os, state.partial);
  }
  remark << remark::add("{0} runs with {1}", op->getName().getStringRef(),
                        text.empty() ? "nothing sharded" : text);
  if (number < solution.more.size() &&
      solution.more[number] < search::kInfinite)
    remark << remark::metric("usMoreAtLeast",
                             double(solution.more[number]) * 1e-6);
}

/// Remarks on axes that share no work.
void SeedWriter::remarkOnAxes() const {
  AxisList used;
  for (const RunState &state : solution.ops)
    for (const AxisList &axes : state.axes)
      used.append(axes);
  const Mesh &mesh = program.problem.mesh;
  FunctionOpInterface func = program.getFunctions().front().func;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
    if (mesh.sizes[axis] > 1 && mesh.stageAxis != axis &&
        !overlapsAny(used, mesh.fullAxis(axis)))
      remark::analysis(
          func.getLoc(),
          remark::RemarkOpts::name("UnusedAxis").category("propagation"))
          << remark::add("axis \"{0}\" shares no work: its devices repeat it",
                         mesh.names[axis]);
}

void SeedWriter::write() {
  for (auto [number, op] : llvm::enumerate(program.operations))
    if (op && program.isOwn(number))
      numbers[op] = number;
  for (const PropagatedFunction &function : program.getFunctions())
    writeFunction(function);
  for (auto [number, op] : llvm::enumerate(program.operations))
    if (op && program.isOwn(number)) {
      writeFactors(number);
      remarkOn(number);
    }
  if (!program.getFunctions().empty())
    remarkOnAxes();
}

void tessera::writeShardings(const ProgramReader &program,
                             const ShardingSolution &solution,
                             dist::MeshOp mesh) {
  SeedWriter(program, solution, mesh).write();
}
