//===- Rows.h - Rows of a tensor, and what is made of them ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row has all elements along one dimension, at one index of the other
// dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_ROWS_H
#define TESSERA_TEST_RANDOM_ROWS_H

#include "Program.h"

namespace tessera::test {

/// Calls `fn(row, index)` for each row along `dim`, in order; `index` is the
/// index of its first element, even if it has none.
void forEachRow(
    const Data &x, size_t dim,
    const std::function<void(std::vector<Number>, const Shape &)> &fn);

/// Sets the elements of a row of `to` from `index` on.
void setRow(Data &to, Shape index, size_t dim,
            const std::vector<Number> &numbers);

Number sum(const std::vector<Number> &numbers, Elem elem);
/// The largest of at least one number.
Number largest(const std::vector<Number> &numbers);
/// Exponentials minus the largest, and their sum.
std::vector<Number> exponentials(const std::vector<Number> &row, Elem elem,
                                 Number &total);
/// Numbers that are not finite are not judged: no formula gives their results.
bool isFiniteNumber(const Number &number);
bool areFinite(const std::vector<Number> &numbers);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_ROWS_H
