//===- StageAssignment.cpp - Assigns ops to stages ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forward is split at points of its order. An op of the backward belongs to
// the last stage that has all its operands. Gradients come from later stages. A
// value of the forward is in all stages from the one that makes it to the last
// one that uses it; a parameter is in the stages that use it.
//
//     stage        0              1
//     forward      x = f(t)       y = g(x, w), z = h(y, x)
//     backward     dt = f'(dx)    dy, dx = h'(dz, y, x), dw = g'(dy, x)
//
// dw needs dy and x, which both stages have; stage 1 is the last one.
//
//===----------------------------------------------------------------------===//

#include "StageAssignment.h"
#include "dialects/NN/NN.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/ModelBlocks.h"

using namespace mlir;
using namespace tessera;

StageAssignment::StageAssignment(dist::AccumulateOp op,
                                 ArrayRef<Operation *> starts)
    : body(op.getBody().front()),
      numStages(static_cast<int>(starts.size()) + 1) {
  classify();
  assignForward(starts);
  assignBackward();
  findWeightGrads();
}

void tessera::forEachUsedValue(Operation *op,
                               llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (inner == op ||
          !op->isAncestor(operand.getParentBlock()->getParentOp()))
        visit(operand);
  });
}

void StageAssignment::classify() {
  Operation *firstBackward = dist::findBackward(body);
  bool isBackward = false;
  for (Operation &op : body.without_terminator()) {
    isBackward |= &op == firstBackward;
    bool usesInput = false, usesParameter = false, usesOps = false;
    forEachUsedValue(&op, [&](Value value) {
      Operation *def = value.getDefiningOp();
      if (value.getParentBlock() != &body) {
        usesParameter = true;
        return;
      }
      TaskClass kind = def ? getClass(def) : TaskClass::Input;
      // A constant has no operands, and joins either kind.
      bool isConstant = def && def->getNumOperands() == 0;
      usesInput |= kind == TaskClass::Input && !isConstant;
      usesParameter |= kind == TaskClass::Parameter;
      usesOps |= kind == TaskClass::Forward || kind == TaskClass::Backward;
    });
    Entry &entry = entries[&op];
    // A gradient computed from a parameter and constants belongs to the
    // parameter's stage.
    bool isGrad = isBackward && usesParameter && op.getNumOperands() > 1;
    if (usesOps || isGrad || (usesInput && usesParameter))
      entry.kind = isBackward ? TaskClass::Backward : TaskClass::Forward;
    else
      entry.kind = usesParameter ? TaskClass::Parameter : TaskClass::Input;
  }
}

void StageAssignment::assignForward(ArrayRef<Operation *> starts) {
  Operation *firstBackward = dist::findBackward(body);
  int stage = 0;
  for (Operation &op : body) {
    if (&op == firstBackward)
      break;
    if (!starts.empty() && &op == starts.front()) {
      ++stage;
      starts = starts.drop_front();
    }
    entries[&op].stage = stage;
  }
  assert(starts.empty() && "stages begin in the forward, in its order");
}

/// The parameter that an argument is, or is the state of; null if neither.
static BlockArgument getParameter(BlockArgument argument) {
  auto func = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!func)
    return {};
  unsigned number = argument.getArgNumber();
  if (func.getArgAttr(number, nn::NNDialect::kParamAttr))
    return argument;
  Attribute name = func.getArgAttr(number, nn::NNDialect::kOfAttr);
  for (BlockArgument other : func.getArguments())
    if (name && func.getArgAttr(other.getArgNumber(),
                                nn::NNDialect::kParamAttr) == name)
      return other;
  return {};
}

/// The parameter that a sum of gradients updates: the first one that an op
/// reads, itself or its state, together with tensors computed from the sum.
/// Null for other sums.
static BlockArgument findUpdated(Value sum) {
  SmallVector<Value> open{sum};
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (size_t i = 0; i < open.size(); ++i)
    for (Operation *user : open[i].getUsers()) {
      if (!seen.insert(user).second)
        continue;
      for (Value operand : user->getOperands()) {
        BlockArgument root = getRootArgument(operand);
        if (BlockArgument parameter = root ? getParameter(root) : root)
          return parameter;
      }
      for (Value result : user->getResults())
        if (auto type = dyn_cast<RankedTensorType>(result.getType());
            type && type.getRank() > 0)
          open.push_back(result);
    }
  return {};
}

/// The latest stages of ops whose results reach only sums: a parameter's
/// gradients belong to its last stage, even if a later one has their operands.
llvm::DenseMap<Operation *, int>
StageAssignment::findLimits(const llvm::DenseMap<Value, int> &last) const {
  llvm::DenseMap<Value, int> stageOf;
  for (auto [value, stage] : last)
    if (value.getParentBlock() != &body)
      if (BlockArgument root = getRootArgument(value)) {
        int &latest = stageOf[root];
        latest = std::max(latest, stage);
      }
  llvm::DenseMap<Operation *, int> limits;
  auto limit = [&](Value value, int stage) {
    Operation *def = value.getDefiningOp();
    if (!def || getClass(def) != TaskClass::Backward || !isTermOnly(def))
      return;
    auto [it, isNew] = limits.try_emplace(def, stage);
    it->second = std::min(it->second, stage);
  };
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (BlockArgument updated = findUpdated(body.getParentOp()->getResult(i)))
      if (auto it = stageOf.find(updated); it != stageOf.end())
        limit(value, it->second);
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (auto it = limits.find(&op); it != limits.end()) {
      int stage = it->second;
      for (Value operand : op.getOperands())
        limit(operand, stage);
    }
  return limits;
}

void StageAssignment::assignBackward() {
  // The last stage whose forward uses a value; for parameters, also the values
  // that they are computed from.
  llvm::DenseMap<Value, int> last;
  auto use = [&](auto &self, Value value, int stage) -> void {
    auto [it, isNew] = last.try_emplace(value, stage);
    if (!isNew && it->second >= stage)
      return; // and its operands were visited too
    it->second = stage;
    Operation *def = value.getDefiningOp();
    if (def && def->getBlock() == &body &&
        getClass(def) == TaskClass::Parameter)
      forEachUsedValue(def, [&](Value inner) { self(self, inner, stage); });
  };
  for (Operation &op : body.without_terminator())
    if (getClass(&op) == TaskClass::Forward)
      forEachUsedValue(&op,
                       [&](Value value) { use(use, value, getStage(&op)); });
  // The last stage that has a value.
  llvm::DenseMap<Value, int> found;
  auto find = [&](auto &self, Value value) -> int {
    if (auto it = found.find(value); it != found.end())
      return it->second;
    int stage = numStages - 1;
    if (auto it = last.find(value); it != last.end())
      stage = it->second;
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != &body)
      return stage;
    switch (getClass(def)) {
    case TaskClass::Backward:
      return getStage(def);
    case TaskClass::Forward:
      return last.count(value) ? std::max(stage, getStage(def)) : getStage(def);
    case TaskClass::Parameter:
      forEachUsedValue(def, [&](Value inner) {
        stage = std::min(stage, self(self, inner));
      });
      found[value] = stage;
      return stage;
    case TaskClass::Input:
      return numStages - 1;
    }
    return stage;
  };
  llvm::DenseMap<Operation *, int> limits = findLimits(last);
  for (Operation &op : body.without_terminator()) {
    if (getClass(&op) != TaskClass::Backward)
      continue;
    int stage = numStages - 1;
    if (auto it = limits.find(&op); it != limits.end())
      stage = it->second;
    forEachUsedValue(
        &op, [&](Value value) { stage = std::min(stage, find(find, value)); });
    entries[&op].stage = stage;
  }
  gatherWhereUsed();
}

/// A gradient that only earlier stages read is gathered there: they receive
/// less.
void StageAssignment::gatherWhereUsed() {
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (getClass(&op) != TaskClass::Backward || op.getNumOperands() != 1 ||
        op.use_empty() ||
        getTensorBytes(op.getResult(0).getType()) <=
            getTensorBytes(op.getOperand(0).getType()))
      continue;
    int latest = 0;
    for (Operation *inner : op.getUsers()) {
      Operation *user = body.findAncestorOpInBlock(*inner);
      latest = std::max(latest, getClass(user) == TaskClass::Backward
                                    ? getStage(user)
                                    : numStages);
    }
    entries[&op].stage = std::min(getStage(&op), latest);
  }
}

/// An addition of the body.
static bool isAddition(Operation *op, Block &body) {
  return isa_and_present<arith::AddFOp, arith::AddIOp>(op) &&
         op->getBlock() == &body;
}

SmallVector<Value>
StageAssignment::getTerms(Value yielded,
                          llvm::SmallPtrSetImpl<Operation *> &additions) const {
  auto isApart = [&](Operation *op) {
    Operation *left = op->getOperand(0).getDefiningOp();
    Operation *right = op->getOperand(1).getDefiningOp();
    return left && right && getClass(left) == TaskClass::Backward &&
           getClass(right) == TaskClass::Backward &&
           getStage(left) != getStage(right);
  };
  SmallVector<Value> terms, open{yielded};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *def = value.getDefiningOp();
    if (!isAddition(def, body) || !value.hasOneUse() || !isApart(def)) {
      terms.push_back(value);
      continue;
    }
    additions.insert(def);
    open.push_back(def->getOperand(1));
    open.push_back(def->getOperand(0));
  }
  return terms;
}

/// True if the op's results reach only sums, through additions and
/// single-operand ops (casts, scatters).
bool StageAssignment::isTermOnly(Operation *op) const {
  if (auto it = termOnly.find(op); it != termOnly.end())
    return it->second;
  bool result = llvm::all_of(op->getUsers(), [&](Operation *user) {
    bool passesOn = isAddition(user, body) || user->getNumOperands() == 1;
    return isa<dist::YieldOp>(user) || (passesOn && isTermOnly(user));
  });
  termOnly[op] = result;
  return result;
}

void StageAssignment::findWeightGrads() {
  llvm::SmallPtrSet<Operation *, 8> additions;
  for (Value value : body.getTerminator()->getOperands())
    (void)getTerms(value, additions);
  // W sends nothing: its results stay in its stage, or are terms of a sum.
  auto mayBe = [&](Operation *op) {
    return getClass(op) == TaskClass::Backward && !op->use_empty() &&
           llvm::all_of(op->getUsers(), [&](Operation *user) {
             return isa<dist::YieldOp>(user) || additions.contains(user) ||
                    getStage(user) == getStage(op);
           });
  };
  for (Operation &op : body.without_terminator()) {
    if (!mayBe(&op) || !isTermOnly(&op))
      continue;
    CostKind cost = getOpCost(&op).kind;
    bool isProduct = cost == CostKind::Matmul ||
                     cost == CostKind::GroupedMatmul ||
                     cost == CostKind::Embedding;
    // The op uses a result of such an op of the same stage.
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return def && isWeightGrad(def) && getStage(def) == getStage(&op);
    });
    entries[&op].isWeightGrad = isProduct || follows;
  }
  // Rows of an op that is not marked are packed next to it: they are kept
  // alone.
  auto isKeptPacked = [&](Operation *op) {
    auto pack = dyn_cast<dist::PackRowsOp>(op);
    Operation *def = pack ? pack.getValues().getDefiningOp() : nullptr;
    return def && llvm::any_of(def->getUsers(), [&](Operation *user) {
             return !isa<dist::PackRowsOp>(user) && !isWeightGrad(user);
           });
  };
  // Marks ops that only these ops use.
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (mayBe(&op) && !isKeptPacked(&op) &&
        llvm::all_of(op.getUsers(), [&](Operation *user) {
          return isWeightGrad(user) && getStage(user) == getStage(&op);
        }))
      entries[&op].isWeightGrad = true;
}
