//===- Activation.h - Activations of experts, and their slopes --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See tessera_rt_activation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_ACTIVATION_H
#define TESSERA_RT_CUDA_KERNELS_ACTIVATION_H

#include "Gelu.h"
#include "Kernel.h"

namespace tessera::rt::cuda::device {

#ifdef __CUDACC__
TESSERA_DEVICE float expOf(float x) { return expf(x); }
TESSERA_DEVICE double expOf(double x) { return exp(x); }
TESSERA_DEVICE float erfOf(float x) { return erff(x); }
TESSERA_DEVICE double erfOf(double x) { return erf(x); }
#else
template <typename T> TESSERA_DEVICE T expOf(T x) { return std::exp(x); }
template <typename T> TESSERA_DEVICE T erfOf(T x) { return std::erf(x); }
#endif

template <typename T> TESSERA_DEVICE T sigmoid(T x) {
  return T(1) / (T(1) + expOf(-x));
}
/// The normal distribution: GELU by erf is x times it.
template <typename T> TESSERA_DEVICE T normal(T x) {
  return T(0.5) * (T(1) + erfOf(x * T(0.70710678118654752)));
}

template <typename T> TESSERA_DEVICE T activate(int64_t activation, T x) {
  if (activation == TESSERA_RT_SILU)
    return x * sigmoid(x);
  return activation == TESSERA_RT_GELU ? x * normal(x) : gelu(x);
}

template <typename T>
TESSERA_DEVICE T activationSlope(int64_t activation, T x) {
  if (activation == TESSERA_RT_SILU) {
    T s = sigmoid(x);
    return s + x * s * (T(1) - s);
  }
  if (activation == TESSERA_RT_GELU)
    return normal(x) + x * T(0.39894228040143268) * expOf(T(-0.5) * x * x);
  return geluSlope(x);
}

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_ACTIVATION_H
