//===- UpstreamLinalg.cpp - Rules of linalg ops ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One factor a loop, from the indexing maps and iterator types; the kind of a
// reduction from the op that combines it in the body. No op is known by name.
//
//===----------------------------------------------------------------------===//

#include "UpstreamModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The reduction that `combiner` computes over its running value, if it is
/// known to be associative and commutative.
std::optional<ReductionKind> getReductionKind(Operation *combiner) {
  bool isBool = combiner->getResult(0).getType().isInteger(1);
  if (isa<arith::AddFOp>(combiner) || (isa<arith::AddIOp>(combiner) && !isBool))
    return ReductionKind::Sum;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(combiner) ||
      (isa<arith::OrIOp>(combiner) && isBool))
    return ReductionKind::Max;
  if (isa<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(combiner) ||
      (isa<arith::AndIOp>(combiner) && isBool))
    return ReductionKind::Min;
  return std::nullopt;
}

/// The op that combines the running value of output `index` with a new one:
/// the yielded op, one of whose operands is the output's block argument, which
/// nothing else uses.
Operation *getCombiner(linalg::LinalgOp op, unsigned index) {
  Block *body = op.getBlock();
  BlockArgument running = body->getArgument(op.getNumDpsInputs() + index);
  Operation *combiner =
      body->getTerminator()->getOperand(index).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 || !running.hasOneUse() ||
      *running.user_begin() != combiner)
    return nullptr;
  return combiner;
}

/// The kind that all outputs reduce by; none if one of them is no known
/// reduction.
std::optional<ReductionKind> getReductionKind(linalg::LinalgOp op) {
  std::optional<ReductionKind> kind;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    Operation *combiner = getCombiner(op, i);
    std::optional<ReductionKind> found =
        combiner ? getReductionKind(combiner) : std::nullopt;
    if (!found || (kind && *kind != *found))
      return std::nullopt;
    kind = found;
  }
  return kind;
}

/// True if `value` is filled with zeros.
bool isZeroFill(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  Value scalar = fill ? fill.getInputs()[0] : value;
  return matchPattern(scalar, m_AnyZeroFloat()) ||
         matchPattern(scalar, m_Zero());
}

template <typename Op>
struct LinalgModel
    : ShardingRuleOpInterface::ExternalModel<LinalgModel<Op>, Op> {
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
    return rule;
  }

  /// A partial value runs through the body; an init of zeros is as good as a
  /// partial one.
  bool commutesWithReduction(Operation *operation, ReductionKind kind,
                             const llvm::SmallBitVector &partial) const {
    auto op = cast<linalg::LinalgOp>(operation);
    llvm::DenseSet<Value> partialValues;
    for (OpOperand &operand : op->getOpOperands()) {
      bool zeroInit = kind == ReductionKind::Sum && op.isDpsInit(&operand) &&
                      isZeroFill(operand.get());
      if (partial.test(operand.getOperandNumber()) || zeroInit)
        partialValues.insert(op.getMatchingBlockArgument(&operand));
    }
    for (Operation &inner : op.getBlock()->without_terminator()) {
      llvm::SmallBitVector bits(inner.getNumOperands());
      for (auto [i, value] : llvm::enumerate(inner.getOperands()))
        if (partialValues.contains(value))
          bits.set(i);
      if (bits.none())
        continue;
      auto iface = dyn_cast<ShardingRuleOpInterface>(inner);
      if (!iface || !iface.commutesWithReduction(kind, bits))
        return false;
      partialValues.insert(inner.result_begin(), inner.result_end());
    }
    return llvm::all_of(
        op.getBlock()->getTerminator()->getOperands(),
        [&](Value value) { return partialValues.contains(value); });
  }

  /// Where the body can be changed: what comes from beyond the true size is
  /// replaced by the reduction's neutral element before it is combined. Named
  /// products need none of it: a zero in an operand adds nothing.
  bool absorbPadding(Operation *operation, unsigned factor,
                     int64_t size) const {
    if (!isa<linalg::GenericOp, linalg::ReduceOp>(operation))
      return false;
    auto op = cast<linalg::LinalgOp>(operation);
    if (op.getIteratorTypesArray()[factor] != utils::IteratorType::reduction)
      return false;
    for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
      Operation *combiner = getCombiner(op, i);
      BlockArgument running =
          op.getBlock()->getArgument(op.getNumDpsInputs() + i);
      OpOperand &added =
          combiner->getOpOperand(combiner->getOperand(0) == running ? 1 : 0);
      OpBuilder builder(combiner);
      Location loc = combiner->getLoc();
      Value index = linalg::IndexOp::create(builder, loc, factor);
      Value end = arith::ConstantIndexOp::create(builder, loc, size);
      Value isTrue = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt, index, end);
      TypedAttr neutral =
          getNeutralElement(added.get().getType(), *getReductionKind(combiner));
      Value other = arith::ConstantOp::create(builder, loc, neutral);
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
  /// Dimensions of one operand. A loop that is used other than as a plain
  /// dimension (a window, a diagonal) becomes replicated.
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

template <typename... Ops> void attach(MLIRContext *context) {
  (Ops::template attachInterface<LinalgModel<Ops>>(*context), ...);
}

} // namespace

void tessera::registerLinalgModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attach<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(context);
  });
}
