//===- Attention.cpp - Attention and rotary positions ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "Rows.h"
#include <cmath>

using namespace tessera::test;

namespace {
/// Numbers added to scores along some of batch, query, group, head and key.
struct Bias {
  const Data *data = nullptr;
  std::vector<int64_t> dims;

  Number addTo(const Number &score, const Shape &query, int64_t key,
               Elem elem) const {
    if (!data)
      return score;
    Shape index;
    for (int64_t dim : dims)
      index.push_back(dim == 4 ? key : query[dim]);
    return add(score, data->at(index), elem);
  }
};
} // namespace

/// A query's scores of the keys that it sees, starting at key `first`.
static std::vector<Number> getScores(const Data &q, const Data &k,
                                     const Shape &query, bool causal,
                                     int64_t first, Number scale,
                                     const Bias &bias, Elem elem) {
  std::vector<Number> scores;
  int64_t numKeys = k.type.shape[1], dim = q.type.shape[4];
  for (int64_t key = first; key < numKeys; ++key) {
    if (causal && key > query[1])
      break;
    std::vector<Number> products;
    for (int64_t d = 0; d < dim; ++d)
      products.push_back(
          multiply(q.at({query[0], query[1], query[2], query[3], d}),
                   k.at({query[0], key, query[2], d}), elem));
    Number scaled = multiply(sum(products, elem), scale, elem);
    scores.push_back(bias.addTo(scaled, query, key, elem));
  }
  return scores;
}

/// Allows 0 for a key's weight that is subnormal in f32, relative to 1 for the
/// largest, since the libraries' exponentials have no subnormals. The bound is
/// doubled, since scores are rounded.
static void allowZeros(std::vector<Number> &powers, Elem elem) {
  if (elem == Elem::F64)
    return;
  long double least = ldexpl(2, getInfo(Elem::F32).minExponent);
  for (Number &power : powers)
    if (isFiniteNumber(power) && power.v < least)
      power.error = std::max(power.error, static_cast<double>(power.v));
}

/// Grouped queries, with a separate number of keys. q is any tensor of rank 5,
/// or a new argument.
static bool addAttention(Generator &g) {
  Type q{g.drawElem(), true, {}};
  if (!isFloat(q.elem))
    return false;
  for (int i = 0; i < 5; ++i)
    q.shape.push_back(std::min<int64_t>(g.drawSize(), i == 1 ? 8 : 3));
  int value = g.pickTensor([](const Type &type) {
    return isFloat(type.elem) && type.rank() == 5 && type.size() <= 2000;
  });
  if (value < 0 || g.random.oneIn(2))
    value = g.get(q);
  q = g.typeOf(value);
  Type k{q.elem, true, {q.shape[0], g.drawSize(), q.shape[2], q.shape[4]}};
  Type v = k, result = q;
  v.shape[3] = result.shape[4] = g.drawSize();
  bool causal = g.random.oneIn(2);
  int64_t window = causal && g.random.oneIn(2) ? g.random.between(1, 5) : 0;
  std::string mask = causal ? "causal " : "";
  if (window)
    mask += "window " + std::to_string(window) + " ";
  std::vector<int> operands{value, g.get(k), g.get(v)};
  std::string others;
  bool hasStarts = g.isTopLevel() && g.random.oneIn(3);
  if (hasStarts) {
    Type starts{Elem::I32, true, {q.shape[0], q.shape[1]}};
    operands.push_back(g.addArgument(starts, k.shape[1] + 1, /*ascends=*/true));
    others = " starts $3 : " + starts.print();
  }
  std::vector<int64_t> biasDims;
  size_t biasOperand = operands.size();
  if (g.hasEnds && g.random.oneIn(3)) {
    Type bias{q.elem, true, {}};
    std::string dims;
    for (int64_t dim = 0; dim < 5; ++dim) {
      if (dim < 4 && g.random.oneIn(2))
        continue;
      biasDims.push_back(dim);
      bias.shape.push_back(dim < 4 ? q.shape[dim] : k.shape[1]);
      dims += (dims.empty() ? "" : ", ") + std::to_string(dim);
    }
    others += " bias $" + std::to_string(operands.size()) + " dims [" + dims +
              "] : " + bias.print();
    operands.push_back(g.get(bias));
  }
  size_t sinksOperand = operands.size();
  bool hasSinks = g.hasEnds && g.random.oneIn(4);
  if (hasSinks) {
    Type sinks{q.elem, true, {q.shape[2], q.shape[3]}};
    others +=
        " sinks $" + std::to_string(operands.size()) + " : " + sinks.print();
    operands.push_back(g.get(sinks));
  }
  int64_t quarters = g.random.between(1, 4);
  Number scale = makeFloat(quarters * 0.25L);
  static const char *texts[] = {"2.5e-1", "5.0e-1", "7.5e-1", "1.0"};
  g.add(
      "nn.attention " + mask + "scale " + texts[quarters - 1] + " $0, $1, $2" +
          others + "$A : " + q.print() + ", " + k.print() + ", " + v.print() +
          " -> " + result.print(),
      operands, result, [=](const Inputs &inputs, std::vector<Data> &made) {
        Shape queries = q.shape;
        queries.back() = 1;
        forEachIndex(queries, [&](const Shape &query) {
          int64_t firstKey =
              window ? std::max<int64_t>(query[1] + 1 - window, 0) : 0;
          if (hasStarts)
            firstKey =
                std::max(firstKey, inputs[3]->at({query[0], query[1]}).i);
          Bias bias{biasDims.empty() ? nullptr : inputs[biasOperand], biasDims};
          std::vector<Number> scores =
              getScores(*inputs[0], *inputs[1], query, causal, firstKey, scale,
                        bias, q.elem);
          auto numSeen = static_cast<int64_t>(scores.size());
          if (hasSinks)
            scores.push_back(inputs[sinksOperand]->at({query[2], query[3]}));
          bool plain = areFinite(scores);
          Number total = makeFloat(1);
          std::vector<Number> powers;
          if (!scores.empty())
            powers = exponentials(scores, q.elem, total);
          allowZeros(powers, q.elem);
          Shape position = query;
          for (position[4] = 0; position[4] < result.shape[4]; ++position[4]) {
            std::vector<Number> products;
            // A key that is not seen may have values that are not finite.
            bool isFinite = plain;
            for (int64_t key = 0; key < k.shape[1]; ++key) {
              const Number &x =
                  inputs[2]->at({query[0], key, query[2], position[4]});
              isFinite &= isFiniteNumber(x);
              int64_t seen = key - firstKey;
              if (seen >= 0 && seen < numSeen)
                products.push_back(multiply(powers[seen], x, q.elem));
            }
            // The division comes last: before it the sum may be infinite.
            made[0].at(position) =
                isFinite ? divide(sum(products, q.elem), total, q.elem)
                         : makeUnknown();
          }
        });
        return true;
      });
  return true;
}

/// Rotates pairs half a row apart by an angle that grows with the position.
static bool addRope(Generator &g) {
  int value = g.pickTensor([](const Type &type) {
    return isFloat(type.elem) && type.rank() >= 2 && type.rank() <= 5 &&
           type.shape.back() >= 2;
  });
  if (value < 0)
    return false;
  Type type = g.typeOf(value);
  int64_t width = type.shape.back();
  if (width % 2 != 0 || g.random.oneIn(3))
    width = 2 * g.random.between(1, width / 2);
  size_t dim = g.random.below(type.shape.size() - 1), last = type.rank() - 1;
  bool inverse = g.random.oneIn(4);
  g.add(
      std::string("nn.rope ") + (inverse ? "inverse " : "") + "$0 dim " +
          std::to_string(dim) + " theta 1.0e2 " +
          (width < type.shape.back() ? "width " + std::to_string(width) : "") +
          "$A : " + type.print(),
      {value}, type, [=](const Inputs &inputs, std::vector<Data> &made) {
        int64_t half = width / 2;
        forEachIndex(type.shape, [&](const Shape &index) {
          if (index[last] >= width) {
            made[0].at(index) = inputs[0]->at(index);
            return;
          }
          bool isFirst = index[last] < half;
          Shape other = index;
          other[last] += isFirst ? half : -half;
          long double exponent = -2.0L * (index[last] % half) / width;
          long double angle = index[dim] * powl(100, exponent);
          // The angle has a relative error of about one rounding.
          auto factor = [&](long double x) {
            return finish(x, 0, 1 + std::fabs(angle), false,
                          type.elem == Elem::F64 ? Elem::F64 : Elem::F32, 8);
          };
          bool isNegative = isFirst != inverse;
          Number sine = factor(isNegative ? -sinl(angle) : sinl(angle));
          const Number &x = inputs[0]->at(index), &y = inputs[0]->at(other);
          bool plain = isFiniteNumber(x) && isFiniteNumber(y);
          made[0].at(index) =
              plain ? add(multiply(x, factor(cosl(angle)), type.elem),
                          multiply(y, sine, type.elem), type.elem)
                    : makeUnknown();
        });
        return true;
      });
  return true;
}

std::vector<Weighted> tessera::test::getAttentionFamilies() {
  return {{addAttention, 2}, {addRope, 2}};
}
