//===- Epilogue.cu - Epilogues and column reductions ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matmul has written C, which an epilogue updates in place, 16 bytes at a
// time if addresses and rows allow. Columns are summed in two launches: first
// chunks of the rows, each over all columns, then the chunks in ascending
// order. The chunks depend only on the sizes, so sums do not depend on the
// device.
//
//===----------------------------------------------------------------------===//

#include "Gelu.h"
#include "Numbers.h"

using namespace tessera::rt::cuda::device;

/// Computes an element's address as an integer. If the base is 0, nothing is
/// read or written there, and a pointer could overflow.
template <typename T> static TESSERA_DEVICE T *at(int64_t base, int64_t index) {
  return reinterpret_cast<T *>(base + index * int64_t(sizeof(T)));
}

/// Updates `count` elements of a row at once. Indices have type `Index`, which
/// must hold the number of elements.
template <typename Type, int count, typename Index>
static TESSERA_DEVICE void finishPacks(const EpilogueParams &p) {
  using Stored = typename Type::Stored;
  using Wide = typename Type::Wide;
  using P = Pack<Type, count>;
  Index perRow = Index(p.n / count), all = Index(p.m) * perRow;
  for (Index i = Index(globalIndex()); i < all; i += Index(globalSize())) {
    Index row = i / perRow;
    int64_t column = int64_t(i - row * perRow) * count;
    P *pack =
        reinterpret_cast<P *>(at<Stored>(p.c, int64_t(row) * p.ldc + column));
    P *argument = reinterpret_cast<P *>(
        at<Stored>(p.aux, int64_t(row) * p.auxLd + column));
    P value = *pack, other = value;
    if (p.kind == TESSERA_RT_FUSE_GELU_GRADIENT)
      other = *argument;
    TESSERA_UNROLL
    for (int e = 0; e < count; ++e) {
      Wide x = Type::read(value.element[e]);
      if (p.kind == TESSERA_RT_FUSE_GELU_GRADIENT) {
        x *= geluSlope(Wide(Type::read(other.element[e])));
      } else {
        if (p.bias)
          x += p.isBiasF32 ? Wide(*at<float>(p.bias, column + e))
                           : Type::read(*at<Stored>(p.bias, column + e));
        other.element[e] = Type::write(x);
        if (p.kind == TESSERA_RT_FUSE_GELU)
          x = gelu(x);
      }
      value.element[e] = Type::write(x);
    }
    *pack = value;
    if (p.kind == TESSERA_RT_FUSE_GELU && p.aux)
      *argument = other;
  }
}

template <typename Type, int count>
static TESSERA_DEVICE void finishRows(const EpilogueParams &p) {
  // A thread's index exceeds the last element by less than the grid.
  if (p.m * p.n < (int64_t(1) << 31))
    finishPacks<Type, count, uint32_t>(p);
  else
    finishPacks<Type, count, int64_t>(p);
}

template <typename Type>
static TESSERA_DEVICE void finishMatmul(const EpilogueParams &p) {
  constexpr int64_t size = int64_t(sizeof(typename Type::Stored));
  int64_t all = p.c | p.aux | p.n * size | p.ldc * size | p.auxLd * size;
  if (all % 16 == 0)
    finishRows<Type, int(16 / size)>(p);
  else
    finishRows<Type, 1>(p);
}

TESSERA_KERNEL(tessera_epilogue_bf16, EpilogueParams, 256, 2) {
  finishMatmul<BFloat>(p);
}
TESSERA_KERNEL(tessera_epilogue_f16, EpilogueParams, 256, 2) {
  finishMatmul<Half>(p);
}
TESSERA_KERNEL(tessera_epilogue_f32, EpilogueParams, 256, 2) {
  finishMatmul<Number<float>>(p);
}
TESSERA_KERNEL(tessera_epilogue_f64, EpilogueParams, 256, 2) {
  finishMatmul<Number<double>>(p);
}

//===----------------------------------------------------------------------===//
// Column reductions
//===----------------------------------------------------------------------===//

/// Sums the rows of a chunk, for `count` columns per thread.
template <typename Type, int count>
static TESSERA_DEVICE void sumPacks(const ColumnReductionParams &p) {
  using Wide = typename Type::Wide;
  using P = Pack<Type, count>;
  int64_t perRow = p.columns / count;
  for (int64_t i = globalIndex(); i < p.chunks * perRow; i += globalSize()) {
    int64_t chunk = i / perRow, column = (i - chunk * perRow) * count;
    int64_t begin = chunk * p.rowsPerChunk, end = begin + p.rowsPerChunk;
    end = end < p.rows ? end : p.rows;
    Wide sum[count];
    TESSERA_UNROLL
    for (int e = 0; e < count; ++e)
      sum[e] = 0;
    for (int64_t row = begin; row < end; ++row) {
      P next = *reinterpret_cast<const P *>(
          at<typename Type::Stored>(p.from, row * p.ld + column));
      TESSERA_UNROLL
      for (int e = 0; e < count; ++e)
        sum[e] = Type::add(sum[e], Type::read(next.element[e]));
    }
    TESSERA_UNROLL
    for (int e = 0; e < count; ++e)
      *at<Wide>(p.sums, chunk * p.columns + column + e) = sum[e];
  }
}

template <typename Type>
static TESSERA_DEVICE void sumRows(const ColumnReductionParams &p) {
  constexpr int64_t size = int64_t(sizeof(typename Type::Stored));
  if ((p.from | p.columns * size | p.ld * size) % 16 == 0)
    sumPacks<Type, int(16 / size)>(p);
  else
    sumPacks<Type, 1>(p);
}

TESSERA_KERNEL(tessera_column_partials_bf16, ColumnReductionParams, 128, 4) {
  sumRows<BFloat>(p);
}
TESSERA_KERNEL(tessera_column_partials_f16, ColumnReductionParams, 128, 4) {
  sumRows<Half>(p);
}
TESSERA_KERNEL(tessera_column_partials_f32, ColumnReductionParams, 128, 4) {
  sumRows<Number<float>>(p);
}
TESSERA_KERNEL(tessera_column_partials_f64, ColumnReductionParams, 128, 4) {
  sumRows<Number<double>>(p);
}

/// A warp has 32 columns; each of a block's warps adds every totalWarps-th
/// chunk, and the first warp adds these sums.
template <typename Type>
static TESSERA_DEVICE void sumPartials(const ColumnReductionParams &p) {
  using Wide = typename Type::Wide;
  Wide *shared = reinterpret_cast<Wide *>(sharedMemory());
  int warp = threadIndex() / 32, lane = threadIndex() % 32;
  for (int64_t first = blockIndex() * 32; first < p.columns;
       first += gridSize() * 32) {
    int64_t column = first + lane;
    Wide sum = 0;
    if (column < p.columns)
      for (int64_t chunk = warp; chunk < p.chunks; chunk += totalWarps)
        sum = Type::add(sum, *at<Wide>(p.sums, chunk * p.columns + column));
    shared[threadIndex()] = sum;
    syncThreads();
    if (warp == 0 && column < p.columns) {
      for (int other = 1; other < totalWarps; ++other)
        sum = Type::add(sum, shared[other * 32 + lane]);
      *at<typename Type::Stored>(p.result, column) = Type::write(sum);
    }
    syncThreads();
  }
}

TESSERA_KERNEL(tessera_column_totals_bf16, ColumnReductionParams,
               32 * totalWarps, 4) {
  sumPartials<BFloat>(p);
}
TESSERA_KERNEL(tessera_column_totals_f16, ColumnReductionParams,
               32 * totalWarps, 4) {
  sumPartials<Half>(p);
}
TESSERA_KERNEL(tessera_column_totals_f32, ColumnReductionParams,
               32 * totalWarps, 4) {
  sumPartials<Number<float>>(p);
}
TESSERA_KERNEL(tessera_column_totals_f64, ColumnReductionParams,
               32 * totalWarps, 4) {
  sumPartials<Number<double>>(p);
}
