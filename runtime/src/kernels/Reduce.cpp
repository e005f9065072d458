//===- Reduce.cpp - Elementwise reductions and conversions ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reduces several sources into one destination, block by block, so that the
// accumulators stay in the first-level cache. Sources are added in order, after
// a carry if there is one, so a sum in several parts has the bits of one sum.
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

/// The operands of a reduction; see `reducePart` of CpuKernels.
struct Parts {
  const void *carry;
  const void *const *sources;
  int numSources;
  void *destination;
  bool isPartial;
  int64_t count;
};

template <typename Type, typename Op> void reduceTyped(const Parts &parts) {
  using Stored = typename Type::Stored;
  using Accumulated = typename Type::Accumulated;
  constexpr int64_t block = 1024;
  Accumulated sum[block];
  for (int64_t begin = 0; begin < parts.count; begin += block) {
    int64_t size = parts.count - begin < block ? parts.count - begin : block;
    auto sourceAt = [&](int s) {
      return static_cast<const Stored *>(parts.sources[s]) + begin;
    };
    int next = 0;
    if (parts.carry) {
      auto *carry = static_cast<const Accumulated *>(parts.carry) + begin;
      for (int64_t i = 0; i < size; ++i)
        sum[i] = carry[i];
    } else {
      const Stored *first = sourceAt(next++);
      for (int64_t i = 0; i < size; ++i)
        sum[i] = Type::widen(first[i]);
    }
    for (; next < parts.numSources; ++next) {
      const Stored *source = sourceAt(next);
      for (int64_t i = 0; i < size; ++i)
        sum[i] = Op::apply(sum[i], Accumulated(Type::widen(source[i])));
    }
    if (parts.isPartial) {
      auto *out = static_cast<Accumulated *>(parts.destination) + begin;
      for (int64_t i = 0; i < size; ++i)
        out[i] = sum[i];
      continue;
    }
    Stored *out = static_cast<Stored *>(parts.destination) + begin;
    for (int64_t i = 0; i < size; ++i)
      out[i] = Type::narrow(sum[i]);
  }
}

template <typename Type>
void reduceWith(int32_t reduction, const Parts &parts) {
  if (reduction == TESSERA_RT_MAX)
    reduceTyped<Type, Max>(parts);
  else if (reduction == TESSERA_RT_MIN)
    reduceTyped<Type, Min>(parts);
  else
    reduceTyped<Type, Sum>(parts);
}
} // namespace

void reducePart(int32_t dtype, int32_t reduction, const void *carry,
                const void *const *sources, int numSources, void *destination,
                bool isPartial, int64_t count) {
  Parts parts{carry, sources, numSources, destination, isPartial, count};
  switch (dtype) {
  case TESSERA_RT_F32:
    return reduceWith<Plain<float>>(reduction, parts);
  case TESSERA_RT_BF16:
    return reduceWith<BFloat>(reduction, parts);
  case TESSERA_RT_F16:
    return reduceWith<Half>(reduction, parts);
  case TESSERA_RT_F64:
    return reduceWith<Plain<double>>(reduction, parts);
  case TESSERA_RT_I1:
    return reduceWith<Truth>(reduction, parts);
  case TESSERA_RT_I8:
    return reduceWith<Plain<int8_t>>(reduction, parts);
  case TESSERA_RT_I16:
    return reduceWith<Plain<int16_t>>(reduction, parts);
  case TESSERA_RT_I32:
    return reduceWith<Plain<int32_t>>(reduction, parts);
  default:
    return reduceWith<Plain<int64_t>>(reduction, parts);
  }
}

void reduce(int32_t dtype, int32_t reduction, const void *const *sources,
            int numSources, void *destination, int64_t count) {
  reducePart(dtype, reduction, /*carry=*/nullptr, sources, numSources,
             destination, /*isPartial=*/false, count);
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
