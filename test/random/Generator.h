//===- Generator.h - Draws a program ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family of ops is a list of functions that try to add an op to a block:
// they draw operands among its values, and create missing ones. A new op is one
// such function.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_GENERATOR_H
#define TESSERA_TEST_RANDOM_GENERATOR_H

#include "Program.h"
#include "Random.h"
#include <set>

namespace tessera::test {

class Generator {
public:
  /// `program` is null in the block of a region, where no value is an argument
  /// of the function.
  Generator(Random &random, Block &block, Program *program, int &names)
      : random(random), block(block), program(program), names(names) {}

  Random &random;
  Block &block;
  std::vector<int64_t> sizes{2, 3, 4};
  std::vector<Elem> elems{Elem::F32};
  /// True to draw families of getEndFamilies() and getConvolutionFamilies(),
  /// and biases and sinks of attention, too.
  bool hasEnds = false;
  /// True if the family that adds an op accepts tensors without elements.
  bool takesEmpty = false;

  bool isTopLevel() const { return program != nullptr; }
  const Type &typeOf(int value) const { return block.types[value]; }

  /// Picks a value that `accepts` accepts, mostly a late one; -1: none.
  int pick(const std::function<bool(const Type &)> &accepts);
  int pickTensor(const std::function<bool(const Type &)> &accepts);
  /// Returns a value of this type: an existing one, an argument or a constant.
  int get(const Type &type);
  int addArgument(const Type &type, int64_t bound = 0, bool ascends = false);
  int addConstant(const Type &type);
  int addConstant(const Type &type, std::vector<Number> numbers);
  /// A scalar.
  int addIndex(int64_t value);

  /// Adds an op with one result; `$A` precedes the types.
  int add(const std::string &text, std::vector<int> operands, Type result,
          Meaning meaning);
  std::vector<int> add(const std::string &text, std::vector<int> operands,
                       std::vector<Type> results, Meaning meaning);

  /// Excludes a value from the operands of random ops: its contents are
  /// undefined.
  void hide(int value) { hidden.insert(value); }

  int64_t drawSize();
  Elem drawElem() { return random.pick(elems); }
  /// Draws a rank up to `most` and sizes.
  Shape drawShape(int64_t most);
  /// Draws a number that a literal represents.
  Number drawNumber(Elem elem);
  /// A prefix `%r3_` for names in a region.
  std::string drawPrefix() { return "%r" + std::to_string(names++) + "_"; }

  /// Adds `count` ops of random families.
  void addOps(int count);
  /// Returns a generator for the block of a region of one of this block's ops.
  Generator makeInner(Block &inner);

private:
  Program *program;
  int &names;
  std::set<int> hidden;
};

using Family = bool (*)(Generator &);
/// A function and its relative frequency.
struct Weighted {
  Family add;
  int weight;
  bool onlyTopLevel = false;
  /// True if it accepts tensors without elements.
  bool takesEmpty = false;
};

std::vector<Weighted> getElementwiseFamilies();
std::vector<Weighted> getGenericFamilies();
std::vector<Weighted> getLinalgFamilies();
std::vector<Weighted> getMoveFamilies();
std::vector<Weighted> getControlFamilies();
std::vector<Weighted> getTransformerFamilies();
std::vector<Weighted> getAttentionFamilies();
std::vector<Weighted> getEndFamilies();
std::vector<Weighted> getConvolutionFamilies();

/// Programs of seeds from here on have masks, ends, convolutions, biases and
/// sinks of attention, tensors without elements and any sub-axes. Smaller seeds
/// keep the programs that tests refer to.
constexpr uint64_t kWideSeeds = 10'000'000;

/// Draws the program of a seed.
Program drawProgram(uint64_t seed);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_GENERATOR_H
