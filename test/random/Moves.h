//===- Moves.h - Ops that move elements -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_MOVES_H
#define TESSERA_TEST_RANDOM_MOVES_H

#include "Generator.h"

namespace tessera::test {

/// Which element of the first operand an element of the result is.
using Source = std::function<Shape(const Shape &)>;
int addMove(Generator &g, const std::string &text, std::vector<int> operands,
            const Type &result, const Source &source);

/// `value`, with `filler` from index `size` of a dimension on.
void addMask(Generator &g, int value, size_t dim, int64_t size,
             const Number &filler);

/// `[1, 2]`.
std::string printInts(const Shape &numbers);
/// A tensor with so many dimensions, and elements; -1: none.
int pickRanked(Generator &g, int64_t least, int64_t most);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_MOVES_H
