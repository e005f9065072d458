//===- Generic.cpp - linalg.generic ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generic.h"
#include <algorithm>
#include <cmath>

using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

static Shape project(const Shape &index, const Map &map) {
  Shape projected;
  for (int dim : map)
    projected.push_back(index[dim]);
  return projected;
}

namespace {

/// An output that is a product: the partial products of its elements.
struct Product {
  /// The local that the body multiplies by; -1: the output is not a product.
  int factor = -1;
  std::vector<PartialProduct> elements;
};

} // namespace

/// Products start with the initial values of the outputs.
static std::vector<Product> startProducts(const Loops &loops, const Body &body,
                                          const std::vector<Data> &results) {
  std::vector<Product> products(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    int running = static_cast<int>(loops.numInputs + i);
    products[i].factor = body.getFactor(loops.yields[i], running);
    if (products[i].factor < 0)
      continue;
    for (const Number &number : results[i].numbers)
      products[i].elements.emplace_back().multiply(number);
  }
  return products;
}

bool tessera::test::runLoops(const Loops &loops, const Body &body,
                             const Inputs &inputs, std::vector<Data> &results) {
  for (size_t i = 0; i < results.size(); ++i)
    results[i].numbers = inputs[loops.numInputs + i]->numbers;
  std::vector<Product> products = startProducts(loops, body, results);
  bool defined = true;
  std::vector<Number> locals;
  forEachIndex(loops.sizes, [&](const Shape &index) {
    locals.resize(loops.maps.size());
    for (size_t i = 0; i < loops.maps.size(); ++i) {
      const Data &data =
          i < loops.numInputs ? *inputs[i] : results[i - loops.numInputs];
      locals[i] =
          data.type.isTensor ? data.at(project(index, loops.maps[i])) : data[0];
    }
    defined = defined && body.run(locals, index);
    for (size_t i = 0; i < results.size() && defined; ++i) {
      Shape to = project(index, loops.maps[loops.numInputs + i]);
      results[i].at(to) = locals[loops.yields[i]];
      if (products[i].factor >= 0)
        products[i].elements[flatten(results[i].type.shape, to)].multiply(
            locals[products[i].factor]);
    }
  });
  int64_t terms = 1;
  for (size_t d = 0; d < loops.sizes.size(); ++d)
    terms *= loops.isReduction[d] ? loops.sizes[d] : 1;
  for (size_t i = 0; i < results.size(); ++i) {
    Elem elem = results[i].type.elem;
    if (terms == 1 || !isFloat(elem))
      continue;
    for (size_t k = 0; k < results[i].numbers.size(); ++k) {
      Number &number = results[i][k];
      number = products[i].factor < 0
                   ? loosenSum(number, terms, elem)
                   : products[i].elements[k].loosen(number, terms, elem);
    }
  }
  return defined;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

int tessera::test::addEmpty(Generator &g, const Type &type) {
  int empty = g.add("tensor.empty()$A : " + type.print(), {}, type,
                    [](const Inputs &, std::vector<Data> &results) {
                      for (Number &number : results[0].numbers)
                        number = makeUnknown();
                      return true;
                    });
  g.hide(empty);
  return empty;
}

int tessera::test::addFill(Generator &g, const Type &type,
                           const Number &number) {
  if (g.random.oneIn(3))
    return g.addConstant(type, std::vector<Number>(type.size(), number));
  int scalar = g.addConstant({type.elem, false, {}}, {number});
  std::string elem = getInfo(type.elem).name;
  return g.add("linalg.fill$A ins($0 : " + elem +
                   ") outs($1 : " + type.print() + ") -> " + type.print(),
               {scalar, addEmpty(g, type)}, type,
               [](const Inputs &inputs, std::vector<Data> &results) {
                 for (Number &number : results[0].numbers)
                   number = (*inputs[0])[0];
                 return true;
               });
}

Number tessera::test::getNeutral(const ScalarOp &combiner, Elem elem) {
  std::string name = combiner.name;
  auto ends = [&](const char *suffix) {
    return name.find(suffix) != std::string::npos;
  };
  int bits = getInfo(elem).bits;
  if (isFloat(elem)) {
    if (ends("mul"))
      return makeFloat(1);
    if (ends("max"))
      return makeFloat(-INFINITY);
    return makeFloat(ends("min") ? INFINITY : 0);
  }
  int64_t least = elem == Elem::I1 ? 1 : int64_t(uint64_t(1) << (bits - 1));
  if (ends("muli"))
    return makeInt(1, elem);
  if (ends("andi") || ends("minui"))
    return makeInt(-1, elem);
  if (ends("maxsi"))
    return makeInt(least, elem);
  return makeInt(ends("minsi") ? ~least : 0, elem);
}

const ScalarOp &tessera::test::drawCombiner(Random &random, Elem elem) {
  std::vector<const ScalarOp *> combiners;
  for (const ScalarOp &op : getScalarOps())
    if (op.combines && accepts(op, elem))
      combiners.push_back(&op);
  // Sums and maxima are more frequent than the others.
  return *combiners[random.oneIn(3) ? 0 : random.below(combiners.size())];
}

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

namespace {

/// Draws one op, input by input.
class Drawing {
public:
  explicit Drawing(Generator &g) : g(g), body(g.drawPrefix()) {}
  bool draw();

private:
  bool drawInputs();
  int drawOutputs(bool reduces);
  void addOutput(int yield, const Map &map, int start);
  Type typeOf(const Map &map, Elem elem) const;
  void emit();

  Generator &g;
  Body body;
  Loops loops;
  std::vector<int> operands;
  std::vector<Type> results;
};

} // namespace

Type Drawing::typeOf(const Map &map, Elem elem) const {
  Type type{elem, true, {}};
  for (int dim : map)
    type.shape.push_back(loops.sizes[dim]);
  return type;
}

/// Draws some of the loops, mostly in order.
static Map drawMap(Random &random, size_t count, size_t percent) {
  Map map;
  for (size_t d = 0; d < count; ++d)
    if (random.percent(percent))
      map.push_back(static_cast<int>(d));
  if (map.size() > 1 && random.oneIn(4))
    std::swap(map[random.below(map.size())], map[random.below(map.size())]);
  return map;
}

bool Drawing::drawInputs() {
  int first = g.pickTensor([](const Type &type) {
    return type.elem != Elem::Index && type.rank() < 4;
  });
  if (first < 0)
    return false;
  const Type type = g.typeOf(first);
  loops.sizes = type.shape;
  Map all;
  for (int d = 0; d < static_cast<int>(type.rank()); ++d)
    all.push_back(d);
  bool more = g.random.oneIn(3) && type.rank() < 3;
  if (more)
    loops.sizes.push_back(g.drawSize());
  operands.push_back(first);
  loops.maps.push_back(all);
  body.addArgument(type.elem);
  // Inputs with the new loop, and sometimes others.
  for (int i = 0, n = (more || g.random.oneIn(2)) + g.random.oneIn(5); i < n;
       ++i) {
    Map map = drawMap(g.random, loops.sizes.size(), 70);
    if (more && i == 0 &&
        std::find(map.begin(), map.end(), type.rank()) == map.end())
      map.push_back(static_cast<int>(type.rank()));
    Elem elem = g.random.oneIn(4) ? g.drawElem() : type.elem;
    operands.push_back(g.get(typeOf(map, elem)));
    loops.maps.push_back(map);
    body.addArgument(elem);
  }
  loops.numInputs = operands.size();
  return true;
}

void Drawing::addOutput(int yield, const Map &map, int start) {
  loops.maps.push_back(map);
  loops.yields.push_back(yield);
  operands.push_back(start);
  results.push_back(g.typeOf(start));
}

bool Drawing::draw() {
  if (!drawInputs())
    return false;
  size_t rank = loops.sizes.size();
  bool reduces = rank > 0 && g.random.oneIn(2);
  Map map = drawMap(g.random, rank, reduces ? 50 : 100);
  Elem elem =
      g.random.oneIn(5)
          ? g.drawElem()
          : body.elemOf(static_cast<int>(g.random.below(loops.numInputs)));
  int numOutputs = g.random.oneIn(6) ? 2 : 1;
  std::vector<int> running;
  for (int i = 0; i < numOutputs; ++i)
    running.push_back(body.addArgument(elem));
  bool readsRunning = g.random.oneIn(6);
  int bodyOps = static_cast<int>(g.random.between(reduces ? 0 : 1, 4));
  loops.isReduction.assign(rank, true);
  for (int dim : map)
    loops.isReduction[dim] = false;
  int first = static_cast<int>(loops.numInputs);
  if (!readsRunning || (reduces && !g.random.oneIn(4)))
    for (int local : running)
      body.hide(local);
  if (rank > 0 && g.random.oneIn(6))
    body.addPosition(static_cast<int>(g.random.below(rank)),
                     g.random.oneIn(2) ? Elem::I32 : Elem::I64);
  for (int i = 0; i < bodyOps; ++i)
    body.addRandom(g.random);
  for (int i = 0; i < numOutputs; ++i) {
    int yield = body.find(elem, g.random, bodyOps ? first + numOutputs : 0);
    if (yield < 0)
      yield = body.find(elem, g.random);
    if (yield < 0)
      yield = body.addConstant(elem, g.drawNumber(elem));
    Type type = typeOf(map, elem);
    int start = -1;
    if (reduces) {
      const ScalarOp &combiner = drawCombiner(g.random, elem);
      std::vector<int> both{running[i], yield};
      if (g.random.oneIn(3))
        std::swap(both[0], both[1]);
      yield = body.add(combiner, both, g.random);
      start = g.random.oneIn(4) ? g.get(type)
              : g.random.oneIn(6)
                  ? addFill(g, type, g.drawNumber(elem))
                  : addFill(g, type, getNeutral(combiner, elem));
    } else {
      start =
          readsRunning || g.random.oneIn(4) ? g.get(type) : addEmpty(g, type);
    }
    addOutput(yield, map, start);
  }
  emit();
  return true;
}

static std::string printMap(const Map &map, size_t rank) {
  std::string text = "affine_map<(";
  for (size_t d = 0; d < rank; ++d)
    text += (d ? ", d" : "d") + std::to_string(d);
  text += ") -> (";
  for (size_t i = 0; i < map.size(); ++i)
    text += (i ? ", d" : "d") + std::to_string(map[i]);
  return text + ")>";
}

void Drawing::emit() {
  size_t rank = loops.sizes.size();
  std::string maps, iterators, ins, inTypes, outs, outTypes, yields, types;
  for (size_t i = 0; i < operands.size(); ++i) {
    maps += (i ? ", " : "") + printMap(loops.maps[i], rank);
    bool isInput = i < loops.numInputs;
    std::string &names = isInput ? ins : outs;
    std::string &to = isInput ? inTypes : outTypes;
    std::string comma = names.empty() ? "" : ", ";
    names += comma + "$" + std::to_string(i);
    to += comma + g.typeOf(operands[i]).print();
  }
  for (size_t d = 0; d < rank; ++d)
    iterators += std::string(d ? ", " : "") +
                 (loops.isReduction[d] ? "\"reduction\"" : "\"parallel\"");
  for (int yield : loops.yields) {
    std::string comma = yields.empty() ? "" : ", ";
    yields += comma + body.nameOf(yield);
    types += comma + getInfo(body.elemOf(yield)).name;
  }
  std::string text = "linalg.generic {indexing_maps = [" + maps +
                     "], iterator_types = [" + iterators + "]} ins(" + ins +
                     " : " + inTypes + ") outs(" + outs + " : " + outTypes +
                     ")$B {\n" + body.print("  ") + "    linalg.yield " +
                     yields + " : " + types + "\n  } -> ";
  text += results.size() > 1 ? "(" + outTypes + ")" : outTypes;
  g.add(text, operands, results,
        [loops = loops, body = body](const Inputs &inputs,
                                     std::vector<Data> &made) {
          return runLoops(loops, body, inputs, made);
        });
}

static bool addGeneric(Generator &g) { return Drawing(g).draw(); }

std::vector<Weighted> tessera::test::getGenericFamilies() {
  return {{addGeneric, 14}};
}
