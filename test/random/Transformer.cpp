//===- Transformer.cpp - Ops of the nn dialect ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops with an internal reduction are computed step by step, each rounded to the
// element type: an implementation that rounds less often is within that error.
//
//===----------------------------------------------------------------------===//

#include "Generic.h"
#include "Moves.h"
#include "Rows.h"
#include <cmath>

using namespace tessera::test;

static Number call(const char *name, const Number &x, Elem elem) {
  return findScalarOp(name).fn(&x, elem, elem);
}

static int pickFloats(Generator &g, int64_t least, int64_t most) {
  return g.pickTensor([&](const Type &type) {
    return isFloat(type.elem) && type.rank() >= least && type.rank() <= most;
  });
}

static std::vector<Number> unknown(const std::vector<Number> &row) {
  return std::vector<Number>(row.size(), makeUnknown());
}

//===----------------------------------------------------------------------===//
// Along one dimension
//===----------------------------------------------------------------------===//

static bool addSoftmax(Generator &g) {
  int value = pickFloats(g, 1, 3);
  if (value < 0)
    return false;
  Type type = g.typeOf(value);
  size_t dim = g.random.below(type.shape.size());
  bool ours = g.random.oneIn(2);
  std::vector<int> operands{value};
  std::string text =
      "nn.softmax $0 dim " + std::to_string(dim) + "$A : " + type.print();
  if (!ours) {
    operands.push_back(addEmpty(g, type));
    text = "linalg.softmax$A dimension(" + std::to_string(dim) +
           ") ins($0 : " + type.print() + ") outs($1 : " + type.print() +
           ") -> " + type.print();
  }
  g.add(text, operands, type,
        [=](const Inputs &inputs, std::vector<Data> &made) {
          forEachRow(*inputs[0], dim, [&](const auto &row, const Shape &index) {
            Number total;
            std::vector<Number> powers = exponentials(row, type.elem, total);
            for (Number &power : powers)
              power = divide(power, total, type.elem);
            setRow(made[0], index, dim, areFinite(row) ? powers : unknown(row));
          });
          return true;
        });
  return true;
}

/// layer_norm and rms_norm.
static bool addNorm(Generator &g) {
  int value = pickFloats(g, 1, 3);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), weight{type.elem, true, {type.shape.back()}};
  bool centered = g.random.oneIn(2);
  std::vector<int> operands{value, g.get(weight)};
  std::string text = "nn.rms_norm $0, $1 eps 1.0e-2$A : " + type.print() +
                     ", " + weight.print();
  if (centered) {
    operands.push_back(g.get(weight));
    text = "nn.layer_norm $0, $1, $2 eps 1.0e-2$A : " + type.print() + ", " +
           weight.print() + ", " + weight.print();
  }
  g.add(text, operands, type,
        [=](const Inputs &inputs, std::vector<Data> &made) {
          Elem elem = type.elem;
          size_t dim = type.shape.size() - 1;
          Number count = makeFloat(type.shape.back());
          forEachRow(*inputs[0], dim, [&](auto row, const Shape &index) {
            bool plain = areFinite(row);
            if (centered) {
              Number mean = divide(sum(row, elem), count, elem);
              for (Number &number : row)
                number = subtract(number, mean, elem);
            }
            std::vector<Number> squares;
            for (const Number &number : row)
              squares.push_back(multiply(number, number, elem));
            Number variance = divide(sum(squares, elem), count, elem);
            Number root =
                call("math.sqrt", add(variance, makeFloat(0.01L), elem), elem);
            for (size_t i = 0; i < row.size(); ++i) {
              row[i] =
                  multiply(divide(row[i], root, elem), (*inputs[1])[i], elem);
              if (centered)
                row[i] = add(row[i], (*inputs[2])[i], elem);
            }
            setRow(made[0], index, dim, plain ? row : unknown(row));
          });
          return true;
        });
  return true;
}

/// Adds a search for the first of the largest or smallest elements; unknown if
/// rounding may exchange two of them.
static bool addArgReduce(Generator &g) {
  int value = g.pickTensor([](const Type &type) {
    return type.elem != Elem::Index && type.elem != Elem::I1 &&
           type.rank() >= 1;
  });
  if (value < 0)
    return false;
  Type type = g.typeOf(value), least = type, index;
  size_t dim = g.random.below(type.shape.size());
  bool isMax = g.random.oneIn(2);
  least.shape.erase(least.shape.begin() + dim);
  index = least;
  index.elem = Elem::I32;
  g.add(std::string("nn.arg_reduce <") + (isMax ? "max" : "min") + "> $0 dim " +
            std::to_string(dim) + "$A : " + type.print() + " -> " +
            least.print() + ", " + index.print(),
        {value}, {least, index},
        [=](const Inputs &inputs, std::vector<Data> &made) {
          forEachRow(*inputs[0], dim, [&](auto row, const Shape &index) {
            Number best = row[0], at = makeInt(0, Elem::I32);
            for (size_t i = 1; i < row.size(); ++i) {
              bool real = isFloat(type.elem);
              bool isKnown = row[i].isKnown() && best.isKnown();
              int order = real                ? compare(row[i], best)
                          : !isKnown          ? 3
                          : row[i].i < best.i ? -1
                                              : row[i].i > best.i;
              // The first NaN wins, and the best so far may be one.
              if (order == 2 && !best.isKnown())
                order = 3;
              bool bestIsNaN = real && best.isKnown() && std::isnan(best.v);
              bool better = order == 2 ? !bestIsNaN : order == (isMax ? 1 : -1);
              if (order == 3) {
                at = makeUnknown();
                best = real ? extremum(row[i], best, isMax) : makeUnknown();
              } else if (better) {
                best = row[i];
                at = at.isKnown() ? makeInt(i, Elem::I32) : at;
              }
            }
            Shape to = index;
            to.erase(to.begin() + dim);
            made[0].at(to) = best;
            made[1].at(to) = at;
          });
          return true;
        });
  return true;
}

static bool addReduce(Generator &g) {
  int value = pickRanked(g, 1, 4);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  result.shape.clear();
  Shape dims;
  Map all, kept;
  Loops loops;
  for (int d = 0; d < static_cast<int>(type.rank()); ++d) {
    bool reduced = g.random.oneIn(2);
    all.push_back(d);
    loops.isReduction.push_back(reduced);
    if (reduced) {
      dims.push_back(d);
    } else {
      kept.push_back(d);
      result.shape.push_back(type.shape[d]);
    }
  }
  if (dims.empty())
    return false;
  static const char *kinds[] = {"sum", "max", "min"};
  static const char *ofFloats[] = {"arith.addf", "arith.maximumf",
                                   "arith.minimumf"};
  static const char *ofInts[] = {"arith.addi", "arith.maxsi", "arith.minsi"};
  size_t kind = g.random.below(3);
  // Booleans are 0 and 1 here.
  if (type.elem == Elem::I1)
    return false;
  const ScalarOp &op =
      findScalarOp((isFloat(type.elem) ? ofFloats : ofInts)[kind]);
  Number start = getNeutral(op, type.elem);
  loops.sizes = type.shape;
  loops.maps = {all, kept};
  loops.numInputs = 1;
  Body body("");
  body.addArgument(type.elem);
  body.addArgument(type.elem);
  loops.yields = {body.add(op, {1, 0}, g.random)};
  g.add(std::string("nn.reduce <") + kinds[kind] + "> $0 dims " +
            printInts(dims) + "$A : " + type.print() + " -> " + result.print(),
        {value}, result, [=](const Inputs &inputs, std::vector<Data> &made) {
          Data initial(result);
          for (Number &number : initial.numbers)
            number = start;
          return runLoops(loops, body, {inputs[0], &initial}, made);
        });
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static bool addEinsum(Generator &g) {
  int value = g.pickTensor([](const Type &type) {
    return type.elem != Elem::Index && type.elem != Elem::I1 &&
           type.rank() >= 1 && type.rank() <= 3;
  });
  if (value < 0)
    return false;
  Type lhs = g.typeOf(value);
  Loops loops;
  loops.sizes = lhs.shape;
  Map left, right, kept;
  for (int d = 0; d < static_cast<int>(lhs.rank()); ++d) {
    left.push_back(d);
    // Loops of one operand, or of both: shared loops may be summed.
    bool shared = g.random.percent(60);
    bool isSummed = shared && g.random.percent(70);
    if (shared)
      right.push_back(d);
    if (!isSummed)
      kept.push_back(d);
    loops.isReduction.push_back(isSummed);
  }
  if (g.random.oneIn(2)) {
    int d = static_cast<int>(loops.sizes.size());
    loops.sizes.push_back(g.drawSize());
    loops.isReduction.push_back(false);
    right.push_back(d);
    kept.push_back(d);
  }
  if (kept.size() > 1 && g.random.oneIn(3))
    std::swap(kept[0], kept[kept.size() - 1]);
  if (right.size() > 1 && g.random.oneIn(3))
    std::swap(right[0], right[right.size() - 1]);
  auto typeOf = [&](const Map &map) {
    Type type{lhs.elem, true, {}};
    for (int dim : map)
      type.shape.push_back(loops.sizes[dim]);
    return type;
  };
  auto letters = [](const Map &map) {
    std::string text;
    for (int dim : map)
      text += static_cast<char>('a' + dim);
    return text;
  };
  Type rhs = typeOf(right), result = typeOf(kept);
  loops.maps = {left, right, kept};
  loops.numInputs = 2;
  Body body("");
  for (int i = 0; i < 3; ++i)
    body.addArgument(lhs.elem);
  bool real = isFloat(lhs.elem);
  int product = body.add(findScalarOp(real ? "arith.mulf" : "arith.muli"),
                         {0, 1}, g.random);
  loops.yields = {body.add(findScalarOp(real ? "arith.addf" : "arith.addi"),
                           {2, product}, g.random)};
  g.add("nn.einsum \"" + letters(left) + "," + letters(right) + "->" +
            letters(kept) + "\" $0, $1$A : " + lhs.print() + ", " +
            rhs.print() + " -> " + result.print(),
        {value, g.get(rhs)}, result,
        [=](const Inputs &inputs, std::vector<Data> &made) {
          Data initial(result);
          for (Number &number : initial.numbers)
            number = real ? makeFloat(0) : makeInt(0, result.elem);
          return runLoops(loops, body, {inputs[0], inputs[1], &initial}, made);
        });
  return true;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

static long double gelu(long double x) { return x / 2 * erfcl(-x / sqrtl(2)); }
static long double geluByTanh(long double x) {
  long double inner = sqrtl(2 / M_PIl) * (x + 0.044715L * x * x * x);
  return x / (1 + expl(-2 * inner));
}
static long double silu(long double x) { return x / (1 + expl(-x)); }

static bool addActivation(Generator &g) {
  static const std::pair<const char *, long double (*)(long double)> all[] = {
      {"nn.gelu <erf> $0", gelu},
      {"nn.gelu <tanh> $0", geluByTanh},
      {"nn.silu $0", silu}};
  int value = pickFloats(g, 0, 4);
  if (value < 0)
    return false;
  Type type = g.typeOf(value);
  const auto &[text, fn] = all[g.random.below(3)];
  g.add(std::string(text) + "$A : " + type.print(), {value}, type,
        [type, fn = fn](const Inputs &inputs, std::vector<Data> &made) {
          for (int64_t i = 0, n = type.size(); i < n; ++i) {
            const Number &x = (*inputs[0])[i];
            if (!isFiniteNumber(x)) {
              bool isNaN = x.isKnown() && std::isnan(x.v);
              made[0][i] = isNaN ? x : makeUnknown();
              continue;
            }
            // Far to the left of 0 it is a difference of larger numbers.
            double reach = std::fabs(static_cast<double>(x.v)) + x.error;
            made[0][i] =
                finish(fn(x.v), 1.2 * x.error, reach, false, type.elem, 8);
          }
          return true;
        });
  return true;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static bool addIota(Generator &g) {
  Type result{Elem::I32, true, {g.drawSize()}};
  g.add("nn.iota$A : " + result.print(), {}, result,
        [](const Inputs &, std::vector<Data> &made) {
          for (size_t i = 0; i < made[0].numbers.size(); ++i)
            made[0][i] = makeInt(i, Elem::I32);
          return true;
        });
  return true;
}

static bool addMaskPadding(Generator &g) {
  int value = pickFloats(g, 1, 3);
  if (value < 0)
    return false;
  Type type = g.typeOf(value);
  size_t dim = g.random.below(type.shape.size());
  int64_t size = g.random.between(1, type.shape[dim]);
  addMask(g, value, dim, size, g.drawNumber(type.elem));
  return true;
}

/// Picks the element of a row at an index, 0 for an invalid index.
static bool addPick(Generator &g) {
  int value = g.isTopLevel() ? pickFloats(g, 1, 3) : -1;
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  int64_t size = type.shape.back();
  result.shape.pop_back();
  Type index = result;
  index.elem = Elem::I32;
  int where = g.addArgument(index, size);
  g.add("nn.take_along_axis $0, $1$A : " + type.print() + ", " + index.print() +
            " -> " + result.print(),
        {value, where}, result,
        [=](const Inputs &inputs, std::vector<Data> &made) {
          for (int64_t i = 0, n = result.size(); i < n; ++i)
            made[0][i] = (*inputs[0])[i * size + (*inputs[1])[i].i];
          return true;
        });
  return true;
}

static bool addEmbedding(Generator &g) {
  int table = g.isTopLevel() ? pickFloats(g, 2, 2) : -1;
  if (table < 0)
    return false;
  Type type = g.typeOf(table);
  Type ids{Elem::I32, true, g.drawShape(2)}, result{type.elem, true, ids.shape};
  int64_t width = type.shape[1];
  result.shape.push_back(width);
  int which = g.addArgument(ids, type.shape[0]);
  g.add("nn.embedding $0, $1$A : " + type.print() + ", " + ids.print() +
            " -> " + result.print(),
        {table, which}, result,
        [=](const Inputs &inputs, std::vector<Data> &made) {
          for (int64_t i = 0, n = result.size(); i < n; ++i)
            made[0][i] =
                (*inputs[0])[(*inputs[1])[i / width].i * width + i % width];
          return true;
        });
  return true;
}

static bool addCrossEntropy(Generator &g) {
  int value = g.isTopLevel() ? pickFloats(g, 2, 3) : -1;
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  size_t dim = type.shape.size() - 1;
  int64_t size = type.shape.back();
  result.shape.pop_back();
  result.elem = type.elem == Elem::F64 ? Elem::F64 : Elem::F32;
  Type labels = result;
  labels.elem = Elem::I32;
  // Sometimes the last class is ignored.
  int64_t ignored = g.random.oneIn(2) ? size - 1 : -100;
  int which = g.addArgument(labels, size);
  g.add("nn.cross_entropy $0, $1 ignore " + std::to_string(ignored) + "$A : " +
            type.print() + ", " + labels.print() + " -> " + result.print(),
        {value, which}, result,
        [=](const Inputs &inputs, std::vector<Data> &made) {
          int64_t next = 0;
          forEachRow(*inputs[0], dim, [&](auto row, const Shape &) {
            int64_t label = (*inputs[1])[next].i;
            Elem elem = result.elem;
            Number total;
            exponentials(row, elem, total);
            Number below = subtract(row[label], largest(row), elem);
            Number loss = subtract(call("math.log", total, elem), below, elem);
            if (label == ignored)
              loss = makeFloat(0);
            made[0][next++] = areFinite(row) ? loss : makeUnknown();
          });
          return true;
        });
  return true;
}

std::vector<Weighted> tessera::test::getTransformerFamilies() {
  return {{addSoftmax, 2},
          {addNorm, 2},
          {addArgReduce, 2},
          {addReduce, 3},
          {addEinsum, 6},
          {addActivation, 2},
          {addIota, 1},
          {addMaskPadding, 1},
          {addPick, 1, true},
          {addEmbedding, 1, true},
          {addCrossEntropy, 1, true}};
}
