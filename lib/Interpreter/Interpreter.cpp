//===- Interpreter.cpp - N ranks in one process ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks over the ops. Interpret<Dialect>.cpp has the ops of a dialect.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Interfaces/Expansion.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

Registry::Registry() {
  addArithHandlers(*this);
  addControlHandlers(*this);
  addDistHandlers(*this);
  addExpertHandlers(*this);
  addLinalgHandlers(*this);
  addMathHandlers(*this);
  addNNHandlers(*this);
  addNNShapeHandlers(*this);
  addNNBackwardHandlers(*this);
  addOptimizerHandlers(*this);
  addRTHandlers(*this);
  addTensorHandlers(*this);
}

const Registry &Registry::get() {
  static const Registry registry;
  return registry;
}

RankFn Registry::lookupRank(Operation *op) const {
  return ranks.lookup(op->getName().getStringRef());
}

std::optional<ScalarOp> Registry::lookupScalar(Operation *op) const {
  ScalarFn fn = scalars.lookup(op->getName().getStringRef());
  if (!fn || op->getNumOperands() == 0 || op->getNumResults() != 1)
    return std::nullopt;
  ScalarOp scalar;
  scalar.fn = fn;
  scalar.in =
      ElementType(getElementTypeOrSelf(op->getOperands().back().getType()));
  scalar.out = ElementType(getElementTypeOrSelf(op->getResult(0).getType()));
  if (auto predicate = op->getAttrOfType<IntegerAttr>("predicate"))
    scalar.predicate = predicate.getInt();
  return scalar;
}

/// Evaluates an op with a scalar handler on tensors. Operands of rank 0 are
/// broadcast (the condition of a select).
static LogicalResult evaluateElementwise(Evaluation &e) {
  ScalarOp scalar = *Registry::get().lookupScalar(e.op);
  Tensor result = e.makeResult();
  constexpr unsigned kMaxOperands = 3;
  unsigned numOperands = e.op->getNumOperands();
  if (numOperands > kMaxOperands)
    return e.op->emitError("expects at most 3 operands but got ")
           << numOperands;
  const Cell *operands[kMaxOperands] = {};
  int64_t steps[kMaxOperands] = {};
  for (unsigned k = 0; k < numOperands; ++k) {
    operands[k] = e.operand(k).data();
    steps[k] = e.operand(k).getRank() == 0 ? 0 : 1;
  }
  Cell cells[kMaxOperands] = {};
  for (int64_t i = 0, n = result.getNumElements(); i < n; ++i) {
    for (unsigned k = 0; k < numOperands; ++k)
      cells[k] = operands[k][i * steps[k]];
    result[i] = scalar.apply(cells);
  }
  if (scalar.error)
    return e.op->emitOpError(scalar.error);
  return e.yield(std::move(result));
}

LocalFn Registry::lookupLocal(Operation *op) const {
  if (LocalFn fn = locals.lookup(op->getName().getStringRef()))
    return fn;
  if (lookupScalar(op))
    return evaluateElementwise;
  for (auto [applies, fn] : byPredicate)
    if (applies(op))
      return fn;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const TensorRef &Evaluation::get(Value value) const {
  auto it = llvm::find(values, value);
  assert(it != values.end() && "neither an operand nor captured");
  return tensors[it - values.begin()];
}

const RankTensors &Interpretation::get(Value value) const {
  auto it = values.find(value);
  assert(it != values.end() && "the value was computed and is alive");
  return it->second;
}

void Interpretation::set(Value value, RankTensors tensors) {
  assert(static_cast<int64_t>(tensors.size()) == numRanks);
  values[value] = std::move(tensors);
}

const Interpretation::LastUses &Interpretation::getLastUses(Block *block) {
  auto known = lastUses.find(block);
  if (known != lastUses.end())
    return known->second;
  LastUses &uses = lastUses[block];
  auto add = [&](Value value, Operation *def) {
    Operation *last = def;
    for (Operation *user : value.getUsers()) {
      Operation *here = block->findAncestorOpInBlock(*user);
      if (here && (!last || last->isBeforeInBlock(here)))
        last = here;
    }
    if (last)
      uses[last].push_back(value);
  };
  for (BlockArgument argument : block->getArguments())
    add(argument, nullptr);
  for (Operation &op : *block)
    for (Value result : op.getResults())
      add(result, &op);
  return uses;
}

void Interpretation::release(Operation *op) {
  const LastUses &uses = getLastUses(op->getBlock());
  auto it = uses.find(op);
  if (it != uses.end())
    for (Value value : it->second)
      values.erase(value);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// Checks that a handler's results have the op's types: the interpreter is the
/// oracle, and must not be wrong silently.
static LogicalResult checkResults(Operation *op, ArrayRef<TensorRef> results) {
  if (results.size() != op->getNumResults())
    return op->emitError("internal: interpreted to ")
           << results.size() << " results";
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), results)) {
    auto shaped = dyn_cast<ShapedType>(value.getType());
    ArrayRef<int64_t> shape = shaped ? shaped.getShape() : ArrayRef<int64_t>();
    if (tensor->getElementType().getType() !=
            getElementTypeOrSelf(value.getType()) ||
        tensor->getShape() != shape)
      return op->emitError("internal: interpreted to a tensor of shape [")
             << tensor->getShape() << "] for " << value.getType();
  }
  return success();
}

/// True if the interpreter supports values of the type.
static bool isSupportedType(Type type) {
  if (isa<dist::FutureType>(type))
    return true;
  if (auto shaped = dyn_cast<ShapedType>(type))
    if (!isa<RankedTensorType>(type) || !shaped.hasStaticShape())
      return false;
  return ElementType(getElementTypeOrSelf(type)).isValid();
}

LogicalResult Interpretation::evaluateLocal(Operation *op, LocalFn fn) {
  SmallVector<Value> inputs(op->getOperands());
  if (op->getNumRegions()) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::append_range(inputs, captured);
  }
  SmallVector<const RankTensors *> inputTensors;
  for (Value input : inputs)
    inputTensors.push_back(&get(input));
  std::vector<RankTensors> results(op->getNumResults(), RankTensors(numRanks));
  // The first rank that holds each combination of operands.
  std::map<std::vector<const Tensor *>, int64_t> seen;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    std::vector<const Tensor *> key;
    std::vector<TensorRef> tensors;
    for (const RankTensors *input : inputTensors) {
      key.push_back((*input)[rank].get());
      tensors.push_back((*input)[rank]);
    }
    auto [it, isNew] = seen.try_emplace(std::move(key), rank);
    if (!isNew) {
      for (RankTensors &result : results)
        result[rank] = result[it->second];
      continue;
    }
    Evaluation evaluation(op, inputs, tensors);
    if (failed(fn(evaluation)) || failed(checkResults(op, evaluation.results)))
      return failure();
    for (auto [result, tensor] : llvm::zip_equal(results, evaluation.results))
      result[rank] = tensor;
  }
  for (auto [value, result] : llvm::zip_equal(op->getResults(), results))
    set(value, std::move(result));
  return success();
}

/// Runs what an op computes, as a function of its operands.
LogicalResult Interpretation::evaluateMeaning(Operation *op) {
  OpBuilder builder(op->getContext());
  OwningOpRef<func::FuncOp> function = func::FuncOp::create(
      builder, op->getLoc(), "meaning",
      builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
  Block *body = function->addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  mapping.map(op->getOperands(), body->getArguments());
  Operation *copy = builder.clone(*op, mapping);
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
  if (failed(expandOps(*function, [](Operation *) { return true; })))
    return failure();
  std::vector<RankTensors> arguments, results;
  for (Value operand : op->getOperands())
    arguments.push_back(get(operand));
  LogicalResult done = call(*function, std::move(arguments), results);
  // The addresses of its blocks may be those of other blocks later.
  function->walk([&](Block *block) { lastUses.erase(block); });
  if (failed(done))
    return failure();
  for (auto [result, tensors] : llvm::zip_equal(op->getResults(), results))
    set(result, std::move(tensors));
  return success();
}

LogicalResult Interpretation::evaluate(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!isSupportedType(type))
      return op->emitError("the interpreter does not support values of type ")
             << type;
  const Registry &registry = Registry::get();
  if (RankFn fn = registry.lookupRank(op))
    return fn(*this, op);
  if (LocalFn fn = registry.lookupLocal(op))
    return evaluateLocal(op, fn);
  if (hasMeaning(op))
    return evaluateMeaning(op);
  return op->emitError("the interpreter does not know '")
         << op->getName() << "'";
}

void InterpretAction::print(llvm::raw_ostream &os) const {
  auto *op = cast<Operation *>(getContextIRUnits().front());
  os << op->getName();
  while (!isa<func::FuncOp>(op)) {
    Block *block = op->getBlock();
    auto ops = block->without_terminator();
    os << ", op " << std::distance(ops.begin(), op->getIterator()) + 1 << " of "
       << llvm::range_size(ops) << " of ";
    op = block->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(op))
      os << "@" << function.getName();
    else
      os << op->getName();
  }
}

LogicalResult Interpretation::run(Operation &op) {
  LogicalResult result = success();
  op.getContext()->executeAction<InterpretAction>(
      [&] { result = evaluate(&op); }, {&op});
  if (succeeded(result))
    release(&op);
  return result;
}

LogicalResult Interpretation::runBlock(Block &block,
                                       std::vector<RankTensors> arguments,
                                       std::vector<RankTensors> &yielded) {
  for (auto [argument, tensors] :
       llvm::zip_equal(block.getArguments(), arguments))
    set(argument, std::move(tensors));
  for (Operation &op : block.without_terminator())
    if (failed(run(op)))
      return failure();
  yielded.clear();
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(get(value));
  release(block.getTerminator());
  return success();
}

LogicalResult Interpretation::call(func::FuncOp function,
                                   std::vector<RankTensors> arguments,
                                   std::vector<RankTensors> &results) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitError("the interpreter expects a function body of one "
                              "block");
  if (llvm::is_contained(active, function))
    return function.emitError("expects calls that end, but @")
           << function.getName() << " calls itself";
  active.push_back(function);
  llvm::DenseMap<Value, RankTensors> outer;
  std::swap(outer, values);
  LogicalResult result =
      runBlock(function.getBody().front(), std::move(arguments), results);
  std::swap(outer, values);
  active.pop_back();
  return result;
}

LogicalResult Interpretation::addIterations(Operation *loop, uint64_t count) {
  constexpr uint64_t kMaxIterations = 1 << 18;
  if (count <= kMaxIterations - numIterations) {
    numIterations += count;
    return success();
  }
  return loop->emitOpError("expects loops that run at most ")
         << kMaxIterations << " times in all to be interpreted but got more";
}

FailureOr<Mesh> Interpretation::getMesh(Operation *op,
                                        FlatSymbolRefAttr symbol) {
  dist::MeshOp meshOp = dist::lookupMesh(op, symbol);
  if (!meshOp)
    return op->emitError("expects a known mesh but got ") << symbol;
  Mesh mesh = meshOp.getMesh().toMesh();
  if (isStage)
    mesh = mesh.withoutStages();
  if (mesh.numDevices() != numRanks)
    return op->emitOpError("expects to be interpreted on the ")
           << mesh.numDevices() << " devices of " << symbol << " but got "
           << numRanks << " ranks";
  return mesh;
}

void Interpretation::count(dist::CollectiveOpInterface op, int64_t groupSize) {
  if (!statistics)
    return;
  CollectiveCount &entry =
      statistics->collectives[op->getName().stripDialect()];
  // The members of a bucket count as one collective.
  if (!isa<dist::BucketOp>(op->getParentOp()) || !op->getPrevNode())
    ++entry.count;
  entry.bytes += op.getBytesReceived(
      cast<RankedTensorType>(op->getOperand(0).getType()), groupSize);
}

FailureOr<std::vector<RankTensors>>
interp::interpret(func::FuncOp function, ArrayRef<RankTensors> arguments,
                  Statistics *statistics) {
  int64_t numRanks = arguments.size();
  std::vector<RankTensors> byArgument(function.getNumArguments());
  for (const RankTensors &rank : arguments) {
    if (rank.size() != function.getNumArguments())
      return function.emitError("expects ")
             << function.getNumArguments() << " arguments but got "
             << rank.size();
    for (auto [i, tensor] : llvm::enumerate(rank)) {
      if (!isSupportedType(function.getArgumentTypes()[i]))
        return function.emitError(
                   "the interpreter does not support values of type ")
               << function.getArgumentTypes()[i];
      Tensor expected(function.getArgumentTypes()[i]);
      if (!(expected.getElementType() == tensor->getElementType()) ||
          expected.getShape() != tensor->getShape())
        return function.emitError("expects argument ")
               << i << " of type " << function.getArgumentTypes()[i]
               << " but got shape [" << tensor->getShape() << "] of "
               << tensor->getElementType().getType();
      byArgument[i].push_back(tensor);
    }
  }
  Interpretation interpretation(numRanks, statistics);
  std::vector<RankTensors> byResult;
  if (failed(interpretation.call(function, std::move(byArgument), byResult)))
    return failure();
  for (auto &[key, pending] : interpretation.mail)
    if (!pending.empty())
      return function.emitError("expects every dist.send to be received but "
                                "one along \"")
             << std::get<0>(key) << "\" " << std::get<1>(key) << " to "
             << std::get<2>(key) << " tag " << std::get<3>(key) << " was not";
  std::vector<RankTensors> results(numRanks);
  for (const RankTensors &result : byResult)
    for (int64_t rank = 0; rank < numRanks; ++rank)
      results[rank].push_back(result[rank]);
  return results;
}
