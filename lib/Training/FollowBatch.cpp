//===- FollowBatch.cpp - Values that depend on the batch ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FollowBatch.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"

using namespace mlir;
using namespace tessera;

BatchSplit::BatchSplit(func::FuncOp function, ValueRange inputs,
                       ArrayRef<int64_t> batchDims, int64_t microBatches)
    : function(function), microBatches(microBatches) {
  for (auto [input, dim] : llvm::zip_equal(inputs, batchDims))
    this->batchDims.insert({input, dim});
}

/// Calls `fn(value, factors)` for each tensor of an op.
template <typename Fn>
static void forEachTensor(Operation *op, const ShardingRule &rule, Fn &&fn) {
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands))
    fn(value, dims);
  for (auto [value, dims] : llvm::zip(op->getResults(), rule.results))
    fn(value, dims);
}

/// The factors along which some tensor of the op has the batch.
static llvm::SmallBitVector
getBatchFactors(Operation *op, const ShardingRule &rule,
                const llvm::DenseSet<std::pair<Value, int64_t>> &batchDims) {
  llvm::SmallBitVector factors(rule.factors.size());
  forEachTensor(op, rule, [&](Value value, const TensorFactors &dims) {
    for (auto [d, dim] : llvm::enumerate(dims))
      if (!dim.empty() && batchDims.contains({value, static_cast<int64_t>(d)}))
        factors.set(dim.front());
  });
  return factors;
}

/// Marks the dimensions that the op ties to marked ones; true if one is new.
bool BatchSplit::markDims(Operation *op) {
  ShardingRule rule = getShardingRule(op);
  llvm::SmallBitVector factors = getBatchFactors(op, rule, batchDims);
  bool changed = false;
  forEachTensor(op, rule, [&](Value value, const TensorFactors &dims) {
    for (auto [d, dim] : llvm::enumerate(dims))
      if (!dim.empty() && factors.test(dim.front()))
        changed |= batchDims.insert({value, static_cast<int64_t>(d)}).second;
  });
  return changed;
}

bool BatchSplit::hasBatch(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type &&
         llvm::any_of(llvm::seq<int64_t>(0, type.getRank()), [&](int64_t dim) {
           return batchDims.contains({value, dim});
         });
}

/// True if the op uses a value that waits for sums, or is not linear in a sum.
bool BatchSplit::isAfterSums(Operation *op) const {
  llvm::SmallBitVector summed(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (after.contains(operand.getDefiningOp()))
      return true;
    summed[i] = sums.contains(operand);
  }
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  return summed.any() &&
         (!iface || !iface.commutesWithReduction(ReductionKind::Sum, summed));
}

/// Records which results are sums over the batch; with several micro-batches,
/// checks that splitting keeps their values.
LogicalResult BatchSplit::checkOp(Operation *op) {
  if (microBatches > 1 && isAfterSums(op)) {
    if (!mayWait)
      return op->emitOpError("expects to be linear in a sum over the batch "
                             "where micro-batches are used");
    if (llvm::any_of(op->getOperands(),
                     [&](Value operand) { return hasBatch(operand); }))
      return op->emitOpError("expects samples of a batch or sums over it, but "
                             "not both, where micro-batches are used");
    after.insert(op);
    return success();
  }
  ShardingRule rule = getShardingRule(op);
  llvm::SmallBitVector factors = getBatchFactors(op, rule, batchDims);
  if (microBatches > 1 && failed(checkFactors(op, rule, factors)))
    return failure();
  llvm::SmallBitVector summed(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    summed[i] = sums.contains(operand);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (summed.any() || llvm::any_of(factors.set_bits(), [&](unsigned f) {
          return rule.isReducedIn(f, i);
        }))
      sums.insert(result);
  return success();
}

/// Whether sums of an op start at zero: another initial value would count once
/// per micro-batch.
static bool startsAtZero(Operation *op) {
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  return !destination ||
         llvm::all_of(destination.getDpsInits(), [](Value init) {
           return isNeutral(init, ReductionKind::Sum);
         });
}

LogicalResult BatchSplit::checkFactors(Operation *op, const ShardingRule &rule,
                                       const llvm::SmallBitVector &factors) {
  for (unsigned f : factors.set_bits()) {
    const Factor &factor = rule.factors[f];
    bool isSharded = factor.kind == FactorKind::Parallel ||
                     (factor.kind == FactorKind::Reduction &&
                      factor.reduction == ReductionKind::Sum);
    if (!isSharded || factor.positional)
      return op->emitOpError("expects the samples of a batch to be independent "
                             "or summed where micro-batches are used");
    if (factor.size % microBatches != 0)
      return op->emitOpError("expects a batch that ")
             << microBatches << " micro-batches divide but got " << factor.size;
    if (factor.kind == FactorKind::Reduction && !startsAtZero(op))
      return op->emitOpError("expects a sum over the batch to start at zero "
                             "where micro-batches are used");
  }
  return success();
}

void BatchSplit::collectNeeded(ValueRange outputs) {
  llvm::DenseSet<Operation *> wanted;
  auto want = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      wanted.insert(op);
  };
  llvm::for_each(outputs, want);
  Block &block = function.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(block)) {
    if (!wanted.contains(&op))
      continue;
    ops.push_back(&op);
    llvm::for_each(op.getOperands(), want);
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    llvm::for_each(captured, want);
  }
  for (Operation *op : llvm::reverse(ops))
    needed.insert(op);
}

/// Marks batch dimensions, then sums.
LogicalResult BatchSplit::followBatch() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : needed)
      changed |= markDims(op);
  }
  for (Operation *op : needed)
    if (failed(checkOp(op)))
      return failure();
  needed.remove_if([&](Operation *op) { return after.contains(op); });
  return success();
}

LogicalResult BatchSplit::runForward(ValueRange outputs) {
  mayWait = true;
  collectNeeded(outputs);
  return followBatch();
}

LogicalResult BatchSplit::run(ValueRange outputs) {
  collectNeeded(outputs);
  if (failed(followBatch()))
    return failure();
  if (microBatches == 1)
    return success();
  for (Value output : outputs)
    if (!sums.contains(output))
      return function.emitError("expects a loss that is a sum over the batch "
                                "where micro-batches are used");
  return success();
}

Type BatchSplit::getType(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || microBatches == 1)
    return value.getType();
  SmallVector<int64_t> shape(type.getShape());
  for (auto [d, size] : llvm::enumerate(shape))
    if (batchDims.contains({value, static_cast<int64_t>(d)}))
      size /= microBatches;
  return type.clone(shape);
}
