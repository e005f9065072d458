//===- Elementwise.cpp - arith and math on tensors and scalars ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "Scalars.h"

using namespace tessera::test;

static Type withElem(Type type, Elem elem) {
  type.elem = elem;
  return type;
}

/// True if the operands leave the op undefined: an unknown integer may be an
/// operand, but not a divisor.
static bool isUndefined(const ScalarOp &op, const Number *x, Elem elem) {
  return op.guard == Guard::Divisor && (!x[1].isKnown() || x[1].i == 0);
}

static int apply(Generator &g, const ScalarOp &op, std::vector<int> operands) {
  const Type in = g.typeOf(operands.back());
  Type out = withElem(in, chooseResult(op, in.elem, g.random));
  std::vector<std::string> names;
  for (size_t i = 0; i < operands.size(); ++i)
    names.push_back("$" + std::to_string(i));
  std::string text =
      printScalarOp(op, names, "$A", in.print(), out.print(),
                    in.isTensor ? withElem(in, Elem::I1).print() : "");
  return g.add(text, operands, out,
               [&op, in, out](const Inputs &inputs, std::vector<Data> &made) {
                 for (int64_t i = 0, n = in.size(); i < n; ++i) {
                   Number x[3];
                   for (size_t k = 0; k < inputs.size(); ++k)
                     x[k] = (*inputs[k])[i];
                   if (isUndefined(op, x, in.elem))
                     return false;
                   made[0][i] = evaluate(op, x, in.elem, out.elem);
                 }
                 return true;
               });
}

/// Adds an op on a value: on tensors, or on scalars.
static bool addOp(Generator &g, bool isTensor,
                  const std::function<bool(const ScalarOp &)> &wanted) {
  int value = g.pick([&](const Type &type) {
    return type.isTensor == isTensor && type.elem != Elem::Index;
  });
  if (value < 0)
    return false;
  Type type = g.typeOf(value);
  std::vector<const ScalarOp *> ops;
  for (const ScalarOp &op : getScalarOps())
    if (wanted(op) && accepts(op, type.elem))
      ops.push_back(&op);
  if (ops.empty())
    return false;
  const ScalarOp &op = *g.random.pick(ops);
  std::vector<int> operands;
  if (op.form == Form::Select)
    operands.push_back(g.get(withElem(type, Elem::I1)));
  size_t position = g.random.below(op.arity - operands.size());
  size_t first = operands.size();
  for (size_t i = first; i < static_cast<size_t>(op.arity); ++i)
    operands.push_back(i - first == position ? value : g.get(type));
  if (op.guard != Guard::None) {
    GuardOp guard = getGuardOp(op.guard, type.elem);
    std::vector<Number> numbers(type.size(),
                                makeInt(guard.constant, type.elem));
    operands[1] =
        apply(g, *guard.op, {operands[1], g.addConstant(type, numbers)});
  }
  apply(g, op, operands);
  return true;
}

static bool addBinary(Generator &g) {
  return addOp(g, true, [](const ScalarOp &op) {
    return op.form == Form::Same && op.arity > 1;
  });
}
static bool addUnary(Generator &g) {
  return addOp(g, true, [](const ScalarOp &op) {
    return op.form == Form::Same && op.arity == 1;
  });
}
static bool addOther(Generator &g) {
  return addOp(g, true,
               [](const ScalarOp &op) { return op.form != Form::Same; });
}
static bool addScalar(Generator &g) {
  return addOp(g, false, [](const ScalarOp &) { return true; });
}

std::vector<Weighted> tessera::test::getElementwiseFamilies() {
  return {{addBinary, 12}, {addUnary, 5}, {addOther, 6}, {addScalar, 2}};
}
