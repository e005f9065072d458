//===- Generic.h - linalg.generic -------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_GENERIC_H
#define TESSERA_TEST_RANDOM_GENERIC_H

#include "Body.h"
#include "Generator.h"

namespace tessera::test {

/// The dimension of the loops for each dimension of an operand.
using Map = std::vector<int>;

/// Loops over a body: inputs, then outputs, which are initialized by their
/// operands.
struct Loops {
  Shape sizes;
  std::vector<Map> maps;
  size_t numInputs = 0;
  /// The locals that the body yields, one for each output.
  std::vector<int> yields;
  /// Loops that the outputs do not have.
  std::vector<bool> isReduction;
};

/// Runs the loops in order. The bounds of sums and products hold for any order.
bool runLoops(const Loops &loops, const Body &body, const Inputs &inputs,
              std::vector<Data> &results);

/// Adds an empty tensor to write to.
int addEmpty(Generator &g, const Type &type);
/// Adds a tensor that is filled with one number.
int addFill(Generator &g, const Type &type, const Number &number);
/// The usual initial value of a reduction with this combiner: its neutral
/// element.
Number getNeutral(const ScalarOp &combiner, Elem elem);
/// Draws a combiner of these elements.
const ScalarOp &drawCombiner(Random &random, Elem elem);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_GENERIC_H
