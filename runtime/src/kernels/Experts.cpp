//===- Experts.cpp - Hidden rows of gated experts -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elementwise part of a gated MLP: h = gate act(g) u, and its gradients.
//
//===----------------------------------------------------------------------===//

#include "IsaKernels.h"
#include "Vector.h"

#include <cmath>

namespace tessera::rt::TESSERA_RT_ISA {

namespace {

/// 1 / (1 + exp(-x)), to about 3 ulp; any number for NaN.
VecF sigmoid(VecF x) {
  VecF exponent = x * splat(-1.44269504f);
  exponent = select((VecI)(exponent > 126.0f), splat(126.0f), exponent);
  return 1.0f / (1.0f + exp2Vector(exponent));
}

struct Silu {
  static VecF value(VecF x) { return x * sigmoid(x); }
  static VecF slope(VecF x) {
    VecF s = sigmoid(x);
    return s + x * s * (1.0f - s);
  }
};

/// x (1 + tanh(a)) / 2 = x sigmoid(2 a), with a = sqrt(2/pi) (x + c x^3).
struct GeluTanh {
  static constexpr float scale = 1.59576912f, cubic = 0.044715f;
  static VecF value(VecF x) {
    return x * sigmoid(scale * (x + cubic * x * x * x));
  }
  static VecF slope(VecF x) {
    VecF s = sigmoid(scale * (x + cubic * x * x * x));
    return s + x * s * (1.0f - s) * scale * (1.0f + 3 * cubic * x * x);
  }
};

struct GeluErf {
  static VecF value(VecF x) {
    for (int i = 0; i < lanes; ++i)
      x[i] *= 0.5f * (1.0f + erff(x[i] * 0.70710678f));
    return x;
  }
  static VecF slope(VecF x) {
    for (int i = 0; i < lanes; ++i)
      x[i] = 0.5f * (1.0f + erff(x[i] * 0.70710678f)) +
             x[i] * 0.39894228f * expf(-0.5f * x[i] * x[i]);
    return x;
  }
};

/// Loads `count` elements, at most `lanes`; the others are 0.
VecF loadSome(const float *p, int64_t count) {
  if (count >= lanes)
    return load(p);
  VecF v = {};
  memcpy(&v, p, size_t(count) * sizeof(float));
  return v;
}
void storeSome(float *p, VecF v, int64_t count) {
  memcpy(p, &v, size_t(count < lanes ? count : lanes) * sizeof(float));
}

template <typename Activation>
void hidden(float gate, const float *g, const float *u, float *h,
            int64_t count) {
  for (int64_t i = 0; i < count; i += lanes)
    storeSome(h + i,
              gate * Activation::value(loadSome(g + i, count - i)) *
                  loadSome(u + i, count - i),
              count - i);
}

template <typename Activation>
float hiddenBackward(float gate, const float *dh, const float *g,
                     const float *u, float *dg, float *du, int64_t count) {
  VecF sum = {};
  for (int64_t i = 0; i < count; i += lanes) {
    VecF x = loadSome(g + i, count - i), up = loadSome(u + i, count - i);
    VecF grad = loadSome(dh + i, count - i), value = Activation::value(x);
    sum += grad * value * up;
    grad *= splat(gate);
    storeSome(dg + i, grad * up * Activation::slope(x), count - i);
    storeSome(du + i, grad * value, count - i);
  }
  return sumOf(sum);
}

} // namespace

void expertHidden(int32_t activation, float gate, const float *g,
                  const float *u, float *h, int64_t count) {
  auto *function = activation == TESSERA_RT_SILU   ? hidden<Silu>
                   : activation == TESSERA_RT_GELU ? hidden<GeluErf>
                                                   : hidden<GeluTanh>;
  function(gate, g, u, h, count);
}

float expertHiddenBackward(int32_t activation, float gate, const float *dh,
                           const float *g, const float *u, float *dg, float *du,
                           int64_t count) {
  auto *function = activation == TESSERA_RT_SILU   ? hiddenBackward<Silu>
                   : activation == TESSERA_RT_GELU ? hiddenBackward<GeluErf>
                                                   : hiddenBackward<GeluTanh>;
  return function(gate, dh, g, u, dg, du, count);
}

} // namespace tessera::rt::TESSERA_RT_ISA
