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
  /// False for a scalar, without a shape.
  bool isTensor = true;
  Shape shape;

  int64_t rank() const { return shape.size(); }
  int64_t size() const;
  std::string print() const;
  bool operator==(const Type &o) const {
    return elem == o.elem && isTensor == o.isTensor && shape == o.shape;
  }
};

/// Elements in row-major order; a single one for a scalar.
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

/// The row-major offset of the element at an index.
int64_t flatten(const Shape &shape, const Shape &index);

/// Calls `fn(index)` for each index of a shape, the last dimension fastest.
void forEachIndex(const Shape &shape,
                  const std::function<void(const Shape &)> &fn);

using Inputs = std::vector<const Data *>;

/// Computes results, whose types are set. Returns false if the op is not
/// defined on these operands (an unknown condition, a division by zero).
using Meaning = std::function<bool(const Inputs &, std::vector<Data> &)>;

struct Op {
  std::vector<int> operands, results;
  /// `$0` is the first operand, `$A` the attributes, `$B` the attributes after
  /// `attrs =`, `$F` a name that no other function has.
  std::string text;
  Meaning meaning;
  /// Nothing, or `{...}`.
  std::string attributes;
  /// The callee's text, with `$F` for its name; empty: none.
  std::string callee;
};

/// Ops in order, on values that are arguments or results of earlier ops.
struct Block {
  std::vector<Type> types;
  std::vector<int> arguments;
  std::vector<Op> ops;
  std::vector<int> results;

  int addValue(Type type);
  /// Erases ops that no result needs.
  void dropUnused();
  /// Computes all values, then the block's results. False: see Meaning.
  bool evaluate(const Inputs &inputs, std::vector<Data> &results) const;
};

/// Prints ops and returns the operands of the terminator.
class Printer {
public:
  /// Names of new values are the prefix and a number.
  explicit Printer(std::string prefix = "%v") : prefix(std::move(prefix)) {}
  /// `names` are the names of the block's arguments. The text of callees is
  /// appended to `callees`.
  std::string print(const Block &block, const std::vector<std::string> &names,
                    const std::string &indent,
                    std::vector<std::string> &resultNames);
  std::string callees;

private:
  std::string prefix;
  int count = 0;
};

struct Argument {
  /// The range of its integers: [0, bound); 0: any.
  int64_t bound = 0;
  /// True if they do not decrease along the last dimension.
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
