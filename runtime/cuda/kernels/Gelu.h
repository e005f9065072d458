//===- Gelu.h - GELU by tanh, and its derivative ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hendrycks and Gimpel, "Gaussian Error Linear Units": with c = sqrt(2 / pi),
// gelu(x) = 0.5 x (1 + tanh(c (x + 0.044715 x^3))). Used by kernels and by the
// host code that replaces them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_GELU_H
#define TESSERA_RT_CUDA_KERNELS_GELU_H

#ifdef __CUDACC__
#define TESSERA_GELU __device__ __forceinline__
#else
#include <cmath>
#define TESSERA_GELU inline
#endif

namespace tessera::rt::cuda::device {

TESSERA_GELU float tanhOf(float x) {
#ifdef __CUDACC__
  return tanhf(x);
#else
  return std::tanh(x);
#endif
}
TESSERA_GELU double tanhOf(double x) {
#ifdef __CUDACC__
  return tanh(x);
#else
  return std::tanh(x);
#endif
}

/// tanh(c (x + 0.044715 x^3))
template <typename T> TESSERA_GELU T geluTanh(T x) {
  return tanhOf(T(0.79788456080286536) * (x + T(0.044715) * x * x * x));
}

template <typename T> TESSERA_GELU T gelu(T x) {
  return T(0.5) * x * (T(1) + geluTanh(x));
}

/// 0.5 (1 + t) + 0.5 x (1 - t^2) c (1 + 3 * 0.044715 x^2)
template <typename T> TESSERA_GELU T geluSlope(T x) {
  T t = geluTanh(x);
  T inner = T(0.39894228040143268) * x * (T(1) + T(3 * 0.044715) * x * x);
  return T(0.5) * (T(1) + t) + (T(1) - t * t) * inner;
}

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_GELU_H
