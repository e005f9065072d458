//===- LaunchEmbedding.cpp - Gradient of a table of rows ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of Embedding.cu: keys, a sort with as many passes as row numbers
// have bytes, the first position of each row, and the sums.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Params.h"

#include "support/Support.h"

#include <algorithm>
#include <utility>

using namespace tessera::rt;
using namespace tessera::rt::cuda;
using namespace tessera::rt::cuda::device;

namespace {
/// Parts of the workspace.
struct Workspace {
  int64_t keys[2], values[2], counts, starts, bytes;

  Workspace(const tessera_rt_embedding_desc &d, int64_t base) {
    int64_t at = base;
    auto take = [&](int64_t words) {
      int64_t part = at;
      at += (words * 4 + 255) / 256 * 256;
      return part;
    };
    for (int i = 0; i < 2; ++i) {
      keys[i] = take(d.positions);
      values[i] = take(d.positions);
    }
    counts = take(256 * tilesOf(d));
    starts = take(d.rows + 1);
    bytes = at - base;
  }
  static int64_t tilesOf(const tessera_rt_embedding_desc &d) {
    return (d.positions + sortTile - 1) / sortTile;
  }
};
} // namespace

int64_t
tessera::rt::cuda::embeddingWorkspace(const tessera_rt_embedding_desc &desc) {
  return Workspace(desc, 0).bytes;
}

/// Sorts (keys[0], values[0]); returns which of the two buffers has the result.
static std::string sortByRow(BuiltinKernels &kernels, Stream stream,
                             const tessera_rt_embedding_desc &d,
                             const Workspace &w, int &result) {
  int64_t tiles = Workspace::tilesOf(d);
  result = 0;
  std::string error;
  // The largest key is `rows`.
  for (int64_t shift = 0; d.rows >> shift > 0 && error.empty(); shift += 8) {
    int from = result, to = 1 - result;
    SortParams params{w.keys[from], w.values[from], w.keys[to], w.values[to],
                      d.positions,  shift,          w.counts,   tiles};
    error = kernels.launch(stream, "tessera_sort_count",
                           {tiles, sortThreads, 256 * 4}, params);
    if (error.empty())
      error = kernels.launch(stream, "tessera_sort_scan",
                             {1, scanThreads, scanThreads * 4}, params);
    if (error.empty())
      error = kernels.launch(
          stream, "tessera_sort_scatter",
          {tiles, sortThreads, 256 * 4 * (1 + sortThreads / 32)}, params);
    result = to;
  }
  return error;
}

static const char *sumKernel(const tessera_rt_embedding_desc &d) {
  if (d.dtype == TESSERA_RT_F64)
    return "tessera_embedding_sum_f64";
  if (d.dtype == TESSERA_RT_F32)
    return "tessera_embedding_sum_f32";
  return d.result_dtype == TESSERA_RT_F32 ? "tessera_embedding_sum_bf16_f32"
                                          : "tessera_embedding_sum_bf16";
}

std::string tessera::rt::cuda::launchEmbeddingBackward(
    BuiltinKernels &kernels, Stream stream,
    const tessera_rt_embedding_desc &desc, const void *grad, const void *ids,
    void *result, int64_t offset, void *workspace) {
  const tessera_rt_embedding_desc &d = desc;
  if (std::max(d.positions, d.rows) >= (int64_t(1) << 31) - 1)
    return format(
        "embedding backward on a device expects less than 2^31 positions "
        "and rows but got %lld and %lld",
        (long long)d.positions, (long long)d.rows);
  if (d.rows == 0 || d.width == 0)
    return "";
  Workspace w(d, int64_t(reinterpret_cast<uintptr_t>(workspace)));
  int sorted = 0;
  std::string error;
  if (d.positions > 0) {
    EmbeddingKeysParams params{int64_t(reinterpret_cast<uintptr_t>(ids)),
                               d.positions,
                               d.rows,
                               offset,
                               w.keys[0],
                               w.values[0],
                               d.limit ? std::min(d.rows, d.limit - offset)
                                       : d.rows};
    error = kernels.launch(stream,
                           d.id_dtype == TESSERA_RT_I32
                               ? "tessera_embedding_keys_i32"
                               : "tessera_embedding_keys_i64",
                           {kernels.gridFor(d.positions, 256), 256, 0}, params);
    if (error.empty())
      error = sortByRow(kernels, stream, d, w, sorted);
  }
  StartsParams starts{w.keys[sorted], d.positions, d.rows, w.starts};
  if (error.empty())
    error =
        kernels.launch(stream, "tessera_embedding_starts",
                       {kernels.gridFor(d.positions + 1, 256), 256, 0}, starts);
  EmbeddingSumParams sums{int64_t(reinterpret_cast<uintptr_t>(grad)),
                          w.values[sorted],
                          w.starts,
                          int64_t(reinterpret_cast<uintptr_t>(result)),
                          d.rows,
                          d.width,
                          d.accumulate};
  if (error.empty())
    error = kernels.launch(stream, sumKernel(d),
                           {kernels.gridFor(d.rows, 1), 128, 0}, sums);
  return error;
}
