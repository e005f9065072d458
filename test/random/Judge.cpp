//===- Judge.cpp - Data, and what is right --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Judge.h"
#include "Random.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace tessera;
using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

static long double drawFloat(Random &random, bool integers, Elem elem) {
  if (random.oneIn(8))
    return 0;
  if (integers)
    return random.between(-5, 5);
  long double value = random.between(-4000, 4000) / 2000.0L;
  if (random.oneIn(8))
    value *= random.between(10, 200);
  return roundTo(value, elem);
}

static long double drawExtreme(Random &random, Elem elem) {
  long double largest = getLargest(elem);
  long double least = ldexpl(1, getInfo(elem).minExponent);
  const long double numbers[] = {NAN,      INFINITY, -INFINITY, largest,
                                 -largest, least,    -least,    1};
  return numbers[random.below(8)];
}

static int64_t drawInteger(Random &random, Elem elem) {
  if (random.oneIn(8))
    return 0;
  if (random.oneIn(8))
    return random.between(-300, 300);
  return random.between(-9, 9);
}

static int64_t drawExtremeInteger(Random &random, Elem elem) {
  uint64_t least = uint64_t(1) << (getInfo(elem).bits - 1);
  const uint64_t numbers[] = {least, least - 1, least + 1, uint64_t(-1), 0, 1};
  return static_cast<int64_t>(numbers[random.below(6)]);
}

/// Sorts the integers of each row of the last dimension.
static void sortRows(Data &data) {
  int64_t width = data.type.shape.back();
  for (auto row = data.numbers.begin(); row != data.numbers.end(); row += width)
    std::sort(row, row + width,
              [](const Number &a, const Number &b) { return a.i < b.i; });
}

std::vector<Data> tessera::test::drawData(const Program &program, uint64_t seed,
                                          DataKind kind) {
  std::vector<Data> all;
  Random random(seed * 2 + (kind == DataKind::Extreme));
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    Data data(program.block.types[program.block.arguments[i]]);
    Elem elem = data.type.elem;
    bool integers = random.oneIn(2);
    bool isExtreme = kind == DataKind::Extreme && random.percent(80);
    int64_t bound = program.arguments[i].bound;
    for (Number &number : data.numbers) {
      bool extreme = isExtreme && random.oneIn(12);
      if (bound)
        number = makeInt(random.below(bound), elem);
      else if (elem == Elem::I1)
        number = makeInt(random.below(2), elem);
      else if (isFloat(elem))
        number = makeFloat(extreme ? drawExtreme(random, elem)
                                   : drawFloat(random, integers, elem));
      else
        number = makeInt(extreme ? drawExtremeInteger(random, elem)
                                 : drawInteger(random, elem),
                         elem);
    }
    if (program.arguments[i].ascends)
      sortRows(data);
    all.push_back(std::move(data));
  }
  return all;
}

interp::TensorRef tessera::test::toTensor(const Data &data, mlir::Type type) {
  interp::Tensor tensor(type);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor[i] = isFloat(data.type.elem)
                    ? interp::floatCell(static_cast<double>(data[i].v))
                    : interp::intCell(data[i].i);
  return std::make_shared<interp::Tensor>(std::move(tensor));
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static bool isRight(const Number &expected, double actual) {
  if (expected.state == Number::Unknown)
    return true;
  if (expected.state == Number::NotFinite)
    return !std::isfinite(actual);
  if (std::isnan(expected.v) || std::isnan(actual))
    return std::isnan(expected.v) && std::isnan(actual);
  if (std::isinf(expected.v) || std::isinf(actual))
    return expected.v == actual;
  return std::fabs(actual - expected.v) <= expected.error;
}

static std::string describe(const Number &number, bool isFloat) {
  char text[96];
  if (!isFloat)
    return std::to_string(number.i);
  if (number.state == Number::NotFinite)
    return "infinity or NaN";
  snprintf(text, sizeof(text), "%.9Lg within %.2g", number.v, number.error);
  return text;
}

Data tessera::test::fromTensor(const interp::Tensor &tensor, const Type &type) {
  Data data;
  data.type = type;
  data.type.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i) {
    Number number = isFloat(type.elem) ? makeFloat(tensor[i].f) : Number();
    if (!isFloat(type.elem))
      number.i = tensor[i].i;
    data.numbers.push_back(number);
  }
  return data;
}

bool tessera::test::hasNotFinite(llvm::ArrayRef<Data> data) {
  return llvm::any_of(data, [](const Data &each) {
    return isFloat(each.type.elem) &&
           llvm::any_of(each.numbers,
                        [](const Number &n) { return !std::isfinite(n.v); });
  });
}

Judgement tessera::test::judge(llvm::ArrayRef<Data> expected,
                               llvm::ArrayRef<Data> actual,
                               bool inputsNotFinite) {
  Judgement judgement;
  for (size_t r = 0; r < expected.size(); ++r) {
    const Data &data = expected[r], &got = actual[r];
    std::string where = "result " + std::to_string(r);
    if (!(got.type == data.type)) {
      judgement.difference =
          where + ": " + got.type.print() + ", expected " + data.type.print();
      return judgement;
    }
    bool ofFloats = isFloat(data.type.elem);
    for (size_t i = 0; i < data.numbers.size(); ++i) {
      const Number &number = data[i];
      ++judgement.total;
      bool isOfPadding = inputsNotFinite && ofFloats && number.isKnown() &&
                         !std::isnan(number.v) && std::isnan(got[i].v);
      if (isOfPadding)
        continue;
      judgement.judged += number.state != Number::Unknown;
      bool right = ofFloats ? isRight(number, static_cast<double>(got[i].v))
                            : !number.isKnown() || number.i == got[i].i;
      if (right || !judgement.difference.empty())
        continue;
      judgement.difference = where + ", element " + std::to_string(i) + ": " +
                             describe(got[i], ofFloats) + ", expected " +
                             describe(number, ofFloats);
    }
  }
  return judgement;
}
