//===- Convolution.cpp - Convolutions -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "Scalars.h"
#include <cmath>

using namespace tessera::test;

namespace {
/// The windows along one dimension, by the description of nn.convolution.
struct Steps {
  int64_t stride, low, high, dilation, spread, windows;
};
} // namespace

/// Draws the steps of a dimension with this number of elements and taps; no
/// windows if the taps do not fit.
static Steps drawSteps(Generator &g, int64_t size, int64_t taps) {
  Random &random = g.random;
  Steps s{random.between(1, 3), random.between(-1, 2), random.between(-1, 2),
          random.between(1, 2), random.between(1, 3),  0};
  int64_t room =
      (size - 1) * s.spread + s.low + s.high - (taps - 1) * s.dilation;
  s.windows = room < 0 ? 0 : room / s.stride + 1;
  return s;
}

static std::string printList(const std::vector<Steps> &all,
                             int64_t Steps::*field) {
  std::string text = "[";
  for (size_t i = 0; i < all.size(); ++i)
    text += (i ? ", " : "") + std::to_string(all[i].*field);
  return text + "]";
}

/// The element of x that a tap of a window reads; none for a zero.
static bool findElement(const std::vector<Steps> &steps, const Shape &x,
                        const Shape &windows, const Shape &taps,
                        Shape &element) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Steps &s = steps[i];
    int64_t at = windows[3 + i] * s.stride + taps[3 + i] * s.dilation - s.low;
    if (at < 0 || at % s.spread != 0 || at / s.spread >= x[3 + i])
      return false;
    element[3 + i] = at / s.spread;
  }
  return true;
}

static bool addConvolution(Generator &g) {
  int value = g.pickTensor([](const Type &type) {
    return type.elem != Elem::Index && type.elem != Elem::I1 &&
           (type.rank() == 4 || type.rank() == 5);
  });
  Type x{g.drawElem(), true, {}};
  if (value >= 0)
    x = g.typeOf(value);
  else if (x.elem == Elem::I1)
    return false;
  for (int64_t rank = g.random.between(4, 5); value < 0 && x.rank() < rank;)
    x.shape.push_back(g.drawSize());
  if (x.size() == 0 || x.size() > 2000)
    return false;
  Type weight = x, result = x;
  weight.shape = {x.shape[1], g.drawSize(), x.shape[2]};
  std::vector<Steps> steps;
  for (int64_t i = 3; i < x.rank(); ++i) {
    weight.shape.push_back(g.random.between(1, 3));
    steps.push_back(drawSteps(g, x.shape[i], weight.shape.back()));
    result.shape[i] = steps.back().windows;
  }
  result.shape[2] = weight.shape[1];
  if (weight.size() == 0 || result.size() == 0)
    return false;
  bool isReversed = g.random.oneIn(3);
  if (value < 0)
    value = g.get(x);
  std::string text =
      "nn.convolution $0, $1 strides " + printList(steps, &Steps::stride) +
      " low " + printList(steps, &Steps::low) + " high " +
      printList(steps, &Steps::high) + " dilation " +
      printList(steps, &Steps::dilation) + " x_dilation " +
      printList(steps, &Steps::spread) + (isReversed ? " reversed" : "") +
      "$A : " + x.print() + ", " + weight.print() + " -> " + result.print();
  bool real = isFloat(x.elem);
  const ScalarOp &times = findScalarOp(real ? "arith.mulf" : "arith.muli");
  const ScalarOp &plus = findScalarOp(real ? "arith.addf" : "arith.addi");
  Shape summed(weight.shape.begin() + 2, weight.shape.end());
  g.add(text, {value, g.get(weight)}, result,
        [=, &times, &plus](const Inputs &inputs, std::vector<Data> &made) {
          forEachIndex(result.shape, [&](const Shape &to) {
            Number sum = real ? makeFloat(0) : makeInt(0, x.elem);
            int64_t terms = 0;
            forEachIndex(summed, [&](const Shape &place) {
              Shape from(to), tap(weight.shape.size()), read;
              tap[0] = to[1];
              tap[1] = to[2];
              for (size_t i = 0; i < place.size(); ++i)
                tap[2 + i] = place[i];
              from[2] = place[0];
              read = tap;
              for (size_t i = 3; isReversed && i < read.size(); ++i)
                read[i] = weight.shape[i] - 1 - tap[i];
              const Number &factor = inputs[1]->at(read);
              if (!findElement(steps, x.shape, to, tap, from)) {
                // A zero times an infinity may be left out.
                if (real && !(factor.isKnown() && std::isfinite(factor.v)))
                  sum = makeUnknown();
                return;
              }
              Number pair[] = {inputs[0]->at(from), factor};
              Number both[] = {sum, evaluate(times, pair, x.elem, x.elem)};
              sum = evaluate(plus, both, x.elem, x.elem);
              ++terms;
            });
            made[0].at(to) = real ? loosenSum(sum, terms, x.elem) : sum;
          });
          return true;
        });
  return true;
}

std::vector<Weighted> tessera::test::getConvolutionFamilies() {
  return {{addConvolution, 4}};
}
