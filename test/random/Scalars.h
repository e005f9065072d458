//===- Scalars.h - Ops on elements ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of arith and math in a table: the syntax and the meaning of each.
// Tensor ops, bodies of linalg ops and scalar ops use the same rows.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_SCALARS_H
#define TESSERA_TEST_RANDOM_SCALARS_H

#include "Number.h"
#include "Random.h"

namespace tessera::test {

/// The relation of an op's operand and result types.
enum class Form {
  /// Operands and result have one type.
  Same,
  /// Operands have one type, the result is an i1.
  Predicate,
  /// One operand, and a result of another type.
  Cast,
  /// Operands are an i1 and two of one type.
  Select
};

/// A condition on an operand for which the op is defined.
enum class Guard {
  None,
  /// The second operand is odd.
  Divisor,
  /// The second operand is less than the width.
  Shift,
  /// The second operand is small and not negative.
  Exponent
};

struct ScalarOp {
  /// May include the predicate: `arith.cmpf olt,`.
  const char *name;
  Form form;
  bool ofFloats;
  int arity;
  Number (*fn)(const Number *x, Elem in, Elem out);
  /// True if it combines elements in any order.
  bool combines = false;
  Guard guard = Guard::None;
  /// For casts: true for a float result, and more (1) or fewer (-1) bits.
  bool toFloat = false;
  int width = 0;
};

const std::vector<ScalarOp> &getScalarOps();

/// True if an op accepts these elements; `arith.select` accepts any.
bool accepts(const ScalarOp &op, Elem in);
/// Draws the result type among those that a cast may have; `in` for other ops.
Elem chooseResult(const ScalarOp &op, Elem in, Random &random);

/// Evaluates; unknown integer operands give an unknown result.
Number evaluate(const ScalarOp &op, const Number *x, Elem in, Elem out);

/// A constant that makes an operand satisfy the guard, and the op that applies
/// it: `arith.ori` with 1.
struct GuardOp {
  const ScalarOp *op;
  int64_t constant;
};
GuardOp getGuardOp(Guard guard, Elem elem);
const ScalarOp &findScalarOp(const std::string &name);

/// Formats `name operands attributes : types`. `conditionType` is the type of a
/// select's condition if it is a tensor, else empty.
std::string printScalarOp(const ScalarOp &op,
                          const std::vector<std::string> &operands,
                          const std::string &attributes,
                          const std::string &inType, const std::string &outType,
                          const std::string &conditionType);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_SCALARS_H
