//===- ProblemBuilder.cpp - From IR to a propagation problem --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Propagation/ProblemBuilder.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "tessera/Interfaces/PaddingOpInterface.h"
#include "tessera/Interfaces/RuleInputs.h"

using namespace mlir;
using namespace tessera;

ProblemBuilder::ProblemBuilder(ModuleOp module, dist::MeshOp mesh)
    : module(module), mesh(mesh) {
  problem.mesh = mesh.getMesh().toMesh();
}

LogicalResult ProblemBuilder::build() {
  for (auto func : module.getOps<FunctionOpInterface>())
    if (!func.isExternal() && !func->hasAttr(dist::DistDialect::kLocalAttr))
      if (failed(addFunction(func)))
        return failure();
  for (CallOpInterface call : calls)
    if (failed(addCall(call)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value ProblemBuilder::leaderOf(Value value) const {
  for (auto it = leaders.find(value); it != leaders.end();
       it = leaders.find(value))
    value = it->second;
  return value;
}

unsigned ProblemBuilder::lookup(Value value) const {
  auto it = ids.find(leaderOf(value));
  return it == ids.end() ? PropagationProblem::kNone : it->second;
}

static int64_t getElementBytes(Type type) {
  return type.isIntOrFloat() ? (type.getIntOrFloatBitWidth() + 7) / 8 : 8;
}

/// Drops axes of size 1: they shard nothing.
static void dropUnitAxes(Sharding &sharding) {
  auto isUnit = [](const AxisRef &axis) { return axis.size == 1; };
  for (DimSharding &dim : sharding.dims)
    llvm::erase_if(dim.axes, isUnit);
  llvm::erase_if(sharding.replicated, isUnit);
  llvm::erase_if(sharding.unreduced, isUnit);
}

/// Converts an attribute to a seed; the seed is open without an attribute.
static FailureOr<Sharding> toSeed(dist::ShardingAttr attr, dist::MeshOp mesh,
                                  const Mesh &plain, RankedTensorType type,
                                  Operation *op) {
  if (!attr)
    return Sharding::replicatedOf(type.getRank(), /*open=*/true);
  if (attr.getMesh().getValue() != mesh.getSymName())
    return op->emitError() << "expects shardings on the module's mesh @"
                           << mesh.getSymName() << " but got "
                           << attr.getMesh();
  Sharding seed = attr.toSharding(plain);
  dropUnitAxes(seed);
  return seed;
}

static Operation *getAnchor(Value value) {
  Operation *op = value.getDefiningOp();
  return op ? op : value.getParentBlock()->getParentOp();
}

FailureOr<Sharding> ProblemBuilder::getSeed(Value value) {
  dist::ShardingAttr attr = dist::getSharding(value);
  if (auto constraint = value.getDefiningOp<dist::ConstraintOp>())
    attr = constraint.getSharding();
  return toSeed(attr, mesh, problem.mesh,
                cast<RankedTensorType>(value.getType()), getAnchor(value));
}

/// Merges another seed into `mine`; false if they conflict.
static bool mergeSeed(Sharding &mine, const Sharding &other) {
  for (auto [a, b] : llvm::zip(mine.dims, other.dims)) {
    if (a.axes == b.axes)
      a.open &= b.open;
    else if (a.open && isPrefix(a.axes, b.axes))
      a = b;
    else if (!b.open || !isPrefix(b.axes, a.axes))
      return false;
  }
  for (const AxisRef &axis : other.replicated)
    if (!overlapsAny(mine.replicated, axis))
      mine.replicated.push_back(axis);
  AxisList used = mine.dimAxes();
  return mine.unreduced == other.unreduced &&
         !overlapsAny(used, mine.replicated);
}

/// Numbers a tensor and all tensors that are grouped with it.
FailureOr<unsigned> ProblemBuilder::addValue(Value value) {
  value = leaderOf(value);
  auto [it, isNew] = ids.try_emplace(value, problem.tensors.size());
  unsigned id = it->second;
  if (!isNew)
    return id;
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape())
    return getAnchor(value)->emitError()
           << "expects tensors of static shape but got " << type;
  FailureOr<Sharding> seed = getSeed(value);
  if (failed(seed))
    return failure();
  if (auto group = members.find(value); group != members.end())
    for (Value member : group->second) {
      FailureOr<Sharding> other = getSeed(member);
      if (failed(other))
        return failure();
      if (!mergeSeed(*seed, *other))
        return getAnchor(member)->emitError()
               << "expects the values of a dist.group to have shardings that "
                  "agree but got "
               << dist::getSharding(value) << " and "
               << dist::getSharding(member);
    }
  problem.addTensor(type.getShape(), getElementBytes(type.getElementType()),
                    *seed);
  owners.emplace_back(value, 0);
  return id;
}

void ProblemBuilder::addIdentity(Operation *op, unsigned from, unsigned to) {
  problem.addIdentity(from, to);
  operations.push_back(op);
}

std::string ProblemBuilder::describe(unsigned tensor) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto [value, result] = owners[tensor];
  if (!value) {
    os << "result " << result << " of the function";
    return text;
  }
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg) {
    os << (value.getDefiningOp<dist::ConstraintOp>() ? "" : "result of ")
       << value.getDefiningOp()->getName();
    return text;
  }
  os << "argument " << arg.getArgNumber();
  auto func = dyn_cast<FunctionOpInterface>(arg.getOwner()->getParentOp());
  if (!func) {
    os << " of " << arg.getOwner()->getParentOp()->getName();
    return text;
  }
  for (StringRef name : nn::NNDialect::kArgumentNames)
    if (auto attr = func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), name))
      os << ' ' << attr;
  return text;
}

//===----------------------------------------------------------------------===//
// Functions and ops
//===----------------------------------------------------------------------===//

LogicalResult ProblemBuilder::addFunction(FunctionOpInterface func) {
  if (!func.getFunctionBody().hasOneBlock())
    return func->emitError("expects functions of one block, without branches");
  Block &block = func.getFunctionBody().front();
  for (auto group : block.getOps<dist::GroupOp>()) {
    groups.push_back(group);
    for (Value value : llvm::drop_begin(group.getValues())) {
      Value a = leaderOf(group.getValues().front()), b = leaderOf(value);
      if (a == b)
        continue;
      leaders[b] = a;
      SmallVector<Value> moved = members.lookup(b);
      llvm::append_range(members[a], moved);
      members[a].push_back(b);
    }
  }
  for (BlockArgument arg : block.getArguments())
    if (isa<RankedTensorType>(arg.getType()) && failed(addValue(arg)))
      return failure();
  PropagatedFunction function{func, {}};
  for (Operation &op : block)
    if (failed(addOperation(&op, function)))
      return failure();
  functions.push_back(std::move(function));
  return success();
}

/// Reads dist.factors and dist.exact of an op; empty if it has none.
static FailureOr<FactorAxes> readPinned(Operation *op, const ShardingRule &rule,
                                        dist::MeshOp mesh, const Mesh &plain) {
  FactorAxes pinned;
  auto pins = op->getAttrOfType<ArrayAttr>(dist::DistDialect::kFactorsAttr);
  if (!pins)
    return pinned;
  if (pins.size() != rule.factors.size())
    return op->emitError("dist.factors: expects axes for each of ")
           << rule.factors.size() << " factors but got " << pins;
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  for (auto axes : pins.getAsRange<dist::AxesAttr>()) {
    if (failed(dist::verifyAxes(op, axes, symbol, "dist.factors:")))
      return failure();
    pinned.push_back(axes.toAxes(plain));
  }
  auto exact = op->getAttrOfType<dist::AxesAttr>(dist::DistDialect::kExactAttr);
  if (exact && failed(dist::verifyAxes(op, exact, symbol, "dist.exact:")))
    return failure();
  return pinned;
}

LogicalResult ProblemBuilder::addOperation(Operation *op,
                                           PropagatedFunction &function) {
  if (isa<dist::GroupOp>(op))
    return success();
  bool hasTensors = false;
  SmallVector<unsigned> operands, results;
  auto add = [&](ValueRange values, SmallVector<unsigned> &list) {
    for (Value value : values) {
      list.push_back(PropagationProblem::kNone);
      if (!isa<RankedTensorType>(value.getType()))
        continue;
      hasTensors = true;
      FailureOr<unsigned> id = addValue(value);
      if (failed(id))
        return failure();
      list.back() = *id;
    }
    return success();
  };
  // The body of a dist.accumulate has tensors of its own.
  bool isOpen = isa<dist::AccumulateOp>(op);
  SmallVector<Value> inputs =
      isOpen ? SmallVector<Value>(op->getOperands()) : getRuleInputs(op);
  if (failed(add(inputs, operands)) || failed(add(op->getResults(), results)))
    return failure();
  if (op->hasTrait<OpTrait::ReturnLike>())
    return addReturn(op, function);
  if (!hasTensors)
    return success();
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
    return addAccumulate(accumulate, function);
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    calls.push_back(call);
    return success();
  }
  bool hasRule = true;
  ShardingRule rule = getShardingRule(op, &hasRule);
  if (!hasRule && withoutRule.insert(op->getName().getStringRef()).second)
    remark::missed(
        op->getLoc(),
        remark::RemarkOpts::name("NoShardingRule").category("propagation"))
        << remark::add(op->getNumRegions() == 0
                           ? "{0} has no sharding rule: its operands and "
                             "results are replicated"
                           : "{0} has no sharding rule: its operands, what its "
                             "regions use and its results are replicated",
                       op->getName().getStringRef().str());
  markExact(op, rule, operands, results);
  FailureOr<FactorAxes> pinned = readPinned(op, rule, mesh, problem.mesh);
  if (failed(pinned))
    return failure();
  problem.addOp(problem.addRule(std::move(rule)), operands, results);
  problem.ops.back().pinned = std::move(*pinned);
  operations.push_back(op);
  return success();
}

/// Records the dimensions of its tensors that an op cannot pad.
void ProblemBuilder::markExact(Operation *op, const ShardingRule &rule,
                               ArrayRef<unsigned> operands,
                               ArrayRef<unsigned> results) {
  llvm::SmallBitVector unpaddable = getUnpaddable(op, rule);
  auto mark = [&](unsigned tensor, const TensorFactors &dims) {
    if (tensor == PropagationProblem::kNone)
      return;
    llvm::SmallBitVector &exact = problem.tensors[tensor].exactDims;
    exact.resize(problem.tensors[tensor].shape.size());
    if (dims.size() != exact.size()) // the op does not constrain this tensor
      exact.set();
    else
      for (auto [d, dim] : llvm::enumerate(dims))
        if (dim.empty() || unpaddable.test(dim.front()))
          exact.set(d);
  };
  for (auto [tensor, dims] : llvm::zip(operands, rule.operands))
    mark(tensor, dims);
  for (auto [tensor, dims] : llvm::zip(results, rule.results))
    mark(tensor, dims);
}

/// Ties a slice to all dimensions but the first of the tensor that contains it.
void ProblemBuilder::addSlice(Operation *op, unsigned whole, unsigned slice,
                              RankedTensorType type) {
  ShardingRule rule;
  TensorFactors dims;
  for (int64_t size : type.getShape())
    dims.push_back({rule.addFactor(size)});
  rule.results = {dims};
  dims.insert(dims.begin(), DimFactors());
  rule.operands = {dims};
  problem.addOp(problem.addRule(std::move(rule)), {whole}, {slice});
  operations.push_back(op);
}

/// Ties each slice to the tensor that it is taken from or stacked into, and
/// each sum to its summands.
LogicalResult ProblemBuilder::addAccumulate(dist::AccumulateOp op,
                                            PropagatedFunction &function) {
  Block &body = op.getBody().front();
  for (auto [whole, slice] : llvm::zip(op.getSlices(), body.getArguments())) {
    FailureOr<unsigned> id = addValue(slice);
    if (failed(id))
      return failure();
    addSlice(op, lookup(whole), *id, cast<RankedTensorType>(slice.getType()));
  }
  for (Operation &inner : body.without_terminator())
    if (failed(addOperation(&inner, function)))
      return failure();
  for (auto [i, value] : llvm::enumerate(op.getYield().getValues())) {
    FailureOr<unsigned> id = addValue(value);
    if (failed(id))
      return failure();
    unsigned result = lookup(op.getResult(i));
    if (op.isStacked(i))
      addSlice(op, result, *id, cast<RankedTensorType>(value.getType()));
    else
      addIdentity(op, *id, result);
  }
  return success();
}

/// Uses the returned value itself for a result without a seed, and ties it to a
/// result with one.
LogicalResult ProblemBuilder::addReturn(Operation *op,
                                        PropagatedFunction &function) {
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type) {
      function.results.push_back(PropagationProblem::kNone);
      continue;
    }
    unsigned id = lookup(value);
    dist::ShardingAttr attr = dist::getResultSharding(function.func, i);
    if (!attr) {
      function.results.push_back(id);
      continue;
    }
    FailureOr<Sharding> seed =
        toSeed(attr, mesh, problem.mesh, type, function.func);
    if (failed(seed))
      return failure();
    unsigned result = problem.addTensor(
        type.getShape(), getElementBytes(type.getElementType()), *seed);
    owners.emplace_back(Value(), i);
    addIdentity(op, id, result);
    function.results.push_back(result);
  }
  return success();
}

LogicalResult ProblemBuilder::addCall(CallOpInterface call) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  auto *function = llvm::find_if(functions, [&](PropagatedFunction &f) {
    return callee && f.func == callee;
  });
  if (function == functions.end())
    return call->emitOpError("expects a call of a function with a body in this "
                             "module: shardings cannot pass through others");
  auto args = callee.getArguments();
  for (auto [operand, arg] : llvm::zip(call.getArgOperands(), args))
    if (isa<RankedTensorType>(arg.getType()))
      addIdentity(call, lookup(operand), lookup(arg));
  for (auto [result, id] : llvm::zip(call->getResults(), function->results))
    if (id != PropagationProblem::kNone)
      addIdentity(call, id, lookup(result));
  return success();
}
