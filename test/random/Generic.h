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

/// Which dimension of the loops each dimension of an operand is.
using Map = std::vector<int>;

/// Loops over a body: inputs, then outputs, which start as their operands.
struct Loops {
  Shape sizes;
  std::vector<Map> maps;
  size_t numInputs = 0;
  /// What the body gives to each output.
  std::vector<int> yields;
  /// Loops that the outputs do not have.
  std::vector<bool> isReduction;
};

/// Runs the loops in order. The bounds of sums and products hold for any order.
bool runLoops(const Loops &loops, const Body &body, const Inputs &inputs,
              std::vector<Data> &results);

/// A tensor to write to: empty.
int addEmpty(Generator &g, const Type &type);
/// A tensor that holds one number.
int addFill(Generator &g, const Type &type, const Number &number);
/// What a reduction with this combiner starts with, mostly: its neutral
/// element.
Number getNeutral(const ScalarOp &combiner, Elem elem);
/// A combiner of these elements.
const ScalarOp &drawCombiner(Random &random, Elem elem);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_GENERIC_H
