//===- Ends.cpp - Values that end before their tensors do -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks, zeros after a value, and bodies that extract elements of a tensor from
// outside: the forms that padding has in a partitioned program, in the program
// itself.
//
//===----------------------------------------------------------------------===//

#include "Moves.h"

using namespace tessera::test;

/// Picks a tensor, often one of equal elements, whose length is not apparent.
static int pickEnding(Generator &g, int64_t most) {
  if (g.random.oneIn(2))
    return pickRanked(g, 1, most);
  Type type{g.drawElem(), true, g.drawShape(most)};
  if (type.shape.empty())
    type.shape.push_back(g.drawSize());
  Number number = g.drawNumber(type.elem);
  return g.addConstant(type, std::vector<Number>(type.size(), number));
}

static bool addEnd(Generator &g) {
  int value = pickEnding(g, 4);
  if (value < 0)
    return false;
  Type type = g.typeOf(value);
  size_t dim = g.random.below(type.shape.size());
  int64_t size = g.random.between(0, type.shape[dim]);
  Number filler = g.random.oneIn(3)    ? g.drawNumber(type.elem)
                  : isFloat(type.elem) ? makeFloat(0)
                                       : makeInt(0, type.elem);
  addMask(g, value, dim, size, filler);
  return true;
}

static bool addZeros(Generator &g) {
  int value = pickEnding(g, 3);
  if (value < 0)
    return false;
  Type first = g.typeOf(value), second = first, result = first;
  size_t dim = g.random.below(first.shape.size());
  second.shape[dim] = g.drawSize();
  result.shape[dim] += second.shape[dim];
  Number zero = isFloat(first.elem) ? makeFloat(0) : makeInt(0, first.elem);
  int zeros = g.addConstant(second, std::vector<Number>(second.size(), zero));
  g.add("tensor.concat dim(" + std::to_string(dim) + ") $0, $1$A : (" +
            first.print() + ", " + second.print() + ") -> " + result.print(),
        {value, zeros}, result,
        [=](const Inputs &inputs, std::vector<Data> &made) {
          forEachIndex(result.shape, [&](const Shape &index) {
            made[0].at(index) =
                index[dim] < first.shape[dim] ? inputs[0]->at(index) : zero;
          });
          return true;
        });
  return true;
}

/// Adds a body that reads a tensor from outside at its own index.
static bool addCapture(Generator &g) {
  int value = pickEnding(g, 2);
  if (value < 0)
    return false;
  Type type = g.typeOf(value);
  std::string map = "affine_map<(", dims, kinds, indices, list;
  std::string prefix = g.drawPrefix();
  for (size_t d = 0; d < type.shape.size(); ++d) {
    std::string comma = d ? ", " : "";
    dims += comma + "d" + std::to_string(d);
    kinds += comma + "\"parallel\"";
    indices += "    " + prefix + std::to_string(d) + " = linalg.index " +
               std::to_string(d) + " : index\n";
    list += comma + prefix + std::to_string(d);
  }
  map += dims + ") -> (" + dims + ")>";
  std::string elem = Type{type.elem, false, {}}.print();
  int init = g.get(type);
  g.add("linalg.generic {indexing_maps = [" + map + "], iterator_types = [" +
            kinds + "]} outs($1 : " + type.print() + ") $B {\n  ^bb0(" +
            prefix + "o: " + elem + "):\n" + indices + "    " + prefix +
            "v = tensor.extract $0[" + list + "] : " + type.print() +
            "\n    linalg.yield " + prefix + "v : " + elem + "\n  } -> " +
            type.print(),
        {value, init}, type, [](const Inputs &inputs, std::vector<Data> &made) {
          made[0].numbers = inputs[0]->numbers;
          return true;
        });
  return true;
}

std::vector<Weighted> tessera::test::getEndFamilies() {
  return {{addEnd, 6}, {addZeros, 4}, {addCapture, 3}};
}
