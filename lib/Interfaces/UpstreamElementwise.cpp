//===- UpstreamElementwise.cpp - Rules of arith and math ops --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise ops by trait: every dimension is a parallel factor. What differs
// is linearity, one tag an op.
//
//===----------------------------------------------------------------------===//

#include "UpstreamModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tessera;

namespace {

/// How an elementwise op acts on partial operands.
enum class Linearity {
  None,
  /// Sum if all operands are partial; max or min if one operand is (a constant
  /// added to every candidate).
  Add,
  /// Sum if all operands are partial.
  Subtract,
  /// Sum if exactly one operand is partial.
  Multiply,
  /// Sum if only the first operand is partial.
  Divide,
  /// Unary; sum, max and min.
  Widen,
  /// Unary; sum.
  Negate,
  /// Unary and increasing: max and min.
  Monotone,
  /// Max, whichever operands are partial.
  Max,
  /// Min, whichever operands are partial.
  Min,
};

bool commutes(Linearity linearity, ReductionKind kind,
              const llvm::SmallBitVector &partial) {
  bool sum = kind == ReductionKind::Sum;
  switch (linearity) {
  case Linearity::None:
    return false;
  case Linearity::Add:
    return sum ? partial.all() : partial.count() == 1;
  case Linearity::Subtract:
    return sum && partial.all();
  case Linearity::Multiply:
    return sum && partial.count() == 1;
  case Linearity::Divide:
    return sum && partial.count() == 1 && partial.test(0);
  case Linearity::Widen:
    return true;
  case Linearity::Negate:
    return sum;
  case Linearity::Monotone:
    return !sum;
  case Linearity::Max:
    return kind == ReductionKind::Max;
  case Linearity::Min:
    return kind == ReductionKind::Min;
  }
  return false;
}

template <typename Op, Linearity linearity>
struct ElementwiseModel
    : ShardingRuleOpInterface::ExternalModel<ElementwiseModel<Op, linearity>,
                                             Op> {
  ShardingRule getShardingRule(Operation *op) const {
    return getElementwiseRule(op);
  }
  bool commutesWithReduction(Operation *op, ReductionKind kind,
                             const llvm::SmallBitVector &partial) const {
    return commutes(linearity, kind, partial);
  }
};

/// `dense` with zeros behind its elements up to `type`'s shape; null if that is
/// smaller in some dimension.
DenseElementsAttr padWithZeros(DenseElementsAttr dense, RankedTensorType type) {
  ArrayRef<int64_t> from = dense.getType().getShape(), to = type.getShape();
  if (llvm::any_of(llvm::zip_equal(from, to), [](auto sizes) {
        return std::get<0>(sizes) > std::get<1>(sizes);
      }))
    return {};
  Attribute zero =
      Builder(type.getContext()).getZeroAttr(type.getElementType());
  SmallVector<Attribute> elements(type.getNumElements(), zero);
  SmallVector<int64_t> index(from.size(), 0);
  for (Attribute element : dense.getValues<Attribute>()) {
    int64_t position = 0;
    for (auto [i, size] : llvm::zip_equal(index, to))
      position = position * size + i;
    elements[position] = element;
    // The next index, the last dimension fastest.
    for (size_t d = index.size(); d-- > 0; index[d] = 0)
      if (++index[d] < from[d])
        break;
  }
  return DenseElementsAttr::get(type, elements);
}

/// A splat constant takes any shape; another one a larger one, padded with
/// zeros.
struct ConstantModel
    : ShardingRuleOpInterface::ExternalModel<ConstantModel, arith::ConstantOp> {
  ShardingRule getShardingRule(Operation *op) const {
    if (isa<RankedTensorType>(op->getResult(0).getType()))
      return getElementwiseRule(op);
    ShardingRule rule;
    rule.results.resize(1);
    return rule;
  }
  FailureOr<Operation *> cloneWithShapes(Operation *op, OpBuilder &builder,
                                         ValueRange operands,
                                         TypeRange resultTypes) const {
    auto constant = cast<arith::ConstantOp>(op);
    if (constant.getType() == resultTypes[0])
      return builder.clone(*op);
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense)
      return failure();
    auto type = cast<RankedTensorType>(resultTypes[0]);
    DenseElementsAttr value =
        dense.isSplat() ? dense.resizeSplat(type) : padWithZeros(dense, type);
    if (!value)
      return failure();
    auto clone = cast<arith::ConstantOp>(builder.clone(*op));
    clone.setValueAttr(value);
    clone.getResult().setType(type);
    return clone.getOperation();
  }
};

template <Linearity linearity, typename... Ops>
void attach(MLIRContext *context) {
  (Ops::template attachInterface<ElementwiseModel<Ops, linearity>>(*context),
   ...);
}

} // namespace

void tessera::registerElementwiseModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    ConstantOp::attachInterface<ConstantModel>(*context);
    attach<Linearity::Add, AddFOp, AddIOp>(context);
    attach<Linearity::Subtract, SubFOp, SubIOp>(context);
    attach<Linearity::Multiply, MulFOp, MulIOp>(context);
    attach<Linearity::Divide, DivFOp>(context);
    attach<Linearity::Widen, ExtFOp, ExtSIOp, ExtUIOp>(context);
    attach<Linearity::Negate, NegFOp>(context);
    attach<Linearity::Monotone, TruncFOp, SIToFPOp, UIToFPOp>(context);
    attach<Linearity::Max, MaximumFOp, MaxNumFOp, MaxSIOp, MaxUIOp>(context);
    attach<Linearity::Min, MinimumFOp, MinNumFOp, MinSIOp, MinUIOp>(context);
    attach<Linearity::None, AndIOp, OrIOp, XOrIOp, DivSIOp, DivUIOp, RemSIOp,
           RemUIOp, RemFOp, ShLIOp, ShRSIOp, ShRUIOp, CmpFOp, CmpIOp, SelectOp,
           FPToSIOp, FPToUIOp, TruncIOp, IndexCastOp, IndexCastUIOp, BitcastOp>(
        context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    attach<Linearity::Monotone, ExpOp, Exp2Op, ExpM1Op, LogOp, Log2Op, Log10Op,
           Log1pOp, SqrtOp, TanhOp, ErfOp, CbrtOp, AtanOp, SinhOp, FloorOp,
           CeilOp, RoundOp, RoundEvenOp, TruncOp>(context);
    attach<Linearity::None, AbsFOp, AbsIOp, RsqrtOp, SinOp, CosOp, TanOp,
           CoshOp, Atan2Op, PowFOp, IPowIOp, FPowIOp, FmaOp, CopySignOp,
           IsNaNOp, IsInfOp, IsFiniteOp>(context);
  });
}
