//===- Reduce.cpp - Elementwise reductions and conversions ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reduces several sources into one destination, block by block, so that the
// accumulators stay in the first-level cache. Sources are added in order.
//
//===----------------------------------------------------------------------===//

#include "IsaKernels.h"
#include "support/Support.h"

namespace tessera::rt::TESSERA_RT_ISA {

namespace {
/// Storage and accumulation type of an element type.
template <typename T> struct Plain {
  using Stored = T;
  using Accumulated = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};
/// 0 and 1, with a sum modulo 2. Only the last bit of a byte counts.
struct Truth {
  using Stored = uint8_t;
  using Accumulated = uint8_t;
  static uint8_t widen(uint8_t value) { return value & 1; }
  static uint8_t narrow(uint8_t value) { return value & 1; }
};
struct BFloat {
  using Stored = uint16_t;
  using Accumulated = float;
  static float widen(uint16_t value) { return bf16ToFloat(value); }
  static uint16_t narrow(float value) { return floatToBf16(value); }
};
struct Half {
  using Stored = _Float16;
  using Accumulated = float;
  static float widen(_Float16 value) { return float(value); }
  static _Float16 narrow(float value) { return _Float16(value); }
};

// Sums of integers wrap around, as the generated code's do.
template <typename T> T add(T a, T b) {
  if constexpr (T(0.5) == T(0))
    return T(uint64_t(a) + uint64_t(b));
  else
    return a + b;
}
struct Sum {
  template <typename T> static T apply(T a, T b) { return add(a, b); }
};
// "a != a" keeps a NaN, and a NaN in b fails the comparison and is taken.
struct Max {
  template <typename T> static T apply(T a, T b) {
    return ((a != a) | (a > b)) ? a : b;
  }
};
struct Min {
  template <typename T> static T apply(T a, T b) {
    return ((a != a) | (a < b)) ? a : b;
  }
};

template <typename Type, typename Op>
void reduceTyped(const void *const *sources, int numSources, void *destination,
                 int64_t count) {
  using Stored = typename Type::Stored;
  using Accumulated = typename Type::Accumulated;
  constexpr int64_t block = 1024;
  Accumulated sum[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t size = count - begin < block ? count - begin : block;
    const Stored *first = static_cast<const Stored *>(sources[0]) + begin;
    for (int64_t i = 0; i < size; ++i)
      sum[i] = Type::widen(first[i]);
    for (int s = 1; s < numSources; ++s) {
      const Stored *next = static_cast<const Stored *>(sources[s]) + begin;
      for (int64_t i = 0; i < size; ++i)
        sum[i] = Op::apply(sum[i], Accumulated(Type::widen(next[i])));
    }
    Stored *out = static_cast<Stored *>(destination) + begin;
    for (int64_t i = 0; i < size; ++i)
      out[i] = Type::narrow(sum[i]);
  }
}

template <typename Type>
void reduceWith(int32_t reduction, const void *const *sources, int numSources,
                void *destination, int64_t count) {
  if (reduction == TESSERA_RT_MAX)
    reduceTyped<Type, Max>(sources, numSources, destination, count);
  else if (reduction == TESSERA_RT_MIN)
    reduceTyped<Type, Min>(sources, numSources, destination, count);
  else
    reduceTyped<Type, Sum>(sources, numSources, destination, count);
}
} // namespace

void reduce(int32_t dtype, int32_t reduction, const void *const *sources,
            int numSources, void *destination, int64_t count) {
  switch (dtype) {
  case TESSERA_RT_F32:
    return reduceWith<Plain<float>>(reduction, sources, numSources, destination,
                                    count);
  case TESSERA_RT_BF16:
    return reduceWith<BFloat>(reduction, sources, numSources, destination,
                              count);
  case TESSERA_RT_F16:
    return reduceWith<Half>(reduction, sources, numSources, destination, count);
  case TESSERA_RT_F64:
    return reduceWith<Plain<double>>(reduction, sources, numSources,
                                     destination, count);
  case TESSERA_RT_I1:
    return reduceWith<Truth>(reduction, sources, numSources, destination,
                             count);
  case TESSERA_RT_I8:
    return reduceWith<Plain<int8_t>>(reduction, sources, numSources,
                                     destination, count);
  case TESSERA_RT_I16:
    return reduceWith<Plain<int16_t>>(reduction, sources, numSources,
                                      destination, count);
  case TESSERA_RT_I32:
    return reduceWith<Plain<int32_t>>(reduction, sources, numSources,
                                      destination, count);
  default:
    return reduceWith<Plain<int64_t>>(reduction, sources, numSources,
                                      destination, count);
  }
}

void bf16ToF32(const uint16_t *source, float *destination, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    destination[i] = bf16ToFloat(source[i]);
}

void f32ToBf16(const float *source, uint16_t *destination, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    destination[i] = floatToBf16(source[i]);
}

void f32ToF16(const float *source, _Float16 *destination, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    destination[i] = _Float16(source[i]);
}

} // namespace tessera::rt::TESSERA_RT_ISA
