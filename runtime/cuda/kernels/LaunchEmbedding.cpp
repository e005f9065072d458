//===- LaunchEmbedding.cpp - Gradient of a table of rows ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of Embedding.cu: a sort of the positions by row, and the sums.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Params.h"
#include "RowSort.h"

#include "support/Support.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;
using namespace tessera::rt::cuda::device;

int64_t
tessera::rt::cuda::embeddingWorkspace(const tessera_rt_embedding_desc &desc) {
  return RowSort(desc.positions, desc.rows, nullptr).bytes;
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
  RowSort sort(d.positions, d.rows, workspace);
  std::string error =
      sort.makeKeys(kernels, stream, int32_t(d.id_dtype), ids, offset,
                    d.limit ? std::min(d.rows, d.limit - offset) : d.rows);
  if (error.empty())
    error = sort.run(kernels, stream);
  EmbeddingSumParams sums{int64_t(reinterpret_cast<uintptr_t>(grad)),
                          sort.sortedValues(),
                          sort.starts,
                          int64_t(reinterpret_cast<uintptr_t>(result)),
                          d.rows,
                          d.width,
                          d.mode};
  if (error.empty())
    error = kernels.launch(stream, sumKernel(d),
                           {kernels.gridFor(d.rows, 1), 128, 0}, sums);
  return error;
}
