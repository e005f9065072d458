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

/// Maps an element of the result to an element of the first operand.
using Source = std::function<Shape(const Shape &)>;
int addMove(Generator &g, const std::string &text, std::vector<int> operands,
            const Type &result, const Source &source);

/// Replaces `value` by `filler` from index `size` of a dimension on.
void addMask(Generator &g, int value, size_t dim, int64_t size,
             const Number &filler);

/// Formats `[1, 2]`.
std::string printInts(const Shape &numbers);
/// A tensor of rank `least` to `most`, with elements; -1: none.
int pickRanked(Generator &g, int64_t least, int64_t most);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_MOVES_H
