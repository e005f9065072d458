//===- Moves.cpp - Ops of tensor that move elements -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Moves.h"

using namespace tessera::test;

int tessera::test::addMove(Generator &g, const std::string &text,
                           std::vector<int> operands, const Type &result,
                           const Source &source) {
  return g.add(text, std::move(operands), result,
               [source, result](const Inputs &inputs, std::vector<Data> &made) {
                 forEachIndex(result.shape, [&](const Shape &index) {
                   made[0].at(index) = inputs[0]->at(source(index));
                 });
                 return true;
               });
}

void tessera::test::addMask(Generator &g, int value, size_t dim, int64_t size,
                            const Number &filler) {
  Type type = g.typeOf(value);
  std::string literal = printLiteral(filler, type.elem);
  // A literal of i1 needs no type.
  if (type.elem != Elem::I1)
    literal += std::string(" : ") + getInfo(type.elem).name;
  g.add("nn.mask_padding $0 dim " + std::to_string(dim) + " size " +
            std::to_string(size) + " value " + literal + "$A : " + type.print(),
        {value}, type, [=](const Inputs &inputs, std::vector<Data> &made) {
          forEachIndex(type.shape, [&](const Shape &index) {
            made[0].at(index) =
                index[dim] < size ? inputs[0]->at(index) : filler;
          });
          return true;
        });
}

std::string tessera::test::printInts(const Shape &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

int tessera::test::pickRanked(Generator &g, int64_t least, int64_t most) {
  return g.pickTensor([&](const Type &type) {
    return type.elem != Elem::Index && type.rank() >= least &&
           type.rank() <= most && type.size() > 0;
  });
}

static std::string printTypes(const Type &from, const char *word,
                              const Type &to) {
  return "$A : " + from.print() + word + to.print();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

namespace {
struct Slice {
  Shape offsets, sizes, strides;
};
} // namespace

/// Draws a slice, mostly whole along all dimensions but one.
static Slice drawSlice(Generator &g, const Shape &shape) {
  Slice slice;
  size_t sliced = g.random.below(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    bool whole = d != sliced && !g.random.oneIn(3);
    int64_t stride = !whole && g.random.oneIn(6) ? 2 : 1;
    int64_t size = whole
                       ? shape[d]
                       : g.random.between(1, (shape[d] + stride - 1) / stride);
    int64_t reach = (size - 1) * stride + 1;
    slice.sizes.push_back(size);
    slice.strides.push_back(stride);
    slice.offsets.push_back(g.random.between(0, shape[d] - reach));
  }
  return slice;
}

static std::string print(const Slice &slice) {
  return printInts(slice.offsets) + " " + printInts(slice.sizes) + " " +
         printInts(slice.strides);
}

static bool addExtractSlice(Generator &g) {
  int value = pickRanked(g, 1, 4);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  Slice slice = drawSlice(g, type.shape);
  result.shape.clear();
  // Dimensions of size 1 may be dropped.
  std::vector<int> position;
  bool drops = g.random.oneIn(4);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    bool dropped = drops && slice.sizes[d] == 1;
    position.push_back(dropped ? -1 : static_cast<int>(result.shape.size()));
    if (!dropped)
      result.shape.push_back(slice.sizes[d]);
  }
  addMove(g,
          "tensor.extract_slice $0" + print(slice) +
              printTypes(type, " to ", result),
          {value}, result, [=](const Shape &index) {
            Shape from = slice.offsets;
            for (size_t d = 0; d < from.size(); ++d)
              from[d] +=
                  position[d] < 0 ? 0 : index[position[d]] * slice.strides[d];
            return from;
          });
  return true;
}

static bool addInsertSlice(Generator &g) {
  int value = pickRanked(g, 1, 4);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), part = type;
  Slice slice = drawSlice(g, type.shape);
  part.shape = slice.sizes;
  int source = g.get(part);
  g.add("tensor.insert_slice $0 into $1" + print(slice) +
            printTypes(part, " into ", type),
        {source, value}, type,
        [slice](const Inputs &inputs, std::vector<Data> &made) {
          made[0].numbers = inputs[1]->numbers;
          forEachIndex(slice.sizes, [&](const Shape &index) {
            Shape to = slice.offsets;
            for (size_t d = 0; d < to.size(); ++d)
              to[d] += index[d] * slice.strides[d];
            made[0].at(to) = inputs[0]->at(index);
          });
          return true;
        });
  return true;
}

static bool addConcat(Generator &g) {
  int value = pickRanked(g, 1, 4);
  if (value < 0)
    return false;
  Type first = g.typeOf(value), second = first;
  size_t dim = g.random.below(first.shape.size());
  if (g.random.oneIn(2))
    second.shape[dim] = g.drawSize();
  std::vector<int> operands{value, g.get(second)};
  if (g.random.oneIn(3))
    std::swap(operands[0], operands[1]);
  if (g.random.oneIn(5))
    operands.push_back(value);
  Type result = first;
  result.shape[dim] = 0;
  std::string names, types;
  for (size_t i = 0; i < operands.size(); ++i) {
    result.shape[dim] += g.typeOf(operands[i]).shape[dim];
    names += (i ? ", $" : "$") + std::to_string(i);
    types += (i ? ", " : "") + g.typeOf(operands[i]).print();
  }
  g.add("tensor.concat dim(" + std::to_string(dim) + ") " + names + "$A : (" +
            types + ") -> " + result.print(),
        operands, result, [=](const Inputs &inputs, std::vector<Data> &made) {
          forEachIndex(result.shape, [&](const Shape &index) {
            Shape from = index;
            size_t i = 0;
            for (; from[dim] >= inputs[i]->type.shape[dim]; ++i)
              from[dim] -= inputs[i]->type.shape[dim];
            made[0].at(index) = inputs[i]->at(from);
          });
          return true;
        });
  return true;
}

static bool addPad(Generator &g) {
  int value = pickRanked(g, 1, 3);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  Shape low, high;
  std::string arguments, prefix = g.drawPrefix();
  for (size_t d = 0; d < type.shape.size(); ++d) {
    low.push_back(g.random.oneIn(2) ? g.random.between(0, 2) : 0);
    high.push_back(g.random.oneIn(2) ? g.random.between(0, 3) : 0);
    result.shape[d] += low[d] + high[d];
    arguments += (d ? ", " : "") + prefix + std::to_string(d) + ": index";
  }
  Type scalar{type.elem, false, {}};
  int filler =
      g.random.oneIn(3)
          ? g.addConstant(scalar, {isFloat(type.elem) ? makeFloat(0)
                                                      : makeInt(0, type.elem)})
          : g.get(scalar);
  g.add("tensor.pad $0 low" + printInts(low) + " high" + printInts(high) +
            " {\n  ^bb0(" + arguments +
            "):\n    tensor.yield $1 : " + scalar.print() +
            "\n  }$A : " + type.print() + " to " + result.print(),
        {value, filler}, result,
        [=](const Inputs &inputs, std::vector<Data> &made) {
          for (Number &number : made[0].numbers)
            number = (*inputs[1])[0];
          forEachIndex(type.shape, [&](const Shape &index) {
            Shape to = index;
            for (size_t d = 0; d < to.size(); ++d)
              to[d] += low[d];
            made[0].at(to) = inputs[0]->at(index);
          });
          return true;
        });
  return true;
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Adds a reshape: the same elements in order.
static void addReshape(Generator &g, const std::string &text, int value,
                       const Type &result) {
  g.add(text, {value}, result,
        [](const Inputs &inputs, std::vector<Data> &made) {
          made[0].numbers = inputs[0]->numbers;
          return true;
        });
}

/// Formats `[[0, 1], [2]]`, groups of neighbours.
static std::string printGroups(const std::vector<Shape> &groups) {
  std::string text;
  for (const Shape &group : groups)
    text += (text.empty() ? "" : ", ") + printInts(group);
  return "[" + text + "]";
}

static bool addCollapse(Generator &g) {
  int value = pickRanked(g, 2, 4);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  std::vector<Shape> groups;
  result.shape.clear();
  for (int64_t d = 0; d < type.rank(); ++d) {
    if (d == 0 || g.random.oneIn(3)) {
      groups.emplace_back();
      result.shape.push_back(1);
    }
    groups.back().push_back(d);
    result.shape.back() *= type.shape[d];
  }
  if (result.rank() == type.rank())
    return false;
  addReshape(g,
             "tensor.collapse_shape $0 " + printGroups(groups) +
                 printTypes(type, " into ", result),
             value, result);
  return true;
}

static bool addExpand(Generator &g) {
  int value = pickRanked(g, 1, 3);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  size_t sliced = g.random.below(type.shape.size());
  std::vector<int64_t> divisors;
  for (int64_t n = 1; n <= type.shape[sliced]; ++n)
    if (type.shape[sliced] % n == 0)
      divisors.push_back(n);
  int64_t divisor = g.random.pick(divisors);
  result.shape[sliced] = divisor;
  result.shape.insert(result.shape.begin() + sliced + 1,
                      type.shape[sliced] / divisor);
  std::vector<Shape> groups;
  int64_t next = 0;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    groups.push_back({next++});
    if (d == sliced)
      groups.back().push_back(next++);
  }
  addReshape(g,
             "tensor.expand_shape $0 " + printGroups(groups) +
                 " output_shape " + printInts(result.shape) +
                 printTypes(type, " into ", result),
             value, result);
  return true;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static bool addExtract(Generator &g) {
  int value = pickRanked(g, 0, 3);
  if (value < 0)
    return false;
  Type type = g.typeOf(value);
  std::vector<int> operands{value};
  Shape position;
  std::string text = "tensor.extract $0[";
  for (int64_t d = 0; d < type.rank(); ++d) {
    position.push_back(g.random.between(0, type.shape[d] - 1));
    operands.push_back(g.addIndex(position.back()));
    text += (d ? ", $" : "$") + std::to_string(d + 1);
  }
  Type scalar{type.elem, false, {}};
  addMove(g, text + "] : " + type.print(), operands, scalar,
          [position](const Shape &) { return position; });
  return true;
}

static bool addSplat(Generator &g) {
  int value = g.pick([](const Type &type) {
    return !type.isTensor && type.elem != Elem::Index;
  });
  if (value < 0)
    return false;
  Type result{g.typeOf(value).elem, true, g.drawShape(3)};
  addMove(g, "tensor.splat $0$A : " + result.print(), {value}, result,
          [](const Shape &) { return Shape(); });
  return true;
}

static bool addGenerate(Generator &g) {
  Type result{Elem::I32, true, g.drawShape(3)};
  if (result.shape.empty())
    return false;
  std::string arguments, lines, prefix = g.drawPrefix(), sum;
  for (size_t d = 0; d < result.shape.size(); ++d) {
    std::string name = prefix + std::to_string(d);
    arguments += (d ? ", " : "") + name + ": index";
    lines +=
        "    " + name + "c = arith.index_cast " + name + " : index to i32\n";
    if (d)
      lines +=
          "    " + name + "s = arith.muli " + sum + ", " + name + "c : i32\n";
    sum = name + (d ? "s" : "c");
  }
  g.add("tensor.generate {\n  ^bb0(" + arguments + "):\n" + lines +
            "    tensor.yield " + sum + " : i32\n  }$A : " + result.print(),
        {}, result, [result](const Inputs &, std::vector<Data> &made) {
          forEachIndex(result.shape, [&](const Shape &index) {
            int64_t product = 1;
            for (int64_t i : index)
              product *= i;
            made[0].at(index) = makeInt(product, Elem::I32);
          });
          return true;
        });
  return true;
}

std::vector<Weighted> tessera::test::getMoveFamilies() {
  return {{addExtractSlice, 4}, {addInsertSlice, 2}, {addConcat, 3},
          {addPad, 2},          {addCollapse, 3},    {addExpand, 3},
          {addExtract, 2},      {addSplat, 1},       {addGenerate, 1}};
}
