//===- Reduce.cu - Reductions over ranks of one process -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread reduces an element, or 16 bytes of elements, of all sources in
// ascending order and writes it to all destinations. The arithmetic equals the
// host's bit for bit. A destination may be a source.
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"

using namespace tessera::rt::cuda::device;

/// "a != a" keeps a NaN, and a NaN in b fails the comparison and is taken.
template <typename Type>
static TESSERA_DEVICE typename Type::Wide
combine(int64_t reduction, typename Type::Wide a, typename Type::Wide b) {
  if (reduction == TESSERA_RT_MAX)
    return (a != a) || a > b ? a : b;
  if (reduction == TESSERA_RT_MIN)
    return (a != a) || a < b ? a : b;
  return Type::add(a, b);
}

/// Reduces `count` elements of a row at once.
template <typename Type, int count>
static TESSERA_DEVICE void reducePacks(const ReduceParams &p) {
  using P = Pack<Type, count>;
  int64_t perRow = p.inner / count;
  for (int64_t i = globalIndex(); i < p.outer * perRow; i += globalSize()) {
    int64_t row = p.outer == 1 ? 0 : i / perRow;
    int64_t at = (i - row * perRow) * count;
    typename Type::Wide sum[count];
    for (int64_t s = 0; s < p.numSources; ++s) {
      P next = *reinterpret_cast<const P *>(
          reinterpret_cast<const typename Type::Stored *>(p.source[s]) +
          row * p.sourceStride + at);
      TESSERA_UNROLL
      for (int e = 0; e < count; ++e) {
        typename Type::Wide value = Type::read(next.element[e]);
        sum[e] = s == 0 ? value : combine<Type>(p.reduction, sum[e], value);
      }
    }
    P result;
    TESSERA_UNROLL
    for (int e = 0; e < count; ++e)
      result.element[e] = Type::write(sum[e]);
    for (int64_t j = 0; j < p.numDestinations; ++j)
      *reinterpret_cast<P *>(
          reinterpret_cast<typename Type::Stored *>(p.destination[j]) +
          row * p.destinationStride + at) = result;
  }
}

/// Uses 16-byte accesses if all addresses and rows are multiples of 16 bytes.
template <typename Type>
static TESSERA_DEVICE void reduceAll(const ReduceParams &p) {
  constexpr int size = int(sizeof(typename Type::Stored));
  int64_t all = p.inner * size | (p.outer == 1 ? 0 : p.sourceStride * size) |
                (p.outer == 1 ? 0 : p.destinationStride * size);
  for (int64_t s = 0; s < p.numSources; ++s)
    all |= p.source[s];
  for (int64_t j = 0; j < p.numDestinations; ++j)
    all |= p.destination[j];
  if (all % 16 == 0)
    reducePacks<Type, 16 / size>(p);
  else
    reducePacks<Type, 1>(p);
}

TESSERA_KERNEL(tessera_reduce_f32, ReduceParams, 256, 2) {
  reduceAll<Number<float>>(p);
}
TESSERA_KERNEL(tessera_reduce_bf16, ReduceParams, 256, 2) {
  reduceAll<BFloat>(p);
}
TESSERA_KERNEL(tessera_reduce_f16, ReduceParams, 256, 2) { reduceAll<Half>(p); }
TESSERA_KERNEL(tessera_reduce_f64, ReduceParams, 256, 2) {
  reduceAll<Number<double>>(p);
}
TESSERA_KERNEL(tessera_reduce_i1, ReduceParams, 256, 2) { reduceAll<Truth>(p); }
TESSERA_KERNEL(tessera_reduce_i8, ReduceParams, 256, 2) {
  reduceAll<Whole<int8_t>>(p);
}
TESSERA_KERNEL(tessera_reduce_i32, ReduceParams, 256, 2) {
  reduceAll<Whole<int32_t>>(p);
}
TESSERA_KERNEL(tessera_reduce_i64, ReduceParams, 256, 2) {
  reduceAll<Whole<int64_t>>(p);
}
