//===- DecomposeReductions.cpp - Decomposes ops that contain a reduction --===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorSizes.h"
#include "dialects/NN/NN.h"
#include "tessera/Interfaces/Expansion.h"
#include "tessera/Partition/Passes.h"
#include "tessera/Propagation/FactorProjection.h"
#include "tessera/Propagation/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_DECOMPOSEREDUCTIONSPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Returns the sharded factors of kind Decomposed: over axes that no other
/// factor of the result has. Another factor has precedence, and the operand is
/// gathered instead.
static llvm::SmallBitVector
getShardedFactors(Operation *op, const ShardingRule &rule, const Mesh &mesh) {
  llvm::SmallBitVector sharded(rule.factors.size());
  AxisList taken;
  auto mark = [&](Value value, const TensorFactors &tensor) {
    dist::ShardingAttr attr =
        tensor.empty() ? dist::ShardingAttr() : dist::getSharding(value);
    if (!attr)
      return;
    auto axes = projectTensor(rule, tensor, attr.toSharding(mesh).dims);
    for (auto [factor, list] : llvm::enumerate(axes)) {
      if (list.empty())
        continue;
      if (rule.factors[factor].kind != FactorKind::Decomposed)
        taken.append(list);
      else if (numShards(prefixWithout(list, taken)) > 1)
        sharded.set(factor);
    }
  };
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    mark(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    mark(value, tensor);
  return sharded;
}

/// Returns the factors of kind Decomposed that will be padded and that the op
/// cannot handle. Informs the op of those that it can.
static llvm::SmallBitVector getPaddedFactors(ShardingRuleOpInterface op,
                                             const ShardingRule &rule,
                                             const FactorSizes &sizes) {
  llvm::SmallBitVector padded(rule.factors.size());
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    if (factor.kind == FactorKind::Decomposed &&
        sizes.getPadded(op, i) != factor.size &&
        !op.absorbPadding(i, factor.size))
      padded.set(i);
  return padded;
}

static LogicalResult decomposeOp(ShardingRuleOpInterface op,
                                 const llvm::SmallBitVector &factors) {
  OpBuilder builder(op);
  FailureOr<SmallVector<Value>> values = decompose(op, builder, factors);
  if (failed(values))
    return op->emitOpError("expects a dimension that is not sharded where it "
                           "reduces in a way of its own, but got ")
           << op->getAttr(dist::DistDialect::kShardingsAttr);
  for (auto [result, value] : llvm::zip(op->getResults(), *values)) {
    if (dist::ShardingAttr sharding = dist::getSharding(result))
      dist::setSharding(value, sharding);
    result.replaceAllUsesWith(value);
  }
  op->erase();
  return success();
}

namespace {
struct DecomposeReductionsPass
    : tessera::impl::DecomposeReductionsPassBase<DecomposeReductionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<dist::MeshOp>().empty())
      return;
    FailureOr<dist::MeshOp> meshOp = dist::getOnlyMesh(module);
    if (failed(meshOp))
      return signalPassFailure();
    Mesh mesh = meshOp->getMesh().toMesh();
    // Decompose sharded factors first: that may add padding to the others.
    for (bool forPadding : {false, true}) {
      bool changed = false;
      for (auto func : module.getOps<FunctionOpInterface>())
        if (failed(runOnFunction(func, mesh, forPadding, changed)))
          return signalPassFailure();
      // The new ops get their shardings from their neighbours.
      if (changed && failed(propagateShardings(module)))
        return signalPassFailure();
    }
  }

  LogicalResult runOnFunction(FunctionOpInterface func, const Mesh &mesh,
                              bool forPadding, bool &changed) {
    if (func.isExternal())
      return success();
    std::optional<FactorSizes> sizes;
    if (forPadding) {
      sizes.emplace(func, mesh);
      if (!sizes->any())
        return success();
    }
    for (Block *block : dist::getBlocks(func))
      if (failed(runOnBlock(*block, mesh, forPadding ? &*sizes : nullptr,
                            changed)))
        return failure();
    return success();
  }

  /// Decomposes ops with padded factors, by `sizes`, or, without `sizes`, ops
  /// with sharded factors.
  LogicalResult runOnBlock(Block &block, const Mesh &mesh,
                           const FactorSizes *sizes, bool &changed) {
    auto ops = block.getOps<ShardingRuleOpInterface>();
    for (ShardingRuleOpInterface op : llvm::make_early_inc_range(ops)) {
      ShardingRule rule = op.getShardingRule();
      if (llvm::none_of(rule.factors, [](const Factor &factor) {
            return factor.kind == FactorKind::Decomposed;
          }))
        continue;
      llvm::SmallBitVector factors = sizes ? getPaddedFactors(op, rule, *sizes)
                                           : getShardedFactors(op, rule, mesh);
      if (factors.none())
        continue;
      if (failed(decomposeOp(op, factors)))
        return failure();
      changed = true;
    }
    return success();
  }
};
} // namespace
