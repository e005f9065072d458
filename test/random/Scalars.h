//===- Scalars.h - Ops on elements ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of arith and math, by a table: how each is written and what it means.
// A tensor op, the body of a linalg op and a scalar op are made of the same
// rows.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_SCALARS_H
#define TESSERA_TEST_RANDOM_SCALARS_H

#include "Number.h"
#include "Random.h"

namespace tessera::test {

/// How the types of an op relate.
enum class Form {
  /// Operands and result of one type.
  Same,
  /// Operands of one type, an i1.
  Predicate,
  /// One operand, another type.
  Cast,
  /// An i1 and two of one type.
  Select
};

/// What an operand must be for the op to be defined.
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
  /// Followed by the predicate: `arith.cmpf olt,`.
  const char *name;
  Form form;
  bool ofFloats;
  int arity;
  Number (*fn)(const Number *x, Elem in, Elem out);
  /// Combines elements in any order.
  bool combines = false;
  Guard guard = Guard::None;
  /// Casts: floats, of how many bits more (1) or less (-1).
  bool toFloat = false;
  int width = 0;
};

const std::vector<ScalarOp> &getScalarOps();

/// Whether an op takes these elements; `arith.select` takes any.
bool accepts(const ScalarOp &op, Elem in);
/// Type of the result; random among what a cast may give, or `in` if none.
Elem chooseResult(const ScalarOp &op, Elem in, Random &random);

/// Evaluates; unknown integer operands give an unknown result.
Number evaluate(const ScalarOp &op, const Number *x, Elem in, Elem out);

/// A constant that makes an operand safe for the guard, and the op that
/// applies it: `arith.ori` with 1.
struct GuardOp {
  const ScalarOp *op;
  int64_t constant;
};
GuardOp getGuardOp(Guard guard, Elem elem);
const ScalarOp &findScalarOp(const std::string &name);

/// `name operands attributes : types`. The type of a select's condition is
/// written where it is a tensor, else it is empty.
std::string printScalarOp(const ScalarOp &op,
                          const std::vector<std::string> &operands,
                          const std::string &attributes,
                          const std::string &inType, const std::string &outType,
                          const std::string &conditionType);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_SCALARS_H
