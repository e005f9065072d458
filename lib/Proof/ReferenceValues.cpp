//===- ReferenceValues.cpp - Values of the reference program --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceValues.h"
#include "ExpectedOps.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "tessera/Interfaces/Expansion.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Propagation/RaiseArgReductions.h"

using namespace mlir;
using namespace tessera;

ConstantValue tessera::getConstantValue(Operation *op) {
  // A fill with a constant is a constant.
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Attribute scalar;
    Value filled = getFilledScalar(fill);
    if (fill.hasPureTensorSemantics() && filled &&
        matchPattern(filled, m_Constant(&scalar)))
      return {scalar, true};
    return {};
  }
  Attribute value;
  if (!op->hasTrait<OpTrait::ConstantLike>() ||
      !matchPattern(op, m_Constant(&value)))
    return {};
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    return {splat.getSplatValue<Attribute>(), true};
  bool isScalar = !isa<ShapedType>(op->getResult(0).getType());
  return {value, isScalar};
}

bool tessera::haveSameProperties(Operation *a, Operation *b) {
  return a->getName().compareOpProperties(a->getPropertiesStorage(),
                                          b->getPropertiesStorage());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// True if a dimension whose size belongs to the value is empty.
static bool hasNoElement(Type type, const llvm::SmallBitVector &free) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  for (int64_t dim = 0, rank = tensor ? tensor.getRank() : 0; dim < rank; ++dim)
    if (tensor.getDimSize(dim) == 0 && !free.test(dim))
      return true;
  return false;
}

int ReferenceValues::addValue(Type type, Location loc) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  llvm::SmallBitVector free(tensor ? tensor.getRank() : 0);
  bool empty = hasNoElement(type, free);
  values.push_back({type, loc, ConstantValue(), free, /*isZero=*/empty, empty});
  return values.size() - 1;
}

int ReferenceValues::getConstant(ConstantValue constant, Type type,
                                 Location loc) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  // Empty constants are equal, whatever their other sizes.
  if (tensor && tensor.getNumElements() == 0)
    constant = {UnitAttr::get(type.getContext()), /*isSplat=*/true};
  // Uses one value for all shapes of a rank: a dimension of a splat has any
  // size but 0.
  Type key = type;
  if (tensor && constant.isSplat) {
    SmallVector<int64_t> shape(tensor.getShape());
    for (int64_t &size : shape)
      size = std::min<int64_t>(size, 1);
    key = tensor.clone(shape);
  }
  auto [it, isNew] = constants.try_emplace({constant.value, key}, 0);
  if (isNew) {
    it->second = addValue(type, loc);
    ReferenceValue &value = values.back();
    value.constant = constant;
    value.isZero |=
        constant.isSplat && (matchPattern(constant.value, m_AnyZeroFloat()) ||
                             matchPattern(constant.value, m_Zero()));
    if (constant.isSplat && !value.isEmpty)
      value.freeDims.set();
  }
  return it->second;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static llvm::hash_code getKey(OperationName name, ValueRange operands,
                              ArrayRef<int> numbers) {
  llvm::hash_code key = llvm::hash_value(name.getAsOpaquePointer());
  for (auto [operand, number] : llvm::zip_equal(operands, numbers))
    if (!operand.getType().isIndex())
      key = llvm::hash_combine(key, number);
  return key;
}

ArrayRef<unsigned> ReferenceValues::find(OperationName name,
                                         OperandRange operands,
                                         ArrayRef<int> numbers) const {
  auto it = byKey.find(getKey(name, operands, numbers));
  return it == byKey.end() ? ArrayRef<unsigned>() : ArrayRef(it->second);
}

/// A dimension of a result is free if each of its factors occurs only in free
/// dimensions of operands.
llvm::SmallBitVector ReferenceValues::getFreeDims(const ReferenceOp &op,
                                                  unsigned result) const {
  llvm::SmallBitVector tied(op.rule.factors.size());
  for (auto [number, tensor] : llvm::zip(op.operands, op.rule.operands))
    for (auto [dim, factors] : llvm::enumerate(tensor))
      if (!values[number].freeDims.test(dim))
        for (unsigned factor : factors)
          tied.set(factor);
  llvm::SmallBitVector free;
  for (const DimFactors &factors : op.rule.results[result])
    free.push_back(
        !factors.empty() && llvm::all_of(factors, [&](unsigned factor) {
          return !tied.test(factor) &&
                 op.rule.factors[factor].kind == FactorKind::Parallel;
        }));
  return free;
}

/// True if the op sums over an empty dimension, and its initial value, if any,
/// is zero.
bool ReferenceValues::sumsNothing(const ReferenceOp &op) const {
  bool isEmptySum = llvm::any_of(op.rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Reduction && factor.size == 0 &&
           factor.reduction == ReductionKind::Sum;
  });
  if (!isEmptySum)
    return false;
  auto destinations = dyn_cast<DestinationStyleOpInterface>(op.op);
  if (!destinations)
    return op.op->getNumRegions() == 0;
  return llvm::all_of(destinations.getDpsInitsMutable(), [&](OpOperand &init) {
    int number = op.operands[init.getOperandNumber()];
    return number >= 0 && values[number].isZero;
  });
}

/// True if every result is zero: from zero operands, or as an empty sum.
bool ReferenceValues::hasZeroResults(const ReferenceOp &op) const {
  if (sumsNothing(op))
    return true;
  llvm::SmallBitVector zeros(op.operands.size());
  for (auto [i, number] : llvm::enumerate(op.operands))
    zeros[i] = number >= 0 && values[number].isZero &&
               !op.op->getOperand(i).getType().isIndex();
  return zeros.any() && makesZeros(op.op, zeros);
}

/// True for types that are equal up to the sizes of free dimensions; both must
/// be empty there or neither.
static bool isSameType(Type a, Type b, const llvm::SmallBitVector &free) {
  auto left = dyn_cast<RankedTensorType>(a);
  auto right = dyn_cast<RankedTensorType>(b);
  if (!left || !right)
    return a == b;
  if (left.getElementType() != right.getElementType() ||
      left.getRank() != right.getRank())
    return false;
  for (int64_t dim = 0; dim < left.getRank(); ++dim)
    if (left.getDimSize(dim) != right.getDimSize(dim) &&
        (!free.test(dim) || left.getDimSize(dim) == 0 ||
         right.getDimSize(dim) == 0))
      return false;
  return true;
}

const ReferenceOp *
ReferenceValues::findEqual(const ReferenceOp &op,
                           ArrayRef<unsigned> candidates) const {
  for (unsigned index : candidates) {
    const ReferenceOp &other = ops[index];
    if (other.op->getName() != op.op->getName() ||
        other.operands != op.operands ||
        other.rule.factors.size() != op.rule.factors.size() ||
        !(isMemoryEffectFree(op.op) || isa<CallOpInterface>(op.op)) ||
        !haveSameProperties(other.op, op.op) ||
        other.op->getNumResults() != op.op->getNumResults() ||
        // The rule includes factors of values that regions use from outside.
        other.rule.factors.size() != op.rule.factors.size())
      continue;
    bool same = true;
    llvm::SmallBitVector freeFactors(op.rule.factors.size());
    for (auto [i, result] : llvm::enumerate(op.op->getResults())) {
      llvm::SmallBitVector free;
      if (i < op.rule.results.size())
        free = getFreeDims(op, i);
      free.resize(isa<RankedTensorType>(result.getType())
                      ? cast<RankedTensorType>(result.getType()).getRank()
                      : 0);
      same &=
          isSameType(result.getType(), other.op->getResult(i).getType(), free);
      if (i < op.rule.results.size())
        for (auto [dim, factors] : llvm::enumerate(op.rule.results[i]))
          if (free.test(dim))
            for (unsigned factor : factors)
              freeFactors.set(factor);
    }
    // The sizes of reduced factors belong to the value.
    for (auto [i, factor] : llvm::enumerate(op.rule.factors))
      same &= freeFactors.test(i) || factor == other.rule.factors[i];
    auto isSame = [&](Value a, Value b) {
      return a.getType() == b.getType() && lookup(a) >= 0 &&
             lookup(a) == lookup(b);
    };
    for (auto [a, b] : llvm::zip(op.op->getRegions(), other.op->getRegions()))
      same = same && isSameRegion(a, b, isSame);
    if (same)
      return &other;
  }
  return nullptr;
}

SmallVector<int, 1> ReferenceValues::findPadded(Operation *op) const {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<std::pair<int64_t, int>, 1> found;
  for (Operation *constant : denseConstants) {
    auto iface = dyn_cast<ShardingRuleOpInterface>(constant);
    auto from = dyn_cast<RankedTensorType>(constant->getResult(0).getType());
    if (!iface || !from || from.getRank() != type.getRank() ||
        from.getElementType() != type.getElementType())
      continue;
    OpBuilder builder(constant);
    FailureOr<Operation *> padded =
        iface.cloneWithShapes(builder, ValueRange(), Type(type));
    if (failed(padded))
      continue;
    bool same = haveSameProperties(*padded, op);
    (*padded)->erase();
    std::pair<int64_t, int> candidate(-from.getNumElements(),
                                      lookup(constant->getResult(0)));
    if (same && !llvm::is_contained(found, candidate))
      found.push_back(candidate);
  }
  llvm::stable_sort(found, llvm::less_first());
  return llvm::map_to_vector<1>(
      found, [](const std::pair<int64_t, int> &each) { return each.second; });
}

/// True for ops that change no element on global types: they only describe the
/// sharding of a value.
static bool isIdentity(Operation *op) {
  // A mask after the last element changes nothing.
  if (auto mask = dyn_cast<nn::MaskPaddingOp>(op))
    return !mask.getOffset() && static_cast<int64_t>(mask.getSize()) >=
                                    mask.getType().getDimSize(mask.getDim());
  return isa<dist::ConstraintOp, dist::ReshardOp, dist::CollectiveOpInterface,
             dist::ToPartialOp>(op);
}

void ReferenceValues::addOp(Operation *op) {
  if (isIdentity(op)) {
    numbers[op->getResult(0)] = lookup(op->getOperand(0));
    return;
  }
  if (ConstantValue constant = getConstantValue(op); constant.value) {
    Value result = op->getResult(0);
    numbers[result] = getConstant(constant, result.getType(), op->getLoc());
    if (!constant.isSplat)
      denseConstants.push_back(op);
    return;
  }
  ReferenceOp made{op, {}, {}, {}};
  for (Value operand : op->getOperands())
    made.operands.push_back(lookup(operand));
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (llvm::any_of(op->getOperandTypes(), isTensor) ||
      llvm::any_of(op->getResultTypes(), isTensor))
    made.rule = getShardingRule(op);
  bool isZero = hasZeroResults(made);
  llvm::hash_code key = getKey(op->getName(), op->getOperands(), made.operands);
  SmallVector<unsigned, 1> &candidates = byKey[key];
  const ReferenceOp *equal = findEqual(made, candidates);
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    // The decomposition of an op comes before it.
    Value same = decomposed.lookup(result);
    int number = same    ? lookup(same)
                 : equal ? equal->results[i]
                         : addValue(result.getType(), op->getLoc());
    numbers[result] = number;
    made.results.push_back(number);
    if (!equal)
      makers.try_emplace(number, ops.size(), i);
    values[number].isZero |= isZero;
    if (!same && !equal && i < made.rule.results.size() &&
        isTensor(result.getType()) && !made.rule.results[i].empty()) {
      values[number].freeDims = getFreeDims(made, i);
      values[number].isEmpty =
          hasNoElement(result.getType(), values[number].freeDims);
      values[number].isZero = isZero || values[number].isEmpty;
    }
  }
  if (!equal) {
    candidates.push_back(ops.size());
    ops.push_back(std::move(made));
  }
  // Scalar bodies belong to their op; other regions contain ops to number.
  if (isa<RegionBranchOpInterface, dist::AccumulateOp>(op))
    for (Region &region : op->getRegions())
      for (Block &block : region)
        addBlock(block);
}

void ReferenceValues::addBlock(Block &block) {
  for (BlockArgument arg : block.getArguments())
    numbers[arg] = addValue(arg.getType(), arg.getLoc());
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>())
      addOp(&op);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Inserts the decomposition of each op with its own reduction before the op,
/// which stays.
void ReferenceValues::raiseOps(FunctionOpInterface function,
                               FunctionOpInterface local) {
  SmallVector<linalg::GenericOp> ops;
  function->walk([&](linalg::GenericOp op) { ops.push_back(op); });
  int64_t numLocal = 0;
  if (local)
    local->walk([&](linalg::GenericOp) { ++numLocal; });
  if (static_cast<int64_t>(ops.size()) <= numLocal)
    return;
  for (linalg::GenericOp op : ops) {
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> made = raiseArgReduction(builder, op);
    if (succeeded(made))
      for (auto [result, value] : llvm::zip(op->getResults(), *made))
        decomposed[result] = value;
  }
}

void ReferenceValues::decomposeOps(FunctionOpInterface function,
                                   FunctionOpInterface local) {
  llvm::DenseMap<OperationName, int64_t> surplus;
  SmallVector<ShardingRuleOpInterface> candidates;
  function->walk([&](ShardingRuleOpInterface op) {
    if (!llvm::all_of(op->getResultTypes(),
                      [](Type type) { return isa<RankedTensorType>(type); }))
      return;
    ++surplus[op->getName()];
    candidates.push_back(op);
  });
  if (local)
    local->walk([&](Operation *op) {
      auto it = surplus.find(op->getName());
      if (it != surplus.end())
        --it->second;
    });
  for (ShardingRuleOpInterface op : candidates)
    if (surplus.lookup(op->getName()) > 0)
      decomposeOp(op);
}

void ReferenceValues::decomposeOp(ShardingRuleOpInterface op) {
  ShardingRule rule = op.getShardingRule();
  llvm::SmallBitVector own(rule.factors.size());
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    own[i] = factor.kind == FactorKind::Decomposed;
  if (own.none())
    return;
  OpBuilder builder(op);
  FailureOr<SmallVector<Value>> made = decompose(op, builder, own);
  if (failed(made))
    return;
  for (auto [result, value] : llvm::zip(op->getResults(), *made))
    decomposed[result] = value;
  // The op may have been told padding before, of any of these factors.
  for (uint64_t choice = 1; choice < uint64_t(1) << own.count(); ++choice) {
    auto copy = cast<ShardingRuleOpInterface>(builder.clone(*op));
    bool absorbs = true;
    for (auto [bit, factor] : llvm::enumerate(own.set_bits()))
      if (choice >> bit & 1)
        absorbs &= copy.absorbPadding(factor, rule.factors[factor].size);
    bool isOther = absorbs && !haveSameProperties(copy, op);
    FailureOr<SmallVector<Value>> variant = failure();
    if (isOther)
      variant = decompose(copy, builder, own);
    if (succeeded(variant))
      for (auto [value, same] : llvm::zip(*variant, *made))
        decomposed[value] = same;
    copy->erase();
  }
}

void ReferenceValues::addFunction(FunctionOpInterface function,
                                  FunctionOpInterface local) {
  function->walk([&](Operation *op) { ownOps.insert(op); });
  raiseOps(function, local);
  decomposeOps(function, local);
  for (Block &block : function.getFunctionBody())
    addBlock(block);
}
