//===- Linalg.cpp - Named linalg ops --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generic.h"
#include "Moves.h"
#include <algorithm>

using namespace tessera::test;

/// Formats ` ins($0, $1 : T, U) outs($2 : R)`.
static std::string printOperands(const Generator &g,
                                 const std::vector<int> &operands) {
  std::string names, types;
  for (size_t i = 0; i + 1 < operands.size(); ++i) {
    names += (i ? ", $" : "$") + std::to_string(i);
    types += (i ? ", " : "") + g.typeOf(operands[i]).print();
  }
  return " ins(" + names + " : " + types + ") outs($" +
         std::to_string(operands.size() - 1) + " : " +
         g.typeOf(operands.back()).print() + ")";
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

namespace {
struct Contraction {
  const char *name;
  Map lhs, rhs, result;
  int numLoops;
};
} // namespace

static const std::vector<Contraction> kContractions = {
    {"linalg.matmul", {0, 2}, {2, 1}, {0, 1}, 3},
    {"linalg.batch_matmul", {0, 1, 3}, {0, 3, 2}, {0, 1, 2}, 4},
    {"linalg.matvec", {0, 1}, {1}, {0}, 2},
    {"linalg.vecmat", {1}, {1, 0}, {0}, 2},
    {"linalg.dot", {0}, {0}, {}, 1}};

static Type makeType(Elem elem, const Shape &sizes, const Map &map) {
  Type type{elem, true, {}};
  for (int dim : map)
    type.shape.push_back(sizes[dim]);
  return type;
}

static bool addContraction(Generator &g) {
  const Contraction &contraction = g.random.pick(kContractions);
  bool asRight = g.random.oneIn(2);
  const Map &known = asRight ? contraction.rhs : contraction.lhs;
  int value = g.pickTensor([&](const Type &type) {
    return type.rank() == static_cast<int64_t>(known.size()) &&
           type.elem != Elem::I1 && type.elem != Elem::Index;
  });
  if (value < 0)
    return false;
  Elem elem = g.typeOf(value).elem;
  Loops loops;
  for (int d = 0; d < contraction.numLoops; ++d)
    loops.sizes.push_back(g.drawSize());
  for (size_t i = 0; i < known.size(); ++i)
    loops.sizes[known[i]] = g.typeOf(value).shape[i];
  int other = g.get(
      makeType(elem, loops.sizes, asRight ? contraction.lhs : contraction.rhs));
  Type result = makeType(elem, loops.sizes, contraction.result);
  int start =
      g.random.oneIn(4)
          ? g.get(result)
          : addFill(g, result, isFloat(elem) ? makeFloat(0) : makeInt(0, elem));
  std::vector<int> operands{asRight ? other : value, asRight ? value : other,
                            start};
  loops.maps = {contraction.lhs, contraction.rhs, contraction.result};
  loops.numInputs = 2;
  loops.isReduction.assign(contraction.numLoops, true);
  for (int dim : contraction.result)
    loops.isReduction[dim] = false;
  Body body("");
  for (int i = 0; i < 3; ++i)
    body.addArgument(elem);
  bool real = isFloat(elem);
  int times = body.add(findScalarOp(real ? "arith.mulf" : "arith.muli"), {0, 1},
                       g.random);
  loops.yields = {body.add(findScalarOp(real ? "arith.addf" : "arith.addi"),
                           {2, times}, g.random)};
  g.add(std::string(contraction.name) + "$A" + printOperands(g, operands) +
            " -> " + result.print(),
        operands, result,
        [loops, body](const Inputs &inputs, std::vector<Data> &made) {
          return runLoops(loops, body, inputs, made);
        });
  return true;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static bool addTranspose(Generator &g) {
  int value = pickRanked(g, 2, 4);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  Shape permutation;
  for (int64_t d = 0; d < type.rank(); ++d)
    permutation.push_back(d);
  for (size_t i = permutation.size(); i > 1; --i)
    std::swap(permutation[i - 1], permutation[g.random.below(i)]);
  for (size_t d = 0; d < permutation.size(); ++d)
    result.shape[d] = type.shape[permutation[d]];
  bool ours = g.random.oneIn(2);
  std::vector<int> operands{value};
  if (!ours)
    operands.push_back(addEmpty(g, result));
  std::string text = ours ? "nn.transpose $0 " + printInts(permutation) +
                                "$A : " + type.print() + " -> " + result.print()
                          : "linalg.transpose" + printOperands(g, operands) +
                                " permutation = " + printInts(permutation);
  addMove(g, text, operands, result, [permutation](const Shape &index) {
    Shape from(index.size());
    for (size_t d = 0; d < index.size(); ++d)
      from[permutation[d]] = index[d];
    return from;
  });
  return true;
}

static bool addBroadcast(Generator &g) {
  int value = pickRanked(g, 0, 2);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  Shape added, kept;
  result.shape.clear();
  int64_t more = g.random.between(1, 2);
  for (int64_t d = 0, rank = type.rank() + more, i = 0; d < rank; ++d) {
    bool isNew =
        i == type.rank() ||
        (more > 0 && g.random.below(rank - d) < static_cast<size_t>(more));
    more -= isNew;
    (isNew ? added : kept).push_back(d);
    result.shape.push_back(isNew ? g.drawSize() : type.shape[i++]);
  }
  bool ours = g.random.oneIn(2);
  std::vector<int> operands{value};
  if (!ours)
    operands.push_back(addEmpty(g, result));
  std::string text = ours ? "nn.broadcast $0 dims " + printInts(kept) +
                                "$A : " + type.print() + " -> " + result.print()
                          : "linalg.broadcast" + printOperands(g, operands) +
                                " dimensions = " + printInts(added);
  addMove(g, text, operands, result, [kept](const Shape &index) {
    Shape from;
    for (int64_t d : kept)
      from.push_back(index[d]);
    return from;
  });
  return true;
}

//===----------------------------------------------------------------------===//
// Reductions and maps
//===----------------------------------------------------------------------===//

static bool addReduce(Generator &g) {
  int value = pickRanked(g, 1, 4);
  if (value < 0)
    return false;
  Type type = g.typeOf(value), result = type;
  Loops loops;
  loops.sizes = type.shape;
  Map all, kept;
  Shape dims;
  result.shape.clear();
  for (int d = 0; d < static_cast<int>(type.rank()); ++d) {
    all.push_back(d);
    bool reduced = g.random.oneIn(2);
    loops.isReduction.push_back(reduced);
    if (reduced) {
      dims.push_back(d);
    } else {
      kept.push_back(d);
      result.shape.push_back(type.shape[d]);
    }
  }
  const ScalarOp &combiner = drawCombiner(g.random, type.elem);
  int start = g.random.oneIn(4)
                  ? g.get(result)
                  : addFill(g, result, getNeutral(combiner, type.elem));
  loops.maps = {all, kept};
  loops.numInputs = 1;
  Body body("");
  body.addArgument(type.elem);
  body.addArgument(type.elem);
  loops.yields = {body.add(combiner, {0, 1}, g.random)};
  std::vector<int> operands{value, start};
  g.add(std::string("linalg.reduce { ") + combiner.name + " }" +
            printOperands(g, operands) + " dimensions = " + printInts(dims),
        operands, result,
        [loops, body](const Inputs &inputs, std::vector<Data> &made) {
          return runLoops(loops, body, inputs, made);
        });
  return true;
}

/// Adds named elementwise ops, which correspond to ops on floats and on
/// integers.
static bool addNamed(Generator &g) {
  static const std::vector<std::pair<const char *, const char *>> names = {
      {"linalg.add", "arith.add"},   {"linalg.sub", "arith.sub"},
      {"linalg.mul", "arith.mul"},   {"linalg.max", "arith.max"},
      {"linalg.exp", "math.exp"},    {"linalg.tanh", "math.tanh"},
      {"linalg.negf", "arith.negf"}, {"linalg.abs", "math.absf"},
      {"linalg.sqrt", "math.sqrt"},  {"linalg.div", "arith.divf"}};
  int value = pickRanked(g, 0, 4);
  if (value < 0 || g.typeOf(value).elem == Elem::I1)
    return false;
  Type type = g.typeOf(value);
  const auto &[name, base] = g.random.pick(names);
  bool real = isFloat(type.elem);
  std::string scalar = base;
  bool both = scalar.substr(0, 6) == "arith." && scalar.back() != 'f';
  if (!both && !real)
    return false;
  if (both)
    scalar +=
        scalar == "arith.max" ? (real ? "imumf" : "si") : (real ? "f" : "i");
  const ScalarOp &op = findScalarOp(scalar);
  std::vector<int> operands{value};
  if (op.arity > 1)
    operands.push_back(g.get(type));
  operands.push_back(addEmpty(g, type));
  g.add(name + std::string("$A") + printOperands(g, operands) + " -> " +
            type.print(),
        operands, type,
        [&op, type](const Inputs &inputs, std::vector<Data> &made) {
          for (int64_t i = 0, n = type.size(); i < n; ++i) {
            Number x[3];
            for (int k = 0; k < op.arity; ++k)
              x[k] = (*inputs[k])[i];
            made[0][i] = evaluate(op, x, type.elem, type.elem);
          }
          return true;
        });
  return true;
}

std::vector<Weighted> tessera::test::getLinalgFamilies() {
  return {{addContraction, 6},
          {addTranspose, 4},
          {addBroadcast, 4},
          {addReduce, 6},
          {addNamed, 4}};
}
