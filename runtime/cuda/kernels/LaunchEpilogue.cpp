//===- LaunchEpilogue.cpp - Launches of epilogues -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of Epilogue.cu.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Params.h"

#include "support/Support.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;
using namespace tessera::rt::cuda::device;

static int64_t addressOf(const void *memory) {
  return int64_t(reinterpret_cast<uintptr_t>(memory));
}

/// Table index of an element type: f32, bf16, f16, f64; -1 for others.
static int indexOf(int32_t dtype) {
  return dtype >= TESSERA_RT_F32 && dtype <= TESSERA_RT_F64 ? dtype : -1;
}

static std::string refuse(const char *what, int32_t dtype, int32_t other) {
  return format("%s expects floats but got %s and %s", what, dtypeName(dtype),
                dtypeName(other));
}

std::string tessera::rt::cuda::launchEpilogue(BuiltinKernels &kernels,
                                              Stream stream,
                                              const Epilogue &e) {
  static const char *const names[] = {
      "tessera_epilogue_f32", "tessera_epilogue_bf16", "tessera_epilogue_f16",
      "tessera_epilogue_f64"};
  if (indexOf(e.dtype) < 0 || indexOf(e.biasDtype) < 0)
    return refuse("what follows a matmul", e.dtype, e.biasDtype);
  if (e.m * e.n == 0)
    return "";
  EpilogueParams params{addressOf(e.c),
                        addressOf(e.bias),
                        addressOf(e.aux),
                        e.kind,
                        e.biasDtype != e.dtype,
                        e.m,
                        e.n,
                        e.ldc,
                        e.aux ? e.auxLd : 0};
  constexpr int32_t threads = 256;
  int64_t work = e.m * e.n * dtypeSize(e.dtype) / 16;
  return kernels.launch(stream, names[e.dtype],
                        {kernels.gridFor(work, threads), threads, 0}, params);
}

/// Fewest rows of a chunk, most chunks, and most bytes of all partial sums.
static constexpr int64_t leastRows = 16, mostChunks = 1024,
                         mostPartialBytes = int64_t(16) << 20;

static int64_t wideSize(const ColumnReduction &sums) {
  return sums.dtype == TESSERA_RT_F64 ? 8 : 4;
}

static int64_t chunksOf(const ColumnReduction &sums) {
  int64_t fitting =
      mostPartialBytes / std::max<int64_t>(1, sums.columns * wideSize(sums));
  return std::max<int64_t>(1, std::min({(sums.rows + leastRows - 1) / leastRows,
                                        mostChunks, fitting}));
}

int64_t
tessera::rt::cuda::columnReductionWorkspace(const ColumnReduction &sums) {
  return chunksOf(sums) * sums.columns * wideSize(sums);
}

std::string
tessera::rt::cuda::launchColumnReduction(BuiltinKernels &kernels, Stream stream,
                                         const ColumnReduction &sums,
                                         void *workspace) {
  static const char *const partNames[] = {
      "tessera_column_partials_f32", "tessera_column_partials_bf16",
      "tessera_column_partials_f16", "tessera_column_partials_f64"};
  static const char *const totalNames[] = {
      "tessera_column_totals_f32", "tessera_column_totals_bf16",
      "tessera_column_totals_f16", "tessera_column_totals_f64"};
  bool isWide = sums.dtype == TESSERA_RT_F64;
  if (indexOf(sums.dtype) < 0 || indexOf(sums.resultDtype) < 0 ||
      isWide != (sums.resultDtype == TESSERA_RT_F64))
    return refuse("column reductions", sums.dtype, sums.resultDtype);
  if (sums.columns == 0)
    return "";
  int64_t chunks = chunksOf(sums);
  ColumnReductionParams params{addressOf(sums.from),
                               addressOf(workspace),
                               addressOf(sums.result),
                               sums.rows,
                               sums.columns,
                               sums.ld,
                               chunks,
                               (sums.rows + chunks - 1) / chunks};
  int64_t work =
      chunks * std::max<int64_t>(1, sums.columns * dtypeSize(sums.dtype) / 16);
  std::string error =
      kernels.launch(stream, partNames[sums.dtype],
                     {kernels.gridFor(work, 128), 128, 0}, params);
  if (error.empty())
    error = kernels.launch(stream, totalNames[sums.resultDtype],
                           {kernels.gridFor(sums.columns, 32), 32 * totalWarps,
                            int32_t(32 * totalWarps * wideSize(sums))},
                           params);
  return error;
}
