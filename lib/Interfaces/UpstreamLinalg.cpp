//===- UpstreamLinalg.cpp - Rules of linalg ops ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives one factor per loop from the indexing maps and iterator types, and
// the kind of a reduction from its combining op in the body. No op is known by
// name.
//
//===----------------------------------------------------------------------===//

#include "UpstreamModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "tessera/Interfaces/LinalgBodies.h"
#include "tessera/Interfaces/NeutralElements.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The rule of every structured op.
struct LinalgRules : SharedShardingModel<LinalgRules, linalg::GenericOp> {
  ShardingRule getShardingRule(Operation *operation) const {
    auto op = cast<linalg::LinalgOp>(operation);
    ShardingRule rule;
    std::optional<ReductionKind> kind = getReductionKind(op);
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray())) {
      FactorKind factorKind = type == utils::IteratorType::parallel
                                  ? FactorKind::Parallel
                              : kind ? FactorKind::Reduction
                                     : FactorKind::Replicated;
      rule.addFactor(sizes[loop], factorKind,
                     kind.value_or(ReductionKind::Sum));
    }
    for (OpOperand &operand : op->getOpOperands())
      rule.operands.push_back(
          getDims(rule, op.getMatchingIndexingMap(&operand)));
    for (OpOperand &init : op.getDpsInitsMutable())
      if (isa<RankedTensorType>(init.get().getType()))
        rule.results.push_back(rule.operands[init.getOperandNumber()]);
    op->walk([&](linalg::IndexOp index) {
      rule.factors[index.getDim()].positional = true;
    });
    for (auto [loop, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Reduction && !masks(op) &&
          !isNeutralOnZeros(operation, rule, loop))
        factor.kind = FactorKind::Decomposed;
    return rule;
  }

  /// Propagates partial values through the body. A neutral init counts as
  /// partial. From the second step of a reduction on, the running values are
  /// partial, as the first step yielded them.
  bool commutesWithReduction(Operation *operation, ReductionKind kind,
                             const llvm::SmallBitVector &partial) const {
    auto op = cast<linalg::LinalgOp>(operation);
    llvm::DenseSet<Value> values;
    for (OpOperand &operand : op->getOpOperands())
      if (partial.test(operand.getOperandNumber()) ||
          (op.isDpsInit(&operand) && isNeutral(operand.get(), kind)))
        values.insert(op.getMatchingBlockArgument(&operand));
    if (!yieldsPartial(op, kind, values))
      return false;
    for (BlockArgument running : op.getRegionOutputArgs())
      values.insert(running);
    return op.getNumReductionLoops() == 0 || yieldsPartial(op, kind, values);
  }

  /// Decomposes only ops whose own reduction is known but not neutral on zero
  /// padding: as a linalg.generic, the op has a body that can be masked.
  FailureOr<SmallVector<Value>> decompose(Operation *operation,
                                          OpBuilder &builder,
                                          const llvm::SmallBitVector &) const {
    IRRewriter rewriter(builder);
    Operation *copy = rewriter.clone(*operation);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(copy));
    if (failed(generic))
      return failure();
    return SmallVector<Value>((*generic)->getResults());
  }

  /// If the body can be changed, replaces values beyond the true size by the
  /// reduction's neutral element before they are combined.
  bool absorbPadding(Operation *operation, unsigned factor,
                     int64_t size) const {
    auto op = cast<linalg::LinalgOp>(operation);
    std::optional<ReductionKind> kind = getReductionKind(op);
    if (!masks(op) || !kind ||
        op.getIteratorTypesArray()[factor] != utils::IteratorType::reduction)
      return false;
    for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
      OpOperand &added = getAdded(op, i);
      OpBuilder builder(added.getOwner());
      Location loc = added.getOwner()->getLoc();
      Value index = linalg::IndexOp::create(builder, loc, factor);
      Value end = arith::ConstantIndexOp::create(builder, loc, size);
      Value isTrue = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt, index, end);
      Value other = arith::ConstantOp::create(
          builder, loc, getNeutralElement(added.get().getType(), *kind));
      added.set(
          arith::SelectOp::create(builder, loc, isTrue, added.get(), other));
    }
    return true;
  }

  void setPositionOffset(Operation *operation, unsigned factor,
                         Value offset) const {
    SmallVector<linalg::IndexOp> indices;
    operation->walk([&](linalg::IndexOp index) {
      if (index.getDim() == factor)
        indices.push_back(index);
    });
    for (linalg::IndexOp index : indices) {
      OpBuilder builder(index->getContext());
      builder.setInsertionPointAfter(index);
      Value global =
          arith::AddIOp::create(builder, index.getLoc(), index, offset);
      index.getResult().replaceAllUsesExcept(global, global.getDefiningOp());
    }
  }

private:
  /// True for an op whose body may be changed.
  static bool masks(linalg::LinalgOp op) {
    return isa<linalg::GenericOp, linalg::ReduceOp>(op);
  }

  /// True if zeros in the operands that have `factor` add nothing to a sum.
  static bool isNeutralOnZeros(Operation *op, const ShardingRule &rule,
                               unsigned factor) {
    llvm::SmallBitVector having(op->getNumOperands());
    for (auto [i, dims] : llvm::enumerate(rule.operands))
      having[i] = hasFactor(dims, factor);
    return rule.factors[factor].reduction == ReductionKind::Sum &&
           keepsZeros(op, having);
  }

  /// Returns the dimensions of one operand. A loop with another use than as a
  /// plain dimension (a window, a diagonal) becomes replicated.
  static TensorFactors getDims(ShardingRule &rule, AffineMap map) {
    TensorFactors dims;
    llvm::SmallDenseSet<unsigned> seen;
    for (AffineExpr expr : map.getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && seen.insert(dim.getPosition()).second) {
        dims.push_back({dim.getPosition()});
        continue;
      }
      expr.walk([&](AffineExpr e) {
        if (auto dim = dyn_cast<AffineDimExpr>(e))
          rule.factors[dim.getPosition()].kind = FactorKind::Replicated;
      });
      dims.emplace_back();
    }
    return dims;
  }
};

} // namespace

void tessera::registerLinalgModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachToAll<LinalgRules,
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
                >(context);
  });
}
