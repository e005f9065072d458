//===- Program.h - A program and what it means ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program is ops on numbered values. Each op has its text, with placeholders
// for its operands, and a function that computes its results: the text goes to
// the compiler, the function to the judge. The two share nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_PROGRAM_H
#define TESSERA_TEST_RANDOM_PROGRAM_H

#include "Number.h"
#include <functional>
#include <string>
#include <vector>

namespace tessera::test {

using Shape = std::vector<int64_t>;

struct Type {
  Elem elem = Elem::F32;
  /// Else it is a scalar, without a shape.
  bool isTensor = true;
  Shape shape;

  int64_t rank() const { return shape.size(); }
  int64_t size() const;
  std::string print() const;
  bool operator==(const Type &o) const {
    return elem == o.elem && isTensor == o.isTensor && shape == o.shape;
  }
};

/// Elements in row-major order; one of a scalar.
struct Data {
  Type type;
  std::vector<Number> numbers;

  Data() = default;
  explicit Data(Type of) : type(std::move(of)), numbers(type.size()) {}
  Number &operator[](int64_t i) { return numbers[i]; }
  const Number &operator[](int64_t i) const { return numbers[i]; }
  Number &at(const Shape &index);
  const Number &at(const Shape &index) const;
};

/// Where the element of an index is in row-major order.
int64_t flatten(const Shape &shape, const Shape &index);

/// Calls `fn(index)` for each index of a shape, the last fastest.
void forEachIndex(const Shape &shape,
                  const std::function<void(const Shape &)> &fn);

using Inputs = std::vector<const Data *>;

/// Computes results, whose types are set; false: what the op does is not
/// defined on these operands (a condition that is not known, a division by
/// zero).
using Meaning = std::function<bool(const Inputs &, std::vector<Data> &)>;

struct Op {
  std::vector<int> operands, results;
  /// `$0` stands for the first operand, `$A` for the attributes, `$B` for them
  /// with `attrs =` in front, `$F` for a name that no other function has.
  std::string text;
  Meaning meaning;
  /// Nothing, or `{...}`.
  std::string attributes;
  /// A function that it calls, with `$F` for its name; empty: none.
  std::string callee;
};

/// Ops in order, on values that are arguments or results of ops before.
struct Block {
  std::vector<Type> types;
  std::vector<int> arguments;
  std::vector<Op> ops;
  std::vector<int> results;

  int addValue(Type type);
  /// Drops ops that no result needs.
  void dropUnused();
  /// All values, of the block's results. False: see Meaning.
  bool evaluate(const Inputs &inputs, std::vector<Data> &results) const;
};

/// Prints ops and gives the operands of the terminator.
class Printer {
public:
  /// New values are named by the prefix and a number.
  explicit Printer(std::string prefix = "%v") : prefix(std::move(prefix)) {}
  /// `names` of the block's arguments. The text of callees goes to `callees`.
  std::string print(const Block &block, const std::vector<std::string> &names,
                    const std::string &indent,
                    std::vector<std::string> &resultNames);
  std::string callees;

private:
  std::string prefix;
  int count = 0;
};

struct Argument {
  /// What its integers may be: in [0, bound); 0: anything.
  int64_t bound = 0;
  /// They do not decrease along the last dimension.
  bool ascends = false;
  std::string attributes;
};

struct Program {
  std::string mesh;
  int64_t numDevices = 1;
  Block block;
  std::vector<Argument> arguments;
  std::vector<std::string> resultAttributes;

  std::string print() const;
};

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_PROGRAM_H
