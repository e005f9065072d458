//===- UpstreamElementwise.cpp - Rules of arith and math ops --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise ops by trait: every dimension is a parallel factor. They differ
// in linearity, given by a tag per op.
//
//===----------------------------------------------------------------------===//

#include "UpstreamModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The behavior of an elementwise op on partial operands.
enum class Linearity {
  None,
  /// Sum, if all operands are partial.
  Additive,
  /// Sum, if exactly one operand is partial.
  Multilinear,
  /// Sum, if only the first operand is partial and the second is a nonzero
  /// constant: 0 / 0 is NaN, while the sum divided by 0 is infinite.
  Quotient,
  /// Unary; sum, max and min.
  Widening,
  /// Unary and increasing on all numbers, infinities included: max and min.
  /// Integers are signed.
  Monotone,
  /// The same, but integers are unsigned.
  UnsignedMonotone,
  /// The op's own reduction (getExtremum), whichever operands are partial.
  Extremum,
};

/// True if `value` is a constant, or a splat of one, that is not 0.
bool isNonZeroConstant(Value value) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(attr))
    attr = splat.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(attr);
  return number && number.getValue().isNonZero();
}

/// True if the op keeps the order of its operand's elements as signed or
/// unsigned numbers. A float type without infinities has only NaN beyond its
/// range, which is no maximum.
bool keepsOrder(Operation *op, bool isSigned) {
  auto elementOf = [](Value value) {
    return getElementTypeOrSelf(value.getType());
  };
  Type from = elementOf(op->getOperand(0)), to = elementOf(op->getResult(0));
  if (auto type = dyn_cast<FloatType>(to);
      type && !APFloat::semanticsHasInf(type.getFloatSemantics()))
    return false;
  return isa<FloatType>(from) || from.isInteger(1) != isSigned;
}

bool commutes(Operation *op, Linearity linearity, ReductionKind kind,
              const llvm::SmallBitVector &partial) {
  bool sum = kind == ReductionKind::Sum;
  switch (linearity) {
  case Linearity::None:
    return false;
  case Linearity::Additive:
    return sum && partial.all();
  case Linearity::Multilinear:
    return sum && partial.count() == 1;
  case Linearity::Quotient:
    return sum && partial.count() == 1 && partial.test(0) &&
           isNonZeroConstant(op->getOperand(1));
  case Linearity::Widening:
    return true;
  case Linearity::Monotone:
    return !sum && keepsOrder(op, /*isSigned=*/true);
  case Linearity::UnsignedMonotone:
    return !sum && keepsOrder(op, /*isSigned=*/false);
  case Linearity::Extremum:
    return kind == getExtremum(op);
  }
  return false;
}

template <Linearity linearity>
struct ElementwiseModel
    : SharedShardingModel<ElementwiseModel<linearity>, arith::AddFOp> {
  ShardingRule getShardingRule(Operation *op) const {
    return getElementwiseRule(op);
  }
  bool commutesWithReduction(Operation *op, ReductionKind kind,
                             const llvm::SmallBitVector &partial) const {
    return commutes(op, linearity, kind, partial);
  }
};

/// Pads `dense` with zeros up to `type`'s shape; null if that is smaller in
/// some dimension.
DenseElementsAttr padWithZeros(DenseElementsAttr dense, RankedTensorType type) {
  ArrayRef<int64_t> from = dense.getType().getShape(), to = type.getShape();
  if (llvm::any_of(llvm::zip_equal(from, to), [](auto sizes) {
        return std::get<0>(sizes) > std::get<1>(sizes);
      }))
    return {};
  Attribute zero =
      OpBuilder(type.getContext()).getZeroAttr(type.getElementType());
  SmallVector<Attribute> elements(type.getNumElements(), zero);
  SmallVector<int64_t> index(from.size(), 0);
  for (Attribute element : dense.getValues<Attribute>()) {
    int64_t position = 0;
    for (auto [i, size] : llvm::zip_equal(index, to))
      position = position * size + i;
    elements[position] = element;
    // Advance the index, the last dimension fastest.
    for (size_t d = index.size(); d-- > 0; index[d] = 0)
      if (++index[d] < from[d])
        break;
  }
  return DenseElementsAttr::get(type, elements);
}

/// A splat constant can take any shape. Other constants can take a larger one,
/// padded with zeros.
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
  attachToAll<ElementwiseModel<linearity>, Ops...>(context);
}

} // namespace

std::optional<ReductionKind> tessera::getExtremum(Operation *op) {
  if (isa<arith::MaximumFOp>(op))
    return ReductionKind::Max;
  if (isa<arith::MinimumFOp>(op))
    return ReductionKind::Min;
  // True is -1 as a signed number.
  bool isBool = getElementTypeOrSelf(op->getResult(0).getType()).isInteger(1);
  if (isBool ? isa<arith::MinSIOp, arith::MaxUIOp, arith::OrIOp>(op)
             : isa<arith::MaxSIOp>(op))
    return ReductionKind::Max;
  if (isBool ? isa<arith::MaxSIOp, arith::MinUIOp, arith::AndIOp>(op)
             : isa<arith::MinSIOp>(op))
    return ReductionKind::Min;
  return std::nullopt;
}

static void registerArith(MLIRContext *context, arith::ArithDialect *) {
  using namespace arith;
  ConstantOp::attachInterface<ConstantModel>(*context);
  attach<Linearity::Additive, AddFOp, AddIOp, SubFOp, SubIOp, NegFOp>(context);
  attach<Linearity::Multilinear, MulFOp, MulIOp>(context);
  attach<Linearity::Quotient, DivFOp>(context);
  attach<Linearity::Widening, ExtFOp>(context);
  attach<Linearity::Monotone, TruncFOp, SIToFPOp, ExtSIOp>(context);
  attach<Linearity::UnsignedMonotone, UIToFPOp, ExtUIOp>(context);
  attach<Linearity::Extremum, MaximumFOp, MinimumFOp, MaxSIOp, MaxUIOp, MinSIOp,
         MinUIOp, AndIOp, OrIOp>(context);
  // These two ignore NaN, but a reduction of partial values does not.
  attach<Linearity::None, MaxNumFOp, MinNumFOp>(context);
  attach<Linearity::None, XOrIOp, DivSIOp, DivUIOp, RemSIOp, RemUIOp, RemFOp,
         ShLIOp, ShRSIOp, ShRUIOp, CmpFOp, CmpIOp, SelectOp, FPToSIOp, FPToUIOp,
         TruncIOp, IndexCastOp, IndexCastUIOp, BitcastOp>(context);
}

static void registerMath(MLIRContext *context, math::MathDialect *) {
  using namespace math;
  attach<Linearity::Monotone, ExpOp, Exp2Op, ExpM1Op, TanhOp, ErfOp, CbrtOp,
         AtanOp, SinhOp, FloorOp, CeilOp, RoundOp, RoundEvenOp, TruncOp>(
      context);
  // Increasing, but not defined on all numbers: a device without elements has
  // minus infinity as its maximum.
  attach<Linearity::None, LogOp, Log2Op, Log10Op, Log1pOp, SqrtOp>(context);
  attach<Linearity::None, AbsFOp, AbsIOp, RsqrtOp, SinOp, CosOp, TanOp, CoshOp,
         Atan2Op, PowFOp, IPowIOp, FPowIOp, FmaOp, CopySignOp, IsNaNOp, IsInfOp,
         IsFiniteOp>(context);
}

void tessera::registerElementwiseModels(DialectRegistry &registry) {
  registry.addExtension(registerArith);
  registry.addExtension(registerMath);
}
