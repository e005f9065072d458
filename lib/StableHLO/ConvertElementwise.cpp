//===- ConvertElementwise.cpp - Arithmetic, element by element ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

//===----------------------------------------------------------------------===//
// By element type
//===----------------------------------------------------------------------===//

namespace {
/// Placeholder for an element type without an op.
struct NoOp {};
} // namespace

static LogicalResult refuseElements(OpConversion &c) {
  return c.error() << "expects elements that it has a meaning for but got "
                   << c.operandType(0);
}

/// Builds the op for the element type, which all operands must have.
template <typename FloatOp, typename IntOp, typename BoolOp,
          typename UnsignedOp = IntOp>
static LogicalResult convertByType(OpConversion &c) {
  if (failed(c.checkSameTypes()))
    return failure();
  auto build = [&](auto tag) -> LogicalResult {
    using Op = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<Op, NoOp>)
      return refuseElements(c);
    else if constexpr (Op::template hasTrait<OpTrait::OneOperand>())
      return c.yield(c.b.fold<Op>(c.operands[0]));
    else
      return c.yield(c.b.fold<Op>(c.operands[0], c.operands[1]));
  };
  struct FloatTag {
    using Type = FloatOp;
  };
  struct IntTag {
    using Type = IntOp;
  };
  struct BoolTag {
    using Type = BoolOp;
  };
  struct UnsignedTag {
    using Type = UnsignedOp;
  };
  return c.isFloat()      ? build(FloatTag())
         : c.isBool()     ? build(BoolTag())
         : c.isUnsigned() ? build(UnsignedTag())
                          : build(IntTag());
}

template <typename FloatOp> static void addUnary(HandlerTable &t, StringRef n) {
  t.add(n, 1, convertByType<FloatOp, NoOp, NoOp>);
}

//===----------------------------------------------------------------------===//
// Ops that are several
//===----------------------------------------------------------------------===//

static LogicalResult convertNegate(OpConversion &c) {
  Value x = c.operands[0];
  if (c.isFloat())
    return c.yield(c.b.fold<arith::NegFOp>(x));
  return c.yield(c.b.fold<arith::SubIOp>(c.b.splat(x, 0), x));
}

static LogicalResult convertAbs(OpConversion &c) {
  Value x = c.operands[0];
  if (c.isFloat())
    return c.yield(c.b.fold<math::AbsFOp>(x));
  if (c.isBool())
    return refuseElements(c);
  return c.yield(c.isUnsigned() ? x : c.b.fold<math::AbsIOp>(x));
}

static LogicalResult convertNot(OpConversion &c) {
  if (c.isFloat())
    return refuseElements(c);
  Value x = c.operands[0];
  return c.yield(c.b.fold<arith::XOrIOp>(x, c.b.splat(x, -1)));
}

/// Gives 1 or -1, and x itself for 0 and NaN.
static LogicalResult convertSign(OpConversion &c) {
  Value x = c.operands[0];
  auto isBeyond = [&](arith::CmpFPredicate real,
                      arith::CmpIPredicate integer) -> Value {
    Value zero = c.b.splat(x, 0);
    if (c.isFloat())
      return c.b.fold<arith::CmpFOp>(real, x, zero);
    return c.b.fold<arith::CmpIOp>(integer, x, zero);
  };
  Value above = isBeyond(arith::CmpFPredicate::OGT,
                         c.isUnsigned() ? arith::CmpIPredicate::ugt
                                        : arith::CmpIPredicate::sgt);
  Value below = isBeyond(arith::CmpFPredicate::OLT,
                         c.isUnsigned() ? arith::CmpIPredicate::ult
                                        : arith::CmpIPredicate::slt);
  Value negative = c.b.fold<arith::SelectOp>(below, c.b.splat(x, -1), x);
  return c.yield(c.b.fold<arith::SelectOp>(above, c.b.splat(x, 1), negative));
}

/// Gives e / (1 + e) for x below 0, else 1 / (1 + e), with e = exp(-|x|). It is
/// precise near 0 too. Its gradient is finite everywhere, unlike the gradient
/// of 1 / (1 + exp(-x)).
static LogicalResult convertLogistic(OpConversion &c) {
  if (!c.isFloat())
    return refuseElements(c);
  Value x = c.operands[0], one = c.b.splat(x, 1);
  Value isBelow =
      c.b.fold<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, c.b.splat(x, 0));
  Value size =
      c.b.fold<arith::SelectOp>(isBelow, x, c.b.fold<arith::NegFOp>(x));
  Value e = c.b.fold<math::ExpOp>(size);
  Value above = c.b.fold<arith::SelectOp>(isBelow, e, one);
  return c.yield(
      c.b.fold<arith::DivFOp>(above, c.b.fold<arith::AddFOp>(one, e)));
}

/// 1 - erf(x).
static LogicalResult convertErfc(OpConversion &c) {
  if (!c.isFloat())
    return refuseElements(c);
  Value x = c.operands[0];
  return c.yield(
      c.b.fold<arith::SubFOp>(c.b.splat(x, 1), c.b.fold<math::ErfOp>(x)));
}

static LogicalResult convertSquare(OpConversion &c) {
  if (!c.isFloat())
    return refuseElements(c);
  return c.yield(c.b.fold<arith::MulFOp>(c.operands[0], c.operands[0]));
}

static LogicalResult convertIsFinite(OpConversion &c) {
  if (!c.isFloat())
    return refuseElements(c);
  return c.yield(c.b.make<math::IsFiniteOp>(c.operands[0]));
}

/// Converts shifts; those by the width and more, which upstream leaves
/// undefined, give 0, or the sign of each bit.
template <typename Op> static LogicalResult convertShift(OpConversion &c) {
  if (failed(c.checkSameTypes()))
    return failure();
  if (c.isFloat() || c.isBool())
    return refuseElements(c);
  Value x = c.operands[0], distance = c.operands[1];
  int64_t width = c.operandType(0).getElementTypeBitWidth();
  Value isInside = c.b.fold<arith::CmpIOp>(arith::CmpIPredicate::ult, distance,
                                           c.b.splat(x, width));
  bool keepsSign = std::is_same_v<Op, arith::ShRSIOp>;
  Value most = c.b.splat(x, keepsSign ? width - 1 : 0);
  Value shifted =
      c.b.fold<Op>(x, c.b.fold<arith::SelectOp>(isInside, distance, most));
  if (keepsSign)
    return c.yield(shifted);
  return c.yield(c.b.fold<arith::SelectOp>(isInside, shifted, c.b.splat(x, 0)));
}

/// Gives the bits as elements of another type of their width.
static LogicalResult convertBitcast(OpConversion &c) {
  RankedTensorType from = c.operandType(0), to = c.resultType();
  if (from.getElementTypeBitWidth() != to.getElementTypeBitWidth() ||
      from.getShape() != to.getShape())
    return c.error() << "expects elements of one width but got " << from
                     << " and " << to;
  return c.yield(from == to ? c.operands[0]
                            : c.b.fold<arith::BitcastOp>(to, c.operands[0]));
}

/// Broadcasts a scalar to the shape of `like`; fails for other shapes.
static FailureOr<Value> spread(OpConversion &c, Value x, Value like) {
  ArrayRef<int64_t> shape = c.b.typeOf(like).getShape();
  if (c.b.typeOf(x).getShape() == shape)
    return x;
  if (c.b.typeOf(x).getRank() != 0)
    return c.error() << "expects a scalar or the shape of " << like.getType()
                     << " but got " << x.getType();
  return c.b.broadcast(x, shape, {});
}

static LogicalResult convertClamp(OpConversion &c) {
  Value x = c.operands[1];
  auto low = spread(c, c.operands[0], x);
  auto high = failed(low) ? low : spread(c, c.operands[2], x);
  if (failed(low) || failed(high))
    return failure();
  if (low->getType() != x.getType() || high->getType() != x.getType())
    return c.error() << "expects bounds with the elements of " << x.getType();
  if (c.isFloat()) {
    // Selects, not extrema: no gradient passes at a bound.
    auto bound = [&](Value x, arith::CmpFPredicate reaches, Value bound) {
      Value isBound = c.b.fold<arith::CmpFOp>(reaches, x, bound);
      return c.b.fold<arith::SelectOp>(isBound, bound, x);
    };
    Value raised = bound(x, arith::CmpFPredicate::OLE, *low);
    return c.yield(bound(raised, arith::CmpFPredicate::OGE, *high));
  }
  if (c.isBool())
    return refuseElements(c);
  if (c.isUnsigned())
    return c.yield(
        c.b.fold<arith::MinUIOp>(c.b.fold<arith::MaxUIOp>(x, *low), *high));
  return c.yield(
      c.b.fold<arith::MinSIOp>(c.b.fold<arith::MaxSIOp>(x, *low), *high));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static LogicalResult convertCompare(OpConversion &c) {
  using arith::CmpFPredicate, arith::CmpIPredicate;
  struct Row {
    StringRef name;
    CmpFPredicate real;
    CmpIPredicate integer, natural;
  };
  constexpr Row kRows[] = {
      {"EQ", CmpFPredicate::OEQ, CmpIPredicate::eq, CmpIPredicate::eq},
      {"NE", CmpFPredicate::UNE, CmpIPredicate::ne, CmpIPredicate::ne},
      {"GE", CmpFPredicate::OGE, CmpIPredicate::sge, CmpIPredicate::uge},
      {"GT", CmpFPredicate::OGT, CmpIPredicate::sgt, CmpIPredicate::ugt},
      {"LE", CmpFPredicate::OLE, CmpIPredicate::sle, CmpIPredicate::ule},
      {"LT", CmpFPredicate::OLT, CmpIPredicate::slt, CmpIPredicate::ult}};
  auto direction = c.getCase("comparison_direction");
  if (failed(direction) || failed(c.checkSameTypes()))
    return failure();
  const Row *row = llvm::find_if(
      kRows, [&](const Row &row) { return row.name == *direction; });
  StringRef type =
      getCase(getSourceAttr(c.op, "compare_type"), "comparison_type");
  if (row == std::end(kRows) || type == "TOTALORDER")
    return c.error() << "expects a comparison by EQ, NE, GE, GT, LE or LT, not "
                        "in total order";
  Value x = c.operands[0], y = c.operands[1];
  if (c.isFloat())
    return c.yield(c.b.fold<arith::CmpFOp>(row->real, x, y));
  return c.yield(c.b.fold<arith::CmpIOp>(
      c.isBool() || c.isUnsigned() ? row->natural : row->integer, x, y));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Whether an element is not 0.
static Value toBool(GraphBuilder &b, Value x, bool isFloat) {
  if (isFloat)
    return b.fold<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, b.splat(x, 0));
  return b.fold<arith::CmpIOp>(arith::CmpIPredicate::ne, x, b.splat(x, 0));
}

/// Converts from an integer, which is natural if it has no sign.
static Value fromInteger(GraphBuilder &b, Value x, Type to, bool isNatural) {
  Type element = getElementTypeOrSelf(to);
  if (isa<FloatType>(element))
    return isNatural ? b.fold<arith::UIToFPOp>(to, x)
                     : b.fold<arith::SIToFPOp>(to, x);
  unsigned before = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  unsigned after = element.getIntOrFloatBitWidth();
  if (after == before)
    return x;
  if (after < before)
    return b.fold<arith::TruncIOp>(to, x);
  return isNatural ? b.fold<arith::ExtUIOp>(to, x)
                   : b.fold<arith::ExtSIOp>(to, x);
}

/// Converts from a float; between floats of one width through f32.
static Value fromFloat(GraphBuilder &b, Value x, RankedTensorType to) {
  if (!isa<FloatType>(to.getElementType()))
    return b.fold<arith::FPToSIOp>(to, x);
  Type from = b.typeOf(x).getElementType();
  unsigned before = from.getIntOrFloatBitWidth();
  unsigned after = to.getElementTypeBitWidth();
  if (from == to.getElementType())
    return x;
  if (before < after)
    return b.fold<arith::ExtFOp>(to, x);
  if (before > after)
    return b.fold<arith::TruncFOp>(to, x);
  return fromFloat(b, fromFloat(b, x, to.clone(b.b.getF32Type())), to);
}

static LogicalResult convertConvert(OpConversion &c) {
  Value x = c.operands[0];
  RankedTensorType to = c.operandType(0).clone(c.resultType().getElementType());
  if (to.getElementType().isInteger(1))
    return c.yield(c.isBool() ? x : toBool(c.b, x, c.isFloat()));
  if (c.isFloat())
    return c.yield(c.makesUnsigned() ? c.b.fold<arith::FPToUIOp>(to, x)
                                     : fromFloat(c.b, x, to));
  return c.yield(fromInteger(c.b, x, to, c.isBool() || c.isUnsigned()));
}

/// Rounds to a 16-bit type and back; rounds nothing to all bits of the type.
static LogicalResult convertReducePrecision(OpConversion &c) {
  auto bits = [&](StringRef name) -> int64_t {
    auto attr = dyn_cast_or_null<IntegerAttr>(getSourceAttr(c.op, name));
    return attr ? attr.getValue().getSExtValue() : -1;
  };
  int64_t exponent = bits("exponent_bits"), mantissa = bits("mantissa_bits");
  auto own = dyn_cast<FloatType>(c.operandType(0).getElementType());
  int64_t width = own ? own.getFPMantissaWidth() - 1 : 0;
  if (own && mantissa >= width && exponent >= own.getWidth() - 1 - width)
    return c.yield(c.operands[0]);
  Type narrow;
  if (exponent == 8 && mantissa == 7)
    narrow = c.b.b.getBF16Type();
  else if (exponent == 5 && mantissa == 10)
    narrow = c.b.b.getF16Type();
  if (!narrow || !c.isFloat())
    return c.error() << "expects floats and the bits of bf16 or f16 but got "
                     << exponent << " of exponent and " << mantissa
                     << " of mantissa";
  RankedTensorType type = c.operandType(0);
  Value rounded = fromFloat(c.b, c.operands[0], type.clone(narrow));
  return c.yield(fromFloat(c.b, rounded, type));
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

/// Whether `value` compares `x` with a constant.
static bool isBound(Value value, arith::CmpIPredicate predicate, Value x,
                    int64_t bound) {
  auto compare = stripShape(value).getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != predicate ||
      stripShape(compare.getLhs()) != x)
    return false;
  auto splat = dyn_cast_or_null<IntegerAttr>(getSplat(compare.getRhs()));
  return splat && splat.getValue().getSExtValue() == bound;
}

/// Whether `c` selects the elements that a gather took from inside its table,
/// and NaN elsewhere: ids are assumed to be inside.
static bool isFill(OpConversion &c) {
  auto fill = dyn_cast_or_null<FloatAttr>(getSplat(c.operands[2]));
  Value mask = stripShape(c.operands[0]);
  // Rows of a table are masked as a whole.
  if (auto broadcast = mask.getDefiningOp<nn::BroadcastOp>())
    mask = stripShape(broadcast.getX());
  auto both = mask.getDefiningOp<arith::AndIOp>();
  if (!fill || !fill.getValue().isNaN() || !both)
    return false;
  Value gathered = stripShape(c.operands[1]);
  return llvm::any_of(c.converter.gathers, [&](const Converter::Gather &g) {
    return g.gathered == gathered &&
           isBound(both.getLhs(), arith::CmpIPredicate::sge, g.wrapped, 0) &&
           isBound(both.getRhs(), arith::CmpIPredicate::sle, g.wrapped,
                   g.size - 1);
  });
}

/// Whether all elements are this boolean.
static bool isTruth(Value value, bool truth) {
  auto splat = dyn_cast_or_null<IntegerAttr>(getSplat(value));
  return splat && splat.getType().isInteger(1) &&
         splat.getValue().getBoolValue() == truth;
}

static LogicalResult convertSelect(OpConversion &c) {
  if (!c.isBool() || c.operands[1].getType() != c.operands[2].getType())
    return c.error() << "expects booleans and two operands of one type but got "
                     << c.op->getOperandTypes();
  if (isFill(c))
    return c.yield(c.operands[1]);
  if (isTruth(c.operands[1], true) && isTruth(c.operands[2], false) &&
      c.operands[0].getType() == c.operands[1].getType())
    return c.yield(c.operands[0]);
  auto condition = spread(c, c.operands[0], c.operands[1]);
  if (failed(condition))
    return failure();
  return c.yield(
      c.b.fold<arith::SelectOp>(*condition, c.operands[1], c.operands[2]));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addFunctions(HandlerTable &t) {
  addUnary<math::CbrtOp>(t, "stablehlo.cbrt");
  addUnary<math::CeilOp>(t, "stablehlo.ceil");
  addUnary<math::CosOp>(t, "stablehlo.cosine");
  addUnary<math::ExpOp>(t, "stablehlo.exponential");
  addUnary<math::ExpM1Op>(t, "stablehlo.exponential_minus_one");
  addUnary<math::FloorOp>(t, "stablehlo.floor");
  addUnary<math::LogOp>(t, "stablehlo.log");
  addUnary<math::Log1pOp>(t, "stablehlo.log_plus_one");
  addUnary<math::RoundOp>(t, "stablehlo.round_nearest_afz");
  addUnary<math::RoundEvenOp>(t, "stablehlo.round_nearest_even");
  addUnary<math::RsqrtOp>(t, "stablehlo.rsqrt");
  addUnary<math::SinOp>(t, "stablehlo.sine");
  addUnary<math::SqrtOp>(t, "stablehlo.sqrt");
  addUnary<math::TanOp>(t, "stablehlo.tan");
  addUnary<math::TanOp>(t, "chlo.tan");
  addUnary<math::AtanOp>(t, "chlo.atan");
  addUnary<math::TanhOp>(t, "stablehlo.tanh");
  addUnary<math::ErfOp>(t, "chlo.erf");
  addUnary<math::SinhOp>(t, "chlo.sinh");
  addUnary<math::CoshOp>(t, "chlo.cosh");
  t.add("stablehlo.abs", 1, convertAbs);
  t.add("stablehlo.negate", 1, convertNegate);
  t.add("stablehlo.not", 1, convertNot);
  t.add("stablehlo.sign", 1, convertSign);
  t.add("stablehlo.logistic", 1, convertLogistic);
  t.add("stablehlo.is_finite", 1, convertIsFinite);
  t.add("chlo.erfc", 1, convertErfc);
  t.add("chlo.square", 1, convertSquare);
}

static void addBinary(HandlerTable &t) {
  using namespace arith;
  t.add("stablehlo.add", 2, convertByType<AddFOp, AddIOp, OrIOp>);
  t.add("stablehlo.subtract", 2, convertByType<SubFOp, SubIOp, NoOp>);
  t.add("stablehlo.multiply", 2, convertByType<MulFOp, MulIOp, AndIOp>);
  t.add("stablehlo.divide", 2, convertByType<DivFOp, DivSIOp, NoOp, DivUIOp>);
  t.add("stablehlo.remainder", 2,
        convertByType<RemFOp, RemSIOp, NoOp, RemUIOp>);
  t.add("stablehlo.maximum", 2,
        convertByType<MaximumFOp, MaxSIOp, OrIOp, MaxUIOp>);
  t.add("stablehlo.minimum", 2,
        convertByType<MinimumFOp, MinSIOp, AndIOp, MinUIOp>);
  t.add("stablehlo.power", 2,
        convertByType<math::PowFOp, math::IPowIOp, NoOp, NoOp>);
  t.add("stablehlo.atan2", 2, convertByType<math::Atan2Op, NoOp, NoOp>);
  t.add("stablehlo.and", 2, convertByType<NoOp, AndIOp, AndIOp>);
  t.add("stablehlo.or", 2, convertByType<NoOp, OrIOp, OrIOp>);
  t.add("stablehlo.xor", 2, convertByType<NoOp, XOrIOp, XOrIOp>);
  t.add("stablehlo.shift_left", 2, convertShift<ShLIOp>);
  t.add("stablehlo.shift_right_arithmetic", 2, convertShift<ShRSIOp>);
  t.add("stablehlo.shift_right_logical", 2, convertShift<ShRUIOp>);
}

void tessera::stablehlo::addElementwiseHandlers(HandlerTable &t) {
  addFunctions(t);
  addBinary(t);
  t.add("stablehlo.compare", 2, convertCompare);
  t.add("stablehlo.select", 3, convertSelect);
  t.add("stablehlo.clamp", 3, convertClamp);
  t.add("stablehlo.convert", 1, convertConvert);
  t.add("stablehlo.bitcast_convert", 1, convertBitcast);
  t.add("stablehlo.reduce_precision", 1, convertReducePrecision);
}
