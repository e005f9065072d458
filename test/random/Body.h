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

/// Ops on elements, in order, on numbered locals: first the block's arguments.
class Body {
public:
  explicit Body(std::string prefix) : prefix(std::move(prefix)) {}

  int addArgument(Elem elem);
  /// The position along a dimension, as an integer.
  int addPosition(int dim, Elem elem);
  int addConstant(Elem elem, const Number &number);
  /// -1 if the op does not take it.
  int add(const ScalarOp &op, std::vector<int> operands, Random &random);
  /// An op drawn among those that take some local; its local.
  int addRandom(Random &random);

  /// No op that is drawn uses it.
  void hide(int local) { hidden.insert(local); }

  Elem elemOf(int local) const { return elems[local]; }
  int size() const { return static_cast<int>(elems.size()); }
  int getNumArguments() const { return numArguments; }
  /// A local of this type that is not before `first`; -1: none.
  int find(Elem elem, Random &random, int first = 0) const;
  std::string nameOf(int local) const { return prefix + std::to_string(local); }

  /// The local that `yield` multiplies the running value by, as a product of
  /// floats does; -1: it is another op.
  int getFactor(int yield, int running) const;

  /// `^bb0(...):` and the lines of the ops.
  std::string print(const std::string &indent) const;
  /// Sets the locals that follow the arguments, which are set; false: not
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
  /// Of the locals that follow the arguments.
  std::vector<Line> lines;
};

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_BODY_H
