//===- Rows.cpp - Rows of a tensor, and what is made of them --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "Scalars.h"
#include <algorithm>
#include <cmath>

using namespace tessera::test;

void tessera::test::forEachRow(
    const Data &x, size_t dim,
    const std::function<void(std::vector<Number>, const Shape &)> &fn) {
  Shape firsts = x.type.shape;
  firsts[dim] = 1;
  forEachIndex(firsts, [&](const Shape &index) {
    std::vector<Number> row;
    Shape position = index;
    for (; position[dim] < x.type.shape[dim]; ++position[dim])
      row.push_back(x.at(position));
    fn(std::move(row), index);
  });
}

void tessera::test::setRow(Data &to, Shape index, size_t dim,
                           const std::vector<Number> &numbers) {
  for (const Number &number : numbers) {
    to.at(index) = number;
    ++index[dim];
  }
}

Number tessera::test::sum(const std::vector<Number> &numbers, Elem elem) {
  Number total = makeFloat(0);
  for (const Number &number : numbers)
    total = add(total, number, elem);
  return loosenSum(total, numbers.size(), elem);
}

Number tessera::test::largest(const std::vector<Number> &numbers) {
  Number result = numbers[0];
  for (const Number &number : numbers)
    result = extremum(result, number, /*isMax=*/true);
  return result;
}

std::vector<Number> tessera::test::exponentials(const std::vector<Number> &row,
                                                Elem elem, Number &total) {
  Number most = largest(row);
  const ScalarOp &exp = findScalarOp("math.exp");
  std::vector<Number> powers;
  for (const Number &number : row) {
    Number less = subtract(number, most, elem);
    powers.push_back(exp.fn(&less, elem, elem));
  }
  total = sum(powers, elem);
  return powers;
}

bool tessera::test::isFiniteNumber(const Number &number) {
  return number.isKnown() && std::isfinite(number.v);
}

bool tessera::test::areFinite(const std::vector<Number> &numbers) {
  return std::all_of(numbers.begin(), numbers.end(), isFiniteNumber);
}
