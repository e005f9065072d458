//===- Rows.h - Rows of a tensor, and what is made of them ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is all elements along one dimension, at one index of the others.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_ROWS_H
#define TESSERA_TEST_RANDOM_ROWS_H

#include "Program.h"

namespace tessera::test {

/// Calls `fn(row, index)` for each row along `dim`, in order; `index` is that
/// of its first element, also where it has none.
void forEachRow(
    const Data &x, size_t dim,
    const std::function<void(std::vector<Number>, const Shape &)> &fn);

/// The elements of a row of `to` from `index` on.
void setRow(Data &to, Shape index, size_t dim,
            const std::vector<Number> &numbers);

Number sum(const std::vector<Number> &numbers, Elem elem);
/// Of at least one number.
Number largest(const std::vector<Number> &numbers);
/// Exponentials, less the largest, and their sum.
std::vector<Number> exponentials(const std::vector<Number> &row, Elem elem,
                                 Number &total);
/// What is not finite is not judged: no formula says what becomes of it.
bool isFiniteNumber(const Number &number);
bool areFinite(const std::vector<Number> &numbers);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_ROWS_H
