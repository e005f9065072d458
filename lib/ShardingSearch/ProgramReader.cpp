//===- ProgramReader.cpp - From IR to a sharding problem ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramReader.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/PaddingOpInterface.h"
#include "tessera/Interfaces/RuleInputs.h"
#include "tessera/Recompute/Passes.h"

using namespace mlir;
using namespace tessera;

unsigned ProgramReader::getTensor(unsigned ofBuilder) const {
  return ofBuilder == ShardingProblem::kNone ? ShardingProblem::kNone
                                             : tied[ofBuilder];
}

unsigned ProgramReader::lookup(Value value) const {
  return getTensor(builder.lookup(value));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

void ProgramReader::readTensors() {
  for (const PropagationProblem::Tensor &tensor : builder.problem.tensors) {
    ShardingProblem::Tensor &mine = problem.tensors.emplace_back();
    mine.shape = tensor.shape;
    int64_t elements = 1;
    for (int64_t size : tensor.shape)
      elements *= size;
    mine.elementBytes = elements ? tensor.bytes / elements : 1;
    mine.seed = tensor.seed;
    mine.exactDims = tensor.exactDims;
    tied.push_back(tied.size());
  }
  for (const PropagatedFunction &function : builder.functions) {
    FunctionOpInterface func = function.func;
    for (BlockArgument argument : func.getArguments())
      if (unsigned id = builder.lookup(argument); id != ShardingProblem::kNone)
        problem.tensors[id].isStored = problem.tensors[id].isArgument = true;
    for (unsigned id : function.results)
      if (id != ShardingProblem::kNone)
        problem.tensors[id].isStored = true;
    for (Block *block : dist::getBlocks(func))
      for (auto accumulate : block->getOps<dist::AccumulateOp>())
        for (OpResult result : accumulate->getResults())
          problem.tensors[builder.lookup(result)].isSum |=
              !accumulate.isStacked(result.getResultNumber());
  }
}

/// Ties a donated argument to the result that replaces it, unless both have
/// seeds. Seeds must not conflict.
LogicalResult ProgramReader::tieDonated() {
  auto isFree = [](const Sharding &seed) {
    return seed == Sharding::replicatedOf(seed.rank(), /*open=*/true);
  };
  auto clash = [](const Sharding &a, const Sharding &b) {
    return llvm::any_of(llvm::zip(a.dims, b.dims), [](const auto &dims) {
      const auto &[mine, other] = dims;
      return !mine.open && !other.open && mine.axes != other.axes;
    });
  };
  auto print = [&](const Sharding &sharding) {
    std::string text;
    llvm::raw_string_ostream os(text);
    sharding.print(os, builder.problem.mesh);
    return text;
  };
  for (const PropagatedFunction &function : builder.functions) {
    FunctionOpInterface func = function.func;
    for (BlockArgument argument : func.getArguments()) {
      auto donated = func.getArgAttrOfType<IntegerAttr>(
          argument.getArgNumber(), dist::DistDialect::kDonateAttr);
      unsigned from = builder.lookup(argument);
      if (!donated || from == ShardingProblem::kNone)
        continue;
      unsigned to = function.results[donated.getInt()];
      if (to == ShardingProblem::kNone || tied[to] == tied[from])
        continue;
      ShardingProblem::Tensor &mine = problem.tensors[tied[from]];
      ShardingProblem::Tensor &other = problem.tensors[tied[to]];
      if (!isFree(mine.seed) && !isFree(other.seed)) {
        if (clash(mine.seed, other.seed))
          return func.emitError("expects ")
                 << describe(tied[from]) << " and " << describe(tied[to])
                 << ", which takes its place, to be sharded alike, but got "
                 << print(mine.seed) << " and " << print(other.seed);
        continue;
      }
      if (isFree(mine.seed))
        mine.seed = other.seed;
      mine.isSum |= other.isSum;
      tied[to] = tied[from];
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static int64_t getTrips(Operation *op) {
  int64_t trips = 1;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (auto accumulate = dyn_cast<dist::AccumulateOp>(parent))
      trips *= accumulate.getCount();
  return trips;
}

void ProgramReader::readPorts(unsigned number, ShardingProblem::Op &op) {
  const PropagationProblem::Op &from = builder.problem.ops[number];
  const ShardingRule &rule = builder.problem.rules[from.rule];
  Operation *operation = builder.operations[number];
  SmallVector<Value> inputs;
  if (own.test(number))
    inputs = getRuleInputs(operation);
  for (auto [i, tensor] : llvm::enumerate(from.operands)) {
    ShardingProblem::Port &port = op.ports.emplace_back();
    port.tensor = getTensor(tensor);
    port.index = i;
    if (i < inputs.size() && inputs[i].getDefiningOp() &&
        constants.contains(inputs[i].getDefiningOp()))
      port.tensor = ShardingProblem::kNone;
    const TensorFactors &dims = rule.operands[i];
    port.fixedDims.resize(dims.size());
    for (auto [d, dim] : llvm::enumerate(dims))
      if (llvm::any_of(dim, [&](unsigned f) {
            return rule.factors[f].kind == FactorKind::Decomposed;
          }))
        port.fixedDims.set(d);
  }
  for (auto [i, tensor] : llvm::enumerate(from.results)) {
    ShardingProblem::Port &port = op.ports.emplace_back();
    port.tensor = getTensor(tensor);
    port.isOperand = port.isInput = false;
    port.index = i;
    port.isFixed = isa<dist::ConstraintOp>(operation);
  }
}

/// Reads the sets of operands in which an op is linear: single operands, or
/// all.
void ProgramReader::readChoices(Operation *operation, ShardingProblem::Op &op) {
  const ShardingRule &rule = problem.rules[op.rule];
  op.choices.unpaddable = getUnpaddable(operation, rule);
  op.choices.unpaddable.resize(rule.factors.size());
  auto iface = dyn_cast<ShardingRuleOpInterface>(operation);
  if (!iface || isa<dist::ConstraintOp>(operation))
    return;
  unsigned count = operation->getNumOperands();
  llvm::SmallBitVector all(count);
  auto offer = [&](llvm::SmallBitVector operands) {
    if (operands.none() ||
        !iface.commutesWithReduction(ReductionKind::Sum, operands))
      return;
    operands.resize(rule.operands.size());
    if (!llvm::is_contained(op.choices.linear, operands))
      op.choices.linear.push_back(operands);
  };
  for (auto [i, operand] : llvm::enumerate(operation->getOperands()))
    if (isa<RankedTensorType>(operand.getType())) {
      llvm::SmallBitVector one(count);
      one.set(i);
      all.set(i);
      offer(one);
    }
  offer(all);
}

/// The op that makes a value, looking through views.
static Operation *getMaker(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && getOpCost(op).kind == CostKind::None &&
         op->getNumOperands() > 0 &&
         isa<RankedTensorType>(op->getOperand(0).getType()))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// False for results of a loop of micro-batches, which are in memory.
static bool isElementwise(Operation *op) {
  return op && !isa<dist::AccumulateOp>(op) &&
         getOpCost(op).kind == CostKind::Elementwise;
}

bool tessera::readsRows(const OpCost &cost) {
  return cost.kind == CostKind::RowReduction && cost.bytesRead < 0;
}

static int64_t countElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 0;
}

/// True if a value has the rows of an op that reads it. False for a vector for
/// all rows (a norm's gain), which an earlier kernel makes.
static bool isRowsOf(Operation *op, Value value) {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return countElements(operand) <= countElements(value);
  });
}

/// True if all users of a value, or of a view of it, run in its kernel.
static bool staysInKernel(Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user->getBlock() != value.getParentBlock())
      return false;
    if (isElementwise(user) ||
        (readsRows(getOpCost(user)) && isRowsOf(user, value)))
      return true;
    return getOpCost(user).kind == CostKind::None &&
           user->getNumResults() == 1 && staysInKernel(user->getResult(0));
  });
}

/// True for a scalar that an op makes from another result of its kernel alone:
/// the kernel has one more result.
static bool followsResult(Value scalar) {
  auto type = dyn_cast<RankedTensorType>(scalar.getType());
  Operation *op = scalar.getDefiningOp();
  Operation *maker =
      op->getNumOperands() == 1 ? getMaker(op->getOperand(0)) : nullptr;
  return type && type.getRank() == 0 && isElementwise(maker) &&
         !staysInKernel(op->getOperand(0));
}

static bool reducesRows(Operation *op) {
  return op && getOpCost(op).kind == CostKind::RowReduction;
}

/// True if a row reduction reads a value or a view of it.
static bool isReduced(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return (reducesRows(user) && isRowsOf(user, value)) ||
           (getOpCost(user).kind == CostKind::None &&
            user->getNumResults() == 1 && isReduced(user->getResult(0)));
  });
}

/// The op that makes a value, looking through views, and through a loop over a
/// single micro-batch.
static Operation *getMakerInLoop(Value value) {
  Operation *maker = getMaker(value);
  auto loop = dyn_cast_or_null<dist::AccumulateOp>(maker);
  return loop && loop.getCount() == 1
             ? getMaker(loop.getRegion().front().getTerminator()->getOperand(
                   cast<OpResult>(value).getResultNumber()))
             : maker;
}

/// True if a row reduction, followed by elementwise ops, makes a value.
static bool isMadeByReduction(Value value, unsigned depth) {
  Operation *maker = getMakerInLoop(value);
  return reducesRows(maker) ||
         (depth > 0 && isElementwise(maker) &&
          llvm::any_of(maker->getOperands(), [&](Value operand) {
            return isMadeByReduction(operand, depth - 1);
          }));
}

/// The most elementwise ops between a row reduction and the sum of its results.
static constexpr unsigned kMostBetween = 3;

/// True for the sum of a vector that a row reduction makes: for example of the
/// squares of a bias's gradient, which is itself a sum.
static bool isSumOfReduced(Operation *op) {
  auto vector = dyn_cast_or_null<RankedTensorType>(
      op->getNumOperands() ? op->getOperand(0).getType() : Type());
  auto sum = dyn_cast_or_null<RankedTensorType>(
      op->getNumResults() ? op->getResult(0).getType() : Type());
  return reducesRows(op) && vector && sum && vector.getRank() == 1 &&
         sum.getRank() == 0 &&
         isMadeByReduction(op->getOperand(0), kMostBetween);
}

/// True for the sum of a row reduction's result, and for elementwise ops before
/// the sum.
static bool endsInSum(Operation *op, unsigned depth = kMostBetween) {
  return isSumOfReduced(op) ||
         (depth > 0 && isElementwise(op) &&
          llvm::any_of(op->getUsers(), [&](Operation *user) {
            return endsInSum(user, depth - 1);
          }));
}

/// True for ops in one kernel: elementwise ops, and row reductions before and
/// after them. Gradients after the loop of micro-batches wait for their norm,
/// and only the sums for this norm share kernels with earlier ops.
static bool shareKernel(Operation *maker, Operation *user, bool isAfterLoop) {
  if (reducesRows(maker) && endsInSum(user))
    return true;
  return !isAfterLoop && ((isElementwise(maker) &&
                           (isElementwise(user) || reducesRows(user))) ||
                          (reducesRows(maker) && isElementwise(user)));
}

/// True if a user of a value, or of a view of it, shares a kernel with its
/// maker.
static bool sharesWithUser(Operation *maker, Value value,
                           bool isAfterLoop = false) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto loop = dyn_cast<dist::AccumulateOp>(user->getParentOp());
        loop && loop.getCount() == 1 && user->hasTrait<OpTrait::IsTerminator>())
      return sharesWithUser(maker, loop.getResult(use.getOperandNumber()),
                            /*isAfterLoop=*/true);
    if (getOpCost(user).kind == CostKind::None && user->getNumResults() == 1)
      return sharesWithUser(maker, user->getResult(0), isAfterLoop);
    return shareKernel(maker, user, isAfterLoop);
  });
}

/// The same for the maker of a value.
static bool sharesWithMaker(Operation *user, Value value) {
  Operation *maker = getMakerInLoop(value);
  return shareKernel(maker, user, /*isAfterLoop=*/maker != getMaker(value));
}

static void readSharing(Operation *operation, ShardingProblem::Op &op) {
  for (ShardingProblem::Port &port : op.ports)
    if (!port.isInput)
      port.isInKernel =
          sharesWithUser(operation, operation->getResult(port.index));
    else if (port.index < operation->getNumOperands())
      port.isInKernel =
          sharesWithMaker(operation, operation->getOperand(port.index));
}

/// Reads an op that ties two values: slices and sums of a dist.accumulate,
/// returned values, and values that a call passes.
void ProgramReader::readTie(unsigned number, ShardingProblem::Op &op) {
  Operation *operation = builder.operations[number];
  ShardingProblem::Port &a = op.ports[0], &b = op.ports[1];
  b.isFixed = true;
  a.isFixed = isa<CallOpInterface>(operation);
  auto accumulate = dyn_cast<dist::AccumulateOp>(operation);
  if (!accumulate)
    return;
  unsigned at = numTies[operation]++;
  if (at < accumulate.getSlices().size()) {
    a.isFixed = true;
    return;
  }
  op.trips *= accumulate.getCount();
  if (accumulate.isStacked(at - accumulate.getSlices().size())) {
    // The slice is the input.
    std::swap(a.isInput, b.isInput);
    std::swap(a.isFixed, b.isFixed);
    return;
  }
  op.choices.linear.push_back(llvm::SmallBitVector(1, true));
  Value sum = accumulate.getResult(at - accumulate.getSlices().size());
  b.isInKernel = sharesWithUser(getMakerInLoop(sum), sum, /*isAfterLoop=*/true);
}

void ProgramReader::readKernelEnds(Operation *operation,
                                   KernelEnds &ends) const {
  bool fuses = isElementwise(operation);
  ends.operands.resize(operation->getNumOperands(), !fuses);
  ends.results.resize(operation->getNumResults(), !fuses);
  ends.isKernel = !isSumOfReduced(operation);
  // Rows that an elementwise op makes are reduced in its kernel.
  if (readsRows(getOpCost(operation)))
    for (auto [i, operand] : llvm::enumerate(operation->getOperands()))
      if (Operation *maker = getMaker(operand);
          isElementwise(maker) && isRowsOf(operation, operand) &&
          maker->getBlock() == operation->getBlock())
        ends.operands.reset(i);
  if (!fuses)
    return;
  for (auto [i, operand] : llvm::enumerate(operation->getOperands())) {
    Operation *maker = getMaker(operand);
    if (!isElementwise(maker) && !(maker && constants.contains(maker)))
      ends.operands.set(i);
  }
  for (OpResult result : operation->getResults())
    if (!staysInKernel(result))
      ends.results.set(result.getResultNumber());
  ends.isKernel = ends.results.any() &&
                  llvm::none_of(operation->getOperands(),
                                [](Value operand) {
                                  return reducesRows(getMaker(operand));
                                }) &&
                  llvm::none_of(operation->getResults(), isReduced) &&
                  llvm::none_of(operation->getResults(), followsResult);
}

/// Numbers kinds of ops: ops of one kind are priced once.
void ProgramReader::numberKind(unsigned number, ShardingProblem::Op &op) {
  Operation *operation = operations[number];
  std::vector<const void *> key{operation->getName().getAsOpaquePointer()};
  auto addNumber = [&](size_t value) {
    key.push_back(reinterpret_cast<const void *>(value));
  };
  addNumber(op.rule);
  addNumber(own.test(number));
  for (const ShardingProblem::Port &port : op.ports) {
    addNumber(port.tensor != ShardingProblem::kNone);
    addNumber(port.isInput * 4 + port.isFixed * 2 + port.isInKernel);
    if (port.tensor == ShardingProblem::kNone)
      continue;
    for (int64_t size : problem.tensors[port.tensor].shape)
      addNumber(size);
  }
  for (const llvm::SmallBitVector &operands : op.choices.linear)
    addNumber(operands.count());
  if (own.test(number)) {
    key.push_back(operation->getPropertiesAsAttribute().getAsOpaquePointer());
    key.push_back(operation->getAttr(dist::DistDialect::kFactorsAttr)
                      .getAsOpaquePointer());
    for (Type type : operation->getOperandTypes())
      key.push_back(type.getAsOpaquePointer());
    for (Type type : operation->getResultTypes())
      key.push_back(type.getAsOpaquePointer());
    if (operation->getNumRegions())
      for (double each :
           {getOpCost(operation).flops, getOpCost(operation).functions})
        addNumber(static_cast<size_t>(each));
    addNumber(kernelEnds[number].isKernel);
    for (const llvm::SmallBitVector *bits :
         {&kernelEnds[number].operands, &kernelEnds[number].results})
      for (unsigned i = 0; i < bits->size(); ++i)
        addNumber(bits->test(i));
  }
  op.kind = kinds.try_emplace(key, kinds.size()).first->second;
}

void ProgramReader::readOp(unsigned number) {
  Operation *operation = builder.operations[number];
  ShardingProblem::Op &op = problem.ops[number];
  KernelEnds &ends = kernelEnds[number];
  op.rule = builder.problem.ops[number].rule;
  op.trips = getTrips(operation) * (repeated.contains(operation) ? 2 : 1);
  // A constant is made with the sharding that its use needs.
  if (constants.contains(operation)) {
    op.rule = problem.rules.size() - 1;
    return;
  }
  operations[number] = operation;
  bool isTie = isa<dist::AccumulateOp, CallOpInterface>(operation) ||
               operation->hasTrait<OpTrait::ReturnLike>();
  own[number] = !isTie;
  op.choices.unpaddable.resize(problem.rules[op.rule].factors.size());
  op.choices.pinned = builder.problem.ops[number].pinned;
  readPorts(number, op);
  if (isTie) {
    readTie(number, op);
  } else {
    readChoices(operation, op);
    readKernelEnds(operation, ends);
    readSharing(operation, op);
  }
  numberKind(number, op);
}

LogicalResult ProgramReader::read() {
  if (failed(builder.build()))
    return failure();
  problem.mesh = builder.problem.mesh;
  problem.rules = builder.problem.rules;
  problem.rules.emplace_back();
  // The kind of constants.
  kinds[{}] = 0;
  for (Operation *op : getRepeatedOps(module))
    repeated.insert(op);
  readTensors();
  if (failed(tieDonated()))
    return failure();
  size_t count = builder.problem.ops.size();
  problem.ops.resize(count);
  operations.resize(count);
  kernelEnds.resize(count);
  own.resize(count);
  for (unsigned number = 0; number < count; ++number)
    readOp(number);
  return success();
}
