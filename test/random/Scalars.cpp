//===- Scalars.cpp - Ops on elements --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalars.h"
#include "FloatOps.h"
#include "IntegerOps.h"
#include <cstdlib>

using namespace tessera::test;

const std::vector<ScalarOp> &tessera::test::getScalarOps() {
  static const std::vector<ScalarOp> table = [] {
    std::vector<ScalarOp> ops = getFloatOps();
    for (const ScalarOp &op : getIntegerOps())
      ops.push_back(op);
    ops.push_back({"arith.select", Form::Select, false, 3,
                   [](const Number *x, Elem, Elem) {
                     return x[0].isKnown() ? x[x[0].i ? 1 : 2] : makeUnknown();
                   }});
    return ops;
  }();
  return table;
}

const ScalarOp &tessera::test::findScalarOp(const std::string &name) {
  for (const ScalarOp &op : getScalarOps())
    if (op.name == name)
      return op;
  abort();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static const Elem kFloats[] = {Elem::F64, Elem::F32, Elem::F16, Elem::BF16};
static const Elem kIntegers[] = {Elem::I1, Elem::I8, Elem::I16, Elem::I32,
                                 Elem::I64};

static int widthOf(Elem elem) {
  switch (elem) {
  case Elem::F64:
    return 64;
  case Elem::F32:
    return 32;
  case Elem::F16:
  case Elem::BF16:
    return 16;
  default:
    return getInfo(elem).bits;
  }
}

static std::vector<Elem> getResults(const ScalarOp &op, Elem in) {
  std::vector<Elem> results;
  auto consider = [&](Elem out) {
    int difference = widthOf(out) - widthOf(in);
    if (op.width == 0 || (op.width > 0 ? difference > 0 : difference < 0))
      results.push_back(out);
  };
  if (op.toFloat)
    for (Elem out : kFloats)
      consider(out);
  else
    for (Elem out : kIntegers)
      consider(out);
  return results;
}

bool tessera::test::accepts(const ScalarOp &op, Elem in) {
  if (op.form == Form::Select)
    return true;
  if (isFloat(in) != op.ofFloats || in == Elem::Index)
    return false;
  // One bit has no odd divisor except 1, and no shift except by 0.
  if (in == Elem::I1 && op.guard != Guard::None)
    return false;
  return op.form != Form::Cast || !getResults(op, in).empty();
}

Elem tessera::test::chooseResult(const ScalarOp &op, Elem in, Random &random) {
  if (op.form == Form::Predicate)
    return Elem::I1;
  if (op.form != Form::Cast)
    return in;
  std::vector<Elem> results = getResults(op, in);
  return random.pick(results);
}

//===----------------------------------------------------------------------===//
// Meaning and text
//===----------------------------------------------------------------------===//

Number tessera::test::evaluate(const ScalarOp &op, const Number *x, Elem in,
                               Elem out) {
  if (op.form != Form::Select && !isFloat(in))
    for (int i = 0; i < op.arity; ++i)
      if (!x[i].isKnown())
        return makeUnknown();
  return op.fn(x, in, out);
}

GuardOp tessera::test::getGuardOp(Guard guard, Elem elem) {
  static const ScalarOp &either = findScalarOp("arith.ori");
  static const ScalarOp &both = findScalarOp("arith.andi");
  switch (guard) {
  case Guard::Divisor:
    return {&either, 1};
  case Guard::Shift:
    return {&both, getInfo(elem).bits - 1};
  default:
    return {&both, 3};
  }
}

std::string tessera::test::printScalarOp(
    const ScalarOp &op, const std::vector<std::string> &operands,
    const std::string &attributes, const std::string &inType,
    const std::string &outType, const std::string &conditionType) {
  std::string text = op.name;
  for (size_t i = 0; i < operands.size(); ++i)
    text += (i ? ", " : " ") + operands[i];
  text += attributes + " : ";
  if (op.form == Form::Select && !conditionType.empty())
    text += conditionType + ", ";
  text += inType;
  if (op.form == Form::Cast)
    text += " to " + outType;
  return text;
}
