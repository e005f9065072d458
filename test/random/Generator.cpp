//===- Generator.cpp - Draws a program ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "Shardings.h"

using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

int Generator::pick(const std::function<bool(const Type &)> &accepts) {
  std::vector<int> found;
  for (int value = 0; value < static_cast<int>(block.types.size()); ++value)
    if (!hidden.count(value) && (takesEmpty || block.types[value].size() > 0) &&
        accepts(block.types[value]))
      found.push_back(value);
  if (found.empty())
    return -1;
  // The later of two random values: chains get long.
  return found[std::max(random.below(found.size()),
                        random.below(found.size()))];
}

int Generator::pickTensor(const std::function<bool(const Type &)> &accepts) {
  return pick([&](const Type &type) { return type.isTensor && accepts(type); });
}

int Generator::get(const Type &type) {
  int value = pick([&](const Type &other) { return other == type; });
  if (value >= 0 && !random.oneIn(6))
    return value;
  return isTopLevel() && !random.oneIn(4) ? addArgument(type)
                                          : addConstant(type);
}

int Generator::addArgument(const Type &type, int64_t bound, bool ascends) {
  if (!isTopLevel())
    return addConstant(type);
  int value = block.addValue(type);
  block.arguments.push_back(value);
  program->arguments.push_back({bound, ascends, ""});
  return value;
}

int Generator::addConstant(const Type &type) {
  std::vector<Number> numbers;
  Number splat = drawNumber(type.elem);
  bool isSplat = random.percent(60);
  for (int64_t i = 0, n = type.size(); i < n; ++i)
    numbers.push_back(isSplat ? splat : drawNumber(type.elem));
  return addConstant(type, numbers);
}

/// Formats `[[1, 2], [3, 4]]`.
static std::string printList(const std::vector<Number> &numbers,
                             const Type &type, size_t dim, size_t &next) {
  if (dim == type.shape.size())
    return printLiteral(numbers[next++], type.elem);
  std::string text;
  for (int64_t i = 0; i < type.shape[dim]; ++i)
    text += (i ? ", " : "") + printList(numbers, type, dim + 1, next);
  return "[" + text + "]";
}

static bool isSame(const Number &a, const Number &b) {
  return a.v == b.v && a.i == b.i;
}

int Generator::addConstant(const Type &type, std::vector<Number> numbers) {
  bool isSplat = true;
  for (const Number &number : numbers)
    isSplat &= isSame(number, numbers[0]);
  std::string text;
  size_t next = 0;
  if (numbers.empty())
    text = "dense<>";
  else if (isSplat)
    text = printLiteral(numbers[0], type.elem);
  else
    text = printList(numbers, type, 0, next);
  if (type.isTensor && !numbers.empty())
    text = "dense<" + text + ">";
  // A literal of i1 needs no type.
  std::string suffix =
      type.elem == Elem::I1 && !type.isTensor ? "" : " : " + type.print();
  return add("arith.constant " + text + suffix, {}, type,
             [numbers](const Inputs &, std::vector<Data> &results) {
               results[0].numbers = numbers;
               return true;
             });
}

int Generator::addIndex(int64_t value) {
  return addConstant({Elem::Index, false, {}}, {makeInt(value, Elem::Index)});
}

int Generator::add(const std::string &text, std::vector<int> operands,
                   Type result, Meaning meaning) {
  return add(text, std::move(operands), std::vector<Type>{std::move(result)},
             std::move(meaning))[0];
}

std::vector<int> Generator::add(const std::string &text,
                                std::vector<int> operands,
                                std::vector<Type> results, Meaning meaning) {
  Op op;
  op.operands = std::move(operands);
  for (Type &type : results)
    op.results.push_back(block.addValue(std::move(type)));
  op.text = text;
  op.meaning = std::move(meaning);
  std::vector<int> values = op.results;
  block.ops.push_back(std::move(op));
  return values;
}

//===----------------------------------------------------------------------===//
// Draws
//===----------------------------------------------------------------------===//

int64_t Generator::drawSize() {
  int64_t size = random.pick(sizes);
  while (size == 0 && !takesEmpty)
    size = random.pick(sizes);
  return size;
}

Shape Generator::drawShape(int64_t most) {
  Shape shape(random.between(most > 1, most));
  for (int64_t &size : shape)
    size = drawSize();
  return shape;
}

Number Generator::drawNumber(Elem elem) {
  if (elem == Elem::I1)
    return makeInt(random.below(2), elem);
  int64_t small = random.between(-4, 4);
  if (!isFloat(elem))
    return makeInt(small, elem);
  // Few digits, so that any float type represents them.
  return makeFloat(random.oneIn(2) ? small : small * 0.25L + 0.5L);
}

Generator Generator::makeInner(Block &inner) {
  Generator generator(random, inner, nullptr, names);
  generator.sizes = sizes;
  generator.elems = elems;
  generator.hasEnds = hasEnds;
  return generator;
}

static const std::vector<Weighted> &getFamilies(bool hasEnds) {
  auto collect = [](bool hasEnds) {
    std::vector<Weighted> families;
    if (hasEnds)
      for (auto get : {getEndFamilies, getConvolutionFamilies})
        for (const Weighted &each : get())
          families.push_back(each);
    for (auto get :
         {getElementwiseFamilies, getGenericFamilies, getLinalgFamilies})
      for (Weighted each : get()) {
        each.takesEmpty = true;
        families.push_back(each);
      }
    for (auto get : {getMoveFamilies, getControlFamilies,
                     getTransformerFamilies, getAttentionFamilies})
      for (const Weighted &each : get())
        families.push_back(each);
    return families;
  };
  static const std::vector<Weighted> plain = collect(false);
  static const std::vector<Weighted> all = collect(true);
  return hasEnds ? all : plain;
}

void Generator::addOps(int count) {
  const std::vector<Weighted> &families = getFamilies(hasEnds);
  size_t total = 0;
  for (const Weighted &each : families)
    total += each.weight;
  for (int tries = 0; count > 0 && tries < 200; ++tries) {
    size_t drawn = random.below(total), i = 0;
    for (; drawn >= static_cast<size_t>(families[i].weight); ++i)
      drawn -= families[i].weight;
    if (families[i].onlyTopLevel && !isTopLevel())
      continue;
    takesEmpty = families[i].takesEmpty;
    count -= families[i].add(*this);
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static std::vector<Elem> drawElems(Random &random) {
  static const std::vector<std::vector<Elem>> choices = {
      {Elem::F32},           {Elem::F32, Elem::I32},
      {Elem::F64},           {Elem::BF16, Elem::F32},
      {Elem::F16},           {Elem::I32},
      {Elem::I8, Elem::I32}, {Elem::I64, Elem::I1},
      {Elem::I1, Elem::F32}, {Elem::I16, Elem::F64}};
  return choices[random.below(choices.size())];
}

/// Chooses values without uses, and sometimes others.
static void chooseResults(Random &random, Block &block) {
  std::set<int> used;
  for (const Op &op : block.ops)
    used.insert(op.operands.begin(), op.operands.end());
  for (const Op &op : block.ops)
    for (int result : op.results) {
      Elem elem = block.types[result].elem;
      bool isScalar = !block.types[result].isTensor;
      if (elem != Elem::Index && !isScalar &&
          (!used.count(result) || random.oneIn(12)))
        block.results.push_back(result);
    }
  if (block.results.empty())
    block.results.push_back(block.arguments[0]);
}

Program tessera::test::drawProgram(uint64_t seed) {
  Random random(seed * 2 + 1);
  Program program;
  int names = 0;
  Generator generator(random, program.block, &program, names);
  generator.elems = drawElems(random);
  generator.sizes.clear();
  for (int i = 0; i < 4; ++i)
    generator.sizes.push_back(random.between(1, 8));
  bool isWide = seed >= kWideSeeds;
  generator.hasEnds = isWide;
  if (isWide && random.oneIn(12))
    generator.sizes.push_back(0);
  generator.takesEmpty = isWide;
  for (int i = 0; i < 2; ++i)
    generator.addArgument({generator.drawElem(), true, generator.drawShape(3)});
  generator.addOps(static_cast<int>(random.between(1, 9)));
  chooseResults(random, program.block);
  drawShardings(random, program, isWide);
  return program;
}
