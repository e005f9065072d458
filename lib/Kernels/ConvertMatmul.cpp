//===- ConvertMatmul.cpp - Matmuls to library calls -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertNN.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Codegen/GenericBuilder.h"

using namespace mlir;
using namespace tessera;
using Letters = Einsum::Letters;

namespace {

/// Copies `value` from the order of dimensions `from` to the order `to`: in the
/// library, or in a kernel where the library has too few dimensions.
Value permute(GenericBuilder &b, Value value, ArrayRef<unsigned> from,
              ArrayRef<unsigned> to) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> old = rt::getRowMajorStrides(type.getShape());
  SmallVector<int64_t> shape, strides;
  SmallVector<unsigned> loops(to.size());
  for (auto [loop, letter] : llvm::enumerate(to)) {
    size_t dim = llvm::find(from, letter) - from.begin();
    shape.push_back(type.getDimSize(dim));
    strides.push_back(old[dim]);
    loops[dim] = loop;
  }
  if (shape.size() > TESSERA_RT_MAX_DIMS)
    return b.map(shape, type.getElementType(),
                 {{value, b.project(shape.size(), loops)}},
                 [](ValueRange v) { return v[0]; });
  return rt::CopyOp::create(
      b, RankedTensorType::get(shape, type.getElementType()), value, strides,
      /*base=*/0, Value(), IntegerAttr());
}

/// True for types that the runtime multiplies.
bool isMatmulType(Type operand, Type result) {
  bool isHalf = operand.isBF16() || operand.isF16();
  return (isHalf || operand.isF32() || operand.isF64()) &&
         (operand == result || (isHalf && result.isF32()));
}

} // namespace

PreparedMatmul tessera::prepareMatmul(GenericBuilder &b, const Einsum &einsum,
                                      Value lhs, Value rhs,
                                      RankedTensorType type) {
  MatmulPlan plan = planMatmul(einsum);
  Type operand = cast<RankedTensorType>(lhs.getType()).getElementType();
  if (plan.copied)
    remark::missed(
        b.getLoc(),
        remark::RemarkOpts::name("MatmulNeedsCopy").category("conversion"))
        << remark::reason("dimensions of a group are not contiguous")
        << remark::metric("CopiedBytes",
                          plan.copied * rt::getElementBytes(operand));
  if (plan.lhsOrder)
    lhs = permute(b, lhs, einsum.lhs, *plan.lhsOrder);
  if (plan.rhsOrder)
    rhs = permute(b, rhs, einsum.rhs, *plan.rhsOrder);
  if (plan.swapped)
    std::swap(lhs, rhs);
  if (plan.resultOrder) {
    SmallVector<int64_t> shape;
    for (unsigned letter : *plan.resultOrder)
      shape.push_back(einsum.sizes[letter]);
    type = RankedTensorType::get(shape, type.getElementType());
  }
  return {plan, lhs, rhs, type};
}

Value tessera::finishMatmul(GenericBuilder &b, const Einsum &einsum,
                            const PreparedMatmul &prepared, Value matmul) {
  if (!prepared.plan.resultOrder)
    return matmul;
  return permute(b, matmul, *prepared.plan.resultOrder, einsum.result);
}

Value tessera::buildMatmul(GenericBuilder &b, const Einsum &einsum, Value lhs,
                           Value rhs, RankedTensorType type) {
  // No library multiplies matrices without elements.
  if (llvm::is_contained(einsum.sizes, 0))
    return buildContraction(b, einsum, lhs, rhs, type);
  Type operand = cast<RankedTensorType>(lhs.getType()).getElementType();
  Type element = type.getElementType();
  if (!isMatmulType(operand, element)) {
    // Other type pairs, such as f32 to f64, multiply in the wide type.
    Type wide = getWideType(element);
    Value matmul =
        buildMatmul(b, einsum, b.castTensor(lhs, wide), b.castTensor(rhs, wide),
                    RankedTensorType::get(type.getShape(), wide));
    return b.castTensor(matmul, element);
  }
  PreparedMatmul prepared = prepareMatmul(b, einsum, lhs, rhs, type);
  const MatmulPlan &plan = prepared.plan;
  auto layout = rt::MatmulLayoutAttr::get(
      b.getContext(), plan.batch, plan.m, plan.n, plan.k, plan.lda, plan.ldb,
      plan.ldc, plan.strideA, plan.strideB, plan.strideC, plan.transA,
      plan.transB);
  Value matmul = rt::MatmulOp::create(b, prepared.type, prepared.a, prepared.b,
                                      /*init=*/Value(), layout);
  return finishMatmul(b, einsum, prepared, matmul);
}

bool tessera::hasNoReuse(const Einsum &einsum) {
  if (llvm::is_contained(einsum.sizes, 0))
    return true;
  MatmulPlan plan = planMatmul(einsum);
  return plan.m * plan.n == 1;
}

namespace {

struct ConvertEinsum : OpRewritePattern<nn::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EinsumOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getScales().empty())
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    auto lhs = cast<RankedTensorType>(op.getLhs().getType());
    Einsum einsum = getEinsum(op);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    if (!isa<FloatType>(lhs.getElementType()) || hasNoReuse(einsum)) {
      rewriter.replaceOp(
          op, buildContraction(b, einsum, op.getLhs(), op.getRhs(), type));
      return success();
    }
    rewriter.replaceOp(op,
                       buildMatmul(b, einsum, op.getLhs(), op.getRhs(), type));
    return success();
  }
};

/// Converts linalg.matmul, linalg.batch_matmul and generics that are matmuls.
struct ConvertContraction
    : OpInterfaceRewritePattern<linalg::ContractionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::ContractionOpInterface contraction,
                                PatternRewriter &rewriter) const override {
    auto op = cast<linalg::LinalgOp>(contraction.getOperation());
    auto type = dyn_cast_or_null<RankedTensorType>(
        op->getNumResults() == 1 ? op->getResult(0).getType() : Type());
    if (!type || !isa<FloatType>(type.getElementType()))
      return failure();
    return convert(op, type, rewriter);
  }

  static LogicalResult convert(linalg::LinalgOp op, RankedTensorType type,
                               PatternRewriter &rewriter) {
    Einsum einsum;
    einsum.sizes = op.getStaticLoopRanges();
    auto fill = [&](AffineMap map, Letters &letters) {
      for (AffineExpr expr : map.getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (!dim)
          return false;
        letters.push_back(dim.getPosition());
      }
      return true;
    };
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    if (maps.size() != 3 || !fill(maps[0], einsum.lhs) ||
        !fill(maps[1], einsum.rhs) || !fill(maps[2], einsum.result) ||
        llvm::errorToBool(einsum.check()) || hasNoReuse(einsum))
      return failure();
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    Value init = op->getOperand(2);
    Type operand = cast<RankedTensorType>(lhs.getType()).getElementType();
    if (operand != cast<RankedTensorType>(rhs.getType()).getElementType() ||
        !isa<FloatType>(operand))
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    Value matmul = buildMatmul(b, einsum, lhs, rhs, type);
    if (!isZero(init)) {
      AffineMap all = b.identity(type.getRank());
      matmul = b.map(
          type.getShape(), type.getElementType(), {{matmul, all}, {init, all}},
          [&](ValueRange v) { return arith::AddFOp::create(b, v[0], v[1]); });
    }
    rewriter.replaceOp(op, matmul);
    return success();
  }

  static bool isZero(Value init) {
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      return matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
    return matchPattern(init, m_AnyZeroFloat());
  }
};

/// Converts a generic whose body is multiply and add.
struct ConvertGenericContraction : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || !linalg::isaContractionOpInterface(op))
      return failure();
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    // The body must be multiply and add, with nothing between.
    if (!type || !isa<FloatType>(type.getElementType()) ||
        op.getBody()->getOperations().size() != 3)
      return failure();
    return ConvertContraction::convert(
        cast<linalg::LinalgOp>(op.getOperation()), type, rewriter);
  }
};

} // namespace

void tessera::populateMatmulPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertEinsum, ConvertContraction, ConvertGenericContraction>(
      patterns.getContext());
}
