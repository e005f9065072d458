//===- UpstreamPad.cpp - Rules of tensor.pad, generate, linalg.softmax ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpstreamPad.h"
#include "UpstreamModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Interfaces/PaddingOpInterface.h"

using namespace mlir;
using namespace tessera;

namespace {

template <typename Model, typename Op>
using Base = ShardingRuleOpInterface::ExternalModel<Model, Op>;

/// Makes the position in the region's argument `dim` count from `offset`.
void offsetArgument(Region &region, unsigned dim, Value offset) {
  BlockArgument position = region.front().getArgument(dim);
  OpBuilder builder = OpBuilder::atBlockBegin(&region.front());
  Value global =
      arith::AddIOp::create(builder, position.getLoc(), position, offset);
  position.replaceAllUsesExcept(global, global.getDefiningOp());
}

/// Dimensions without padding pass through. Padded dimensions are replicated.
struct PadModel : Base<PadModel, tensor::PadOp> {
  ShardingRule getShardingRule(Operation *operation) const {
    auto op = cast<tensor::PadOp>(operation);
    ShardingRule rule;
    TensorFactors source, result;
    for (int64_t dim = 0, e = op.getResultType().getRank(); dim < e; ++dim) {
      int64_t size = op.getResultType().getDimSize(dim);
      if (op.getStaticLow()[dim] != 0 || op.getStaticHigh()[dim] != 0) {
        source.push_back({rule.addFactor(op.getSourceType().getDimSize(dim),
                                         FactorKind::Replicated)});
        result.push_back({rule.addFactor(size, FactorKind::Replicated)});
        continue;
      }
      unsigned factor = rule.addFactor(size);
      rule.factors[factor].positional =
          !op.getRegion().getArgument(dim).use_empty();
      source.push_back({factor});
      result.push_back({factor});
    }
    rule.operands.resize(op->getNumOperands());
    rule.operands.front() = source;
    rule.results.push_back(result);
    return rule;
  }
  /// The padding of a sum must be 0. A maximum of equal values is that value.
  bool commutesWithReduction(Operation *operation, ReductionKind kind,
                             const llvm::SmallBitVector &partial) const {
    Value value = cast<tensor::PadOp>(operation)
                      .getRegion()
                      .front()
                      .getTerminator()
                      ->getOperand(0);
    return partial.test(0) && (kind != ReductionKind::Sum ||
                               matchPattern(value, m_AnyZeroFloat()) ||
                               matchPattern(value, m_Zero()));
  }
  void setPositionOffset(Operation *op, unsigned factor, Value offset) const {
    ShardingRule rule = getShardingRule(op);
    for (auto [dim, factors] : llvm::enumerate(rule.results[0]))
      if (factors.front() == factor)
        offsetArgument(op->getRegion(0), dim, offset);
  }
};

/// Each element is computed from its position.
struct GenerateModel : Base<GenerateModel, tensor::GenerateOp> {
  ShardingRule getShardingRule(Operation *operation) const {
    auto op = cast<tensor::GenerateOp>(operation);
    ShardingRule rule = getElementwiseRule(op);
    for (auto [factor, position] :
         llvm::zip(rule.factors, op.getBody().getArguments()))
      factor.positional = !position.use_empty();
    return rule;
  }
  void setPositionOffset(Operation *op, unsigned factor, Value offset) const {
    offsetArgument(op->getRegion(0), factor, offset);
  }
};

/// The region must be defined at positions after the last one, too.
struct RegionPadding
    : PaddingOpInterface::ExternalModel<RegionPadding, tensor::PadOp> {
  bool canPad(Operation *op) const {
    for (Operation &inner : op->getRegion(0).front())
      if (auto iface = dyn_cast<PaddingOpInterface>(inner))
        for (auto [i, value] : llvm::enumerate(inner.getOperands()))
          if (iface.getSafePadding(i) && !matchPattern(value, m_Constant()))
            return false;
    return true;
  }
};

/// A softmax that is sharded or padded along the dimension that it sums over
/// decomposes into a maximum, a sum, and elementwise ops.
struct SoftmaxModel : Base<SoftmaxModel, linalg::SoftmaxOp> {
  ShardingRule getShardingRule(Operation *operation) const {
    auto op = cast<linalg::SoftmaxOp>(operation);
    ShardingRule rule;
    TensorFactors dims;
    for (auto [dim, size] :
         llvm::enumerate(op.getInputOperandType().getShape()))
      dims.push_back({rule.addFactor(size, dim == op.getDimension()
                                               ? FactorKind::Decomposed
                                               : FactorKind::Parallel)});
    rule.operands.assign(operation->getNumOperands(), dims);
    rule.results.assign(operation->getNumResults(), dims);
    return rule;
  }
  /// Does not use linalg's own decomposition: its maximum ignores NaN and
  /// starts from a finite number.
  FailureOr<SmallVector<Value>> decompose(Operation *operation,
                                          OpBuilder &builder,
                                          const llvm::SmallBitVector &) const {
    auto op = cast<linalg::SoftmaxOp>(operation);
    auto type = dyn_cast<RankedTensorType>(op.getInputOperandType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return failure();
    Location loc = op.getLoc();
    int64_t dim = op.getDimension();
    SmallVector<int64_t> rows(type.getShape());
    rows.erase(rows.begin() + dim);
    auto reduce = [&](Value x, ReductionKind kind) -> Value {
      auto made = RankedTensorType::get(rows, type.getElementType());
      auto neutral = DenseElementsAttr::get(
          made, getNeutralElement(type.getElementType(), kind));
      Value init = arith::ConstantOp::create(builder, loc, neutral);
      auto combine = [&](OpBuilder &b, Location at, ValueRange values) {
        Value both =
            kind == ReductionKind::Sum
                ? arith::AddFOp::create(b, at, values[0], values[1]).getResult()
                : arith::MaximumFOp::create(b, at, values[0], values[1])
                      .getResult();
        linalg::YieldOp::create(b, at, both);
      };
      return linalg::ReduceOp::create(builder, loc, ValueRange(x),
                                      ValueRange(init), ArrayRef<int64_t>(dim),
                                      combine)
          ->getResult(0);
    };
    auto along = [&](Value rowValue) -> Value {
      Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            type.getElementType());
      return linalg::BroadcastOp::create(builder, loc, rowValue, empty,
                                         ArrayRef<int64_t>(dim))
          ->getResult(0);
    };
    Value x = op.getInput();
    Value shifted = arith::SubFOp::create(builder, loc, x,
                                          along(reduce(x, ReductionKind::Max)));
    Value exp = math::ExpOp::create(builder, loc, shifted);
    Value sum = along(reduce(exp, ReductionKind::Sum));
    return SmallVector<Value>{arith::DivFOp::create(builder, loc, exp, sum)};
  }
};

} // namespace

void tessera::registerPadModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::PadOp::attachInterface<PadModel>(*context);
    tensor::GenerateOp::attachInterface<GenerateModel>(*context);
    attachToAll<RegionPadding, tensor::PadOp, tensor::GenerateOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    linalg::SoftmaxOp::attachInterface<SoftmaxModel>(*context);
  });
}
