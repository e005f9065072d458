//===- InterpretArith.cpp - arith on scalars and tensors ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic uses unsigned 64-bit numbers, for which wrapping is
// defined. The interpretation rounds the result to its width.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
}
static double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
}

static Cell compareFloats(const ScalarOp &op, const Cell *x) {
  double a = x[0].f, b = x[1].f;
  bool unordered = std::isnan(a) || std::isnan(b);
  using P = arith::CmpFPredicate;
  auto decide = [&] {
    switch (static_cast<P>(op.predicate)) {
    case P::AlwaysFalse:
      return false;
    case P::OEQ:
      return a == b;
    case P::OGT:
      return a > b;
    case P::OGE:
      return a >= b;
    case P::OLT:
      return a < b;
    case P::OLE:
      return a <= b;
    case P::ONE:
      return !unordered && a != b;
    case P::ORD:
      return !unordered;
    case P::UEQ:
      return unordered || a == b;
    case P::UGT:
      return unordered || a > b;
    case P::UGE:
      return unordered || a >= b;
    case P::ULT:
      return unordered || a < b;
    case P::ULE:
      return unordered || a <= b;
    case P::UNE:
      return unordered || a != b;
    case P::UNO:
      return unordered;
    case P::AlwaysTrue:
      return true;
    }
    return false;
  };
  return intCell(decide());
}

static void addFloats(Registry &r) {
  r.addScalar("arith.addf", [](const ScalarOp &, const Cell *x) {
    return floatCell(x[0].f + x[1].f);
  });
  r.addScalar("arith.subf", [](const ScalarOp &, const Cell *x) {
    return floatCell(x[0].f - x[1].f);
  });
  r.addScalar("arith.mulf", [](const ScalarOp &, const Cell *x) {
    return floatCell(x[0].f * x[1].f);
  });
  r.addScalar("arith.divf", [](const ScalarOp &, const Cell *x) {
    return floatCell(x[0].f / x[1].f);
  });
  r.addScalar("arith.remf", [](const ScalarOp &, const Cell *x) {
    return floatCell(std::fmod(x[0].f, x[1].f));
  });
  r.addScalar("arith.negf", [](const ScalarOp &, const Cell *x) {
    return floatCell(-x[0].f);
  });
  r.addScalar("arith.maximumf", [](const ScalarOp &, const Cell *x) {
    return floatCell(maximum(x[0].f, x[1].f));
  });
  r.addScalar("arith.minimumf", [](const ScalarOp &, const Cell *x) {
    return floatCell(minimum(x[0].f, x[1].f));
  });
  r.addScalar("arith.maxnumf", [](const ScalarOp &, const Cell *x) {
    return floatCell(std::fmax(x[0].f, x[1].f));
  });
  r.addScalar("arith.minnumf", [](const ScalarOp &, const Cell *x) {
    return floatCell(std::fmin(x[0].f, x[1].f));
  });
  r.addScalar("arith.cmpf", compareFloats);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static Cell wrap(uint64_t value) {
  return intCell(static_cast<int64_t>(value));
}

/// i1 holds 0 and 1, but a true i1 is -1 as a signed number.
static int64_t toSigned(const ScalarOp &op, Cell c) {
  return op.in.getWidth() == 1 ? -c.i : c.i;
}

static Cell compareIntegers(const ScalarOp &op, const Cell *x) {
  int64_t a = toSigned(op, x[0]), b = toSigned(op, x[1]);
  uint64_t ua = op.in.toUnsigned(x[0].i), ub = op.in.toUnsigned(x[1].i);
  using P = arith::CmpIPredicate;
  auto decide = [&] {
    switch (static_cast<P>(op.predicate)) {
    case P::eq:
      return a == b;
    case P::ne:
      return a != b;
    case P::slt:
      return a < b;
    case P::sle:
      return a <= b;
    case P::sgt:
      return a > b;
    case P::sge:
      return a >= b;
    case P::ult:
      return ua < ub;
    case P::ule:
      return ua <= ub;
    case P::ugt:
      return ua > ub;
    case P::uge:
      return ua >= ub;
    }
    return false;
  };
  return intCell(decide());
}

enum class Rounding { ToZero, Up, Down };

/// Returns the quotient or the remainder. A quotient by zero is all ones, its
/// remainder is the dividend.
template <Rounding rounding, bool isRemainder>
static Cell divideSigned(const ScalarOp &op, const Cell *x) {
  int64_t a = toSigned(op, x[0]), b = toSigned(op, x[1]);
  if (b == 0)
    return isRemainder ? x[0] : intCell(-1);
  if (b == -1)
    return isRemainder ? intCell(0) : wrap(0 - static_cast<uint64_t>(a));
  int64_t quotient = a / b, remainder = a % b;
  if (isRemainder)
    return intCell(remainder);
  if (rounding == Rounding::Up && remainder && (remainder < 0) == (b < 0))
    ++quotient;
  if (rounding == Rounding::Down && remainder && (remainder < 0) != (b < 0))
    --quotient;
  return intCell(quotient);
}

template <Rounding rounding, bool isRemainder>
static Cell divideUnsigned(const ScalarOp &op, const Cell *x) {
  uint64_t a = op.in.toUnsigned(x[0].i), b = op.in.toUnsigned(x[1].i);
  if (b == 0)
    return isRemainder ? x[0] : intCell(-1);
  if (isRemainder)
    return wrap(a % b);
  return wrap(a / b + (rounding == Rounding::Up && a % b != 0));
}

enum class Shift { Left, RightUnsigned, RightSigned };

template <Shift shift>
static Cell shiftBits(const ScalarOp &op, const Cell *x) {
  uint64_t amount = op.in.toUnsigned(x[1].i);
  if (amount >= op.in.getWidth()) {
    op.error = "shifts by at least the width of the type";
    return intCell(0);
  }
  if (shift == Shift::Left)
    return wrap(static_cast<uint64_t>(x[0].i) << amount);
  if (shift == Shift::RightUnsigned)
    return wrap(op.in.toUnsigned(x[0].i) >> amount);
  return intCell(x[0].i >> amount);
}

template <bool isMax, bool isSigned>
static Cell extremum(const ScalarOp &op, const Cell *x) {
  bool less = isSigned ? toSigned(op, x[0]) < toSigned(op, x[1])
                       : op.in.toUnsigned(x[0].i) < op.in.toUnsigned(x[1].i);
  return less == isMax ? x[1] : x[0];
}

static void addIntegers(Registry &r) {
  r.addScalar("arith.addi", [](const ScalarOp &, const Cell *x) {
    return wrap(uint64_t(x[0].i) + uint64_t(x[1].i));
  });
  r.addScalar("arith.subi", [](const ScalarOp &, const Cell *x) {
    return wrap(uint64_t(x[0].i) - uint64_t(x[1].i));
  });
  r.addScalar("arith.muli", [](const ScalarOp &, const Cell *x) {
    return wrap(uint64_t(x[0].i) * uint64_t(x[1].i));
  });
  r.addScalar("arith.andi", [](const ScalarOp &, const Cell *x) {
    return intCell(x[0].i & x[1].i);
  });
  r.addScalar("arith.ori", [](const ScalarOp &, const Cell *x) {
    return intCell(x[0].i | x[1].i);
  });
  r.addScalar("arith.xori", [](const ScalarOp &, const Cell *x) {
    return intCell(x[0].i ^ x[1].i);
  });
  r.addScalar("arith.divsi", divideSigned<Rounding::ToZero, false>);
  r.addScalar("arith.ceildivsi", divideSigned<Rounding::Up, false>);
  r.addScalar("arith.floordivsi", divideSigned<Rounding::Down, false>);
  r.addScalar("arith.remsi", divideSigned<Rounding::ToZero, true>);
  r.addScalar("arith.divui", divideUnsigned<Rounding::ToZero, false>);
  r.addScalar("arith.ceildivui", divideUnsigned<Rounding::Up, false>);
  r.addScalar("arith.remui", divideUnsigned<Rounding::ToZero, true>);
  r.addScalar("arith.shli", shiftBits<Shift::Left>);
  r.addScalar("arith.shrui", shiftBits<Shift::RightUnsigned>);
  r.addScalar("arith.shrsi", shiftBits<Shift::RightSigned>);
  r.addScalar("arith.maxsi", extremum<true, true>);
  r.addScalar("arith.maxui", extremum<true, false>);
  r.addScalar("arith.minsi", extremum<false, true>);
  r.addScalar("arith.minui", extremum<false, false>);
  r.addScalar("arith.cmpi", compareIntegers);
}

//===----------------------------------------------------------------------===//
// Casts, select, constants
//===----------------------------------------------------------------------===//

/// Truncates to an integer; out of 64-bit range to the nearest one.
static Cell toInteger(const ScalarOp &op, const Cell *x) {
  double value = std::trunc(x[0].f);
  if (std::isnan(value))
    return intCell(0);
  if (value >= 0x1p63)
    return value >= 0x1p64 ? wrap(~uint64_t(0)) : wrap(uint64_t(value));
  if (value < -0x1p63)
    return wrap(uint64_t(1) << 63);
  return intCell(static_cast<int64_t>(value));
}

/// Returns the same bits in another type of that width.
static Cell bitcast(const ScalarOp &op, const Cell *x) {
  APInt bits(op.in.getWidth(), 0);
  bool ignored;
  if (op.in.isFloat()) {
    APFloat value(x[0].f);
    value.convert(cast<FloatType>(op.in.getType()).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &ignored);
    bits = value.bitcastToAPInt();
  } else {
    bits = APInt(op.in.getWidth(), op.in.toUnsigned(x[0].i));
  }
  if (op.out.isInteger())
    return intCell(bits.getSExtValue());
  APFloat value(cast<FloatType>(op.out.getType()).getFloatSemantics(), bits);
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &ignored);
  return floatCell(value.convertToDouble());
}

static void addCasts(Registry &r) {
  // These only round to the result's type, as the interpretation does for each
  // op.
  auto copy = [](const ScalarOp &, const Cell *x) { return x[0]; };
  r.addScalar("arith.extf", copy);
  r.addScalar("arith.truncf", copy);
  r.addScalar("arith.trunci", copy);
  auto extendSigned = [](const ScalarOp &op, const Cell *x) {
    return intCell(toSigned(op, x[0]));
  };
  auto extendUnsigned = [](const ScalarOp &op, const Cell *x) {
    return wrap(op.in.toUnsigned(x[0].i));
  };
  r.addScalar("arith.extsi", extendSigned);
  r.addScalar("arith.index_cast", extendSigned);
  r.addScalar("arith.extui", extendUnsigned);
  r.addScalar("arith.index_castui", extendUnsigned);
  r.addScalar("arith.sitofp", [](const ScalarOp &op, const Cell *x) {
    return floatCell(static_cast<double>(toSigned(op, x[0])));
  });
  r.addScalar("arith.uitofp", [](const ScalarOp &op, const Cell *x) {
    return floatCell(static_cast<double>(op.in.toUnsigned(x[0].i)));
  });
  r.addScalar("arith.fptosi", toInteger);
  r.addScalar("arith.fptoui", toInteger);
  r.addScalar("arith.bitcast", bitcast);
  r.addScalar("arith.select", [](const ScalarOp &, const Cell *x) {
    return x[0].i ? x[1] : x[2];
  });
}

static LogicalResult evaluateConstant(arith::ConstantOp op, Evaluation &e) {
  TensorRef value = fromAttribute(op.getValue());
  if (!value)
    return op.emitError("the interpreter cannot read the constant");
  return e.yield(value);
}

void tessera::interp::addArithHandlers(Registry &registry) {
  addFloats(registry);
  addIntegers(registry);
  addCasts(registry);
  registry.addLocal<arith::ConstantOp, evaluateConstant>();
}
