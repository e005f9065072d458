//===- Body.h - The body of a linalg op -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_BODY_H
#define TESSERA_TEST_RANDOM_BODY_H

#include "Program.h"
#include "Scalars.h"
#include <set>

namespace tessera::test {

/// Ops on elements, in order, on numbered locals; the block's arguments are the
/// first locals.
class Body {
public:
  explicit Body(std::string prefix) : prefix(std::move(prefix)) {}

  int addArgument(Elem elem);
  /// The position along a dimension, as an integer.
  int addPosition(int dim, Elem elem);
  int addConstant(Elem elem, const Number &number);
  /// Returns -1 if the op does not accept the operands.
  int add(const ScalarOp &op, std::vector<int> operands, Random &random);
  /// Adds an op that accepts some locals; returns its local.
  int addRandom(Random &random);

  /// Excludes a local from the operands of random ops.
  void hide(int local) { hidden.insert(local); }

  Elem elemOf(int local) const { return elems[local]; }
  int size() const { return static_cast<int>(elems.size()); }
  int getNumArguments() const { return numArguments; }
  /// A local of this type, `first` or later; -1: none.
  int find(Elem elem, Random &random, int first = 0) const;
  std::string nameOf(int local) const { return prefix + std::to_string(local); }

  /// The local that `yield` multiplies the running value by, if `yield` is a
  /// product of floats; -1 for another op.
  int getFactor(int yield, int running) const;

  /// `^bb0(...):` and the lines of the ops.
  std::string print(const std::string &indent) const;
  /// Sets the locals after the arguments, which are set already; false: not
  /// defined.
  bool run(std::vector<Number> &locals, const Shape &index) const;

private:
  struct Line {
    const ScalarOp *op = nullptr;
    std::vector<int> operands;
    int position = -1;
    Number constant;
  };
  std::string prefix;
  int numArguments = 0;
  std::set<int> hidden;
  std::vector<Elem> elems;
  /// The ops of the locals that follow the arguments.
  std::vector<Line> lines;
};

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_BODY_H
