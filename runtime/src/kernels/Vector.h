//===- Vector.h - Vectors of the instruction set compiled for ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector types with the width of the current instruction set, from the
// compiler's vector extensions, and the few operations on them that need a
// pattern.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_KERNELS_VECTOR_H
#define TESSERA_RT_SRC_KERNELS_VECTOR_H

#include "Compilers.h"

#include <cstdint>
#include <cstring>

#ifndef TESSERA_RT_ISA
#error "expects TESSERA_RT_ISA, the namespace of the instruction set"
#endif

namespace tessera::rt::TESSERA_RT_ISA {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float VecF __attribute__((vector_size(lanes * 4)));
typedef int32_t VecI __attribute__((vector_size(lanes * 4)));
typedef uint32_t VecU __attribute__((vector_size(lanes * 4)));
typedef uint16_t VecH __attribute__((vector_size(lanes * 2)));
typedef _Float16 VecF16 __attribute__((vector_size(lanes * 2)));

inline VecF load(const float *p) {
  VecF v;
  memcpy(&v, p, sizeof(v));
  return v;
}
inline void store(float *p, VecF v) { memcpy(p, &v, sizeof(v)); }
inline VecF splat(float x) { return x - VecF{}; }

/// 16-bit floats widened to f32.
inline VecF loadBf16(const uint16_t *p) {
  VecH half;
  memcpy(&half, p, sizeof(half));
  return (VecF)(__builtin_convertvector(half, VecU) << 16);
}

inline VecF loadF16(const _Float16 *p) {
  VecF16 half;
  memcpy(&half, p, sizeof(half));
  return __builtin_convertvector(half, VecF);
}

inline VecF select(VecI mask, VecF yes, VecF no) {
  return (VecF)((mask & (VecI)yes) | (~mask & (VecI)no));
}

/// First and second half of the interleaved a[0], b[0], a[1], b[1], ...
#if defined(__AVX512F__)
inline VecF interleaveLow(VecF a, VecF b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                 6, 22, 7, 23);
}
inline VecF interleaveHigh(VecF a, VecF b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                 29, 14, 30, 15, 31);
}
#elif defined(__AVX__)
inline VecF interleaveLow(VecF a, VecF b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline VecF interleaveHigh(VecF a, VecF b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
#else
inline VecF interleaveLow(VecF a, VecF b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
inline VecF interleaveHigh(VecF a, VecF b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
#endif

/// Transposes Count rows of `lanes` elements to row-major [lanes][Count]. Count
/// is a power of two of at most `lanes`. Each round is a perfect shuffle of all
/// elements, which rotates the bits of their positions by one.
template <int Count> inline void transposeRows(VecF (&rows)[Count]) {
  TESSERA_RT_UNROLL
  for (int round = 1; round < Count; round *= 2) {
    VecF next[Count];
    TESSERA_RT_UNROLL
    for (int i = 0; i < Count / 2; ++i) {
      next[2 * i] = interleaveLow(rows[i], rows[i + Count / 2]);
      next[2 * i + 1] = interleaveHigh(rows[i], rows[i + Count / 2]);
    }
    TESSERA_RT_UNROLL
    for (int i = 0; i < Count; ++i)
      rows[i] = next[i];
  }
}

inline float sumOf(VecF v) {
  float sum = 0;
  for (int i = 0; i < lanes; ++i)
    sum += v[i];
  return sum;
}
/// The greater element of each pair; b if a is NaN.
inline VecF maxVector(VecF a, VecF b) { return a > b ? a : b; }

inline float maxOf(VecF v) {
  for (int distinct = lanes; distinct > 1; distinct /= 2)
    v = maxVector(interleaveLow(v, v), interleaveHigh(v, v));
  return v[0];
}

/// 2^x to about 2 ulp for x <= 126; 0 below -126. x is split into an integer,
/// which is added to the exponent, and f in [-0.5, 0.5], whose 2^f is a Taylor
/// polynomial of degree 7 (error 2e-9).
inline VecF exp2Vector(VecF x) {
  VecI tiny = (VecI)(x < -126.0f);
  x = select(tiny, splat(-126.0f), x);
  VecF whole = roundEven(x);
  VecF f = x - whole;
  VecF p = splat(1.5252734e-5f);
  p = p * f + 1.5403530e-4f;
  p = p * f + 1.3333558e-3f;
  p = p * f + 9.6181291e-3f;
  p = p * f + 5.5504109e-2f;
  p = p * f + 2.4022651e-1f;
  p = p * f + 6.9314718e-1f;
  p = p * f + 1.0f;
  VecI exponent = __builtin_convertvector(whole, VecI) << 23;
  VecF result = (VecF)((VecI)p + exponent);
  return (VecF)((VecI)result & ~tiny);
}

/// tanh(x): a series up to 1/4 of magnitude, which keeps small results exact,
/// and 1 - 2 / (e^2x + 1) beyond.
inline VecF tanhVector(VecF x) {
  constexpr float log2OfESquared = 2.88539008f;
  VecF square = x * x, p = splat(2.1869488e-2f);
  p = p * square - 5.3968254e-2f;
  p = p * square + 1.3333334e-1f;
  p = p * square - 3.3333334e-1f;
  VecF small = x + x * square * p;
  // Twice 30 and more give 1.
  VecF limited = select((VecI)(x > 30.0f), splat(30.0f), x);
  VecF large = 1.0f - 2.0f / (exp2Vector(limited * log2OfESquared) + 1.0f);
  return select((VecI)(square < 0.0625f), small, large);
}

} // namespace tessera::rt::TESSERA_RT_ISA

#endif // TESSERA_RT_SRC_KERNELS_VECTOR_H
