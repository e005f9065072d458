//===- Numbers.h - Storage and arithmetic of element types ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The storage type of each element type of tensors, its computation type, and
// the conversions between them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_NUMBERS_H
#define TESSERA_RT_CUDA_KERNELS_NUMBERS_H

#include "Kernel.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

namespace tessera::rt::cuda::device {

template <typename T> struct Number {
  using Stored = T;
  using Wide = T;
  static TESSERA_DEVICE T read(T value) { return value; }
  static TESSERA_DEVICE T write(T value) { return value; }
  static TESSERA_DEVICE T add(T a, T b) { return a + b; }
};
/// Integers, whose sums wrap around.
template <typename T> struct Whole : Number<T> {
  static TESSERA_DEVICE T add(T a, T b) { return T(uint64_t(a) + uint64_t(b)); }
};
/// 0 and 1, with a sum modulo 2. Only the last bit of a byte counts.
struct Truth : Number<uint8_t> {
  static TESSERA_DEVICE uint8_t read(uint8_t value) { return value & 1; }
  static TESSERA_DEVICE uint8_t add(uint8_t a, uint8_t b) { return a ^ b; }
};
struct BFloat {
  using Stored = uint16_t;
  using Wide = float;
  static constexpr bool isF16 = false;
  static TESSERA_DEVICE float read(uint16_t value) { return widen(value); }
  static TESSERA_DEVICE uint16_t write(float value) {
    uint16_t bits;
    narrow(value, bits);
    return bits;
  }
  static TESSERA_DEVICE float add(float a, float b) { return a + b; }
};
struct Half {
  using Stored = uint16_t;
  using Wide = float;
  static constexpr bool isF16 = true;
#ifdef __CUDACC__
  static TESSERA_DEVICE float read(uint16_t value) {
    return __half2float(__ushort_as_half(value));
  }
  static TESSERA_DEVICE uint16_t write(float value) {
    return __half_as_ushort(__float2half_rn(value));
  }
#else
  static TESSERA_DEVICE float read(uint16_t value) {
    _Float16 half;
    memcpy(&half, &value, 2);
    return float(half);
  }
  static TESSERA_DEVICE uint16_t write(float value) {
    _Float16 half = _Float16(value);
    uint16_t bits;
    memcpy(&bits, &half, 2);
    return bits;
  }
#endif
  static TESSERA_DEVICE float add(float a, float b) { return a + b; }
};

/// `count` elements for one load or store.
template <typename Type, int count>
struct alignas(sizeof(typename Type::Stored) * count) Pack {
  typename Type::Stored element[count];
};

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_NUMBERS_H
