//===- LaunchMovement.cpp - Fills, copies, blocks, reductions -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies are normalized first: extents of 1 are removed, dimensions that are
// contiguous on both sides are merged, and elements become as wide as addresses
// and strides allow.
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

static constexpr int32_t threads = 256;

static int64_t addressOf(const void *memory) {
  return int64_t(reinterpret_cast<uintptr_t>(memory));
}

std::string tessera::rt::cuda::launchFill(BuiltinKernels &kernels,
                                          Stream stream, int64_t elementSize,
                                          void *to, int64_t count,
                                          int64_t bits) {
  if (count <= 0)
    return "";
  uint64_t pattern = uint64_t(bits);
  for (int64_t size = elementSize; size < 8; size *= 2) {
    pattern &= (uint64_t(1) << (8 * size)) - 1;
    pattern |= pattern << (8 * size);
  }
  int64_t begin = addressOf(to), bytes = count * elementSize;
  FillParams params{begin, begin + bytes, int64_t(pattern)};
  return kernels.launch(stream, "tessera_fill",
                        {kernels.gridFor(bytes / 16, threads), threads, 0},
                        params);
}

std::string tessera::rt::cuda::launchWiden(BuiltinKernels &kernels,
                                           Stream stream, const void *from,
                                           void *to, int64_t count) {
  if (count <= 0)
    return "";
  WidenParams params{addressOf(from), addressOf(to), count};
  return kernels.launch(stream, "tessera_widen_bf16",
                        {kernels.gridFor(count / 8, threads), threads, 0},
                        params);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
struct Loop {
  int64_t extent, from, to;
};
/// A copy as loops, outermost first, with strides in elements of `size` bytes.
struct Plan {
  std::vector<Loop> loops;
  int64_t size, from, to;
};
} // namespace

/// Sorts loops by the destination's stride and merges contiguous loops.
static std::vector<Loop> mergeLoops(std::vector<Loop> loops) {
  for (size_t d = 1; d < loops.size(); ++d)
    for (size_t e = d; e > 0 && loops[e - 1].to < loops[e].to; --e)
      std::swap(loops[e - 1], loops[e]);
  std::vector<Loop> merged;
  for (const Loop &loop : loops) {
    Loop *last = merged.empty() ? nullptr : &merged.back();
    if (last && last->from == loop.extent * loop.from &&
        last->to == loop.extent * loop.to)
      *last = {last->extent * loop.extent, loop.from, loop.to};
    else
      merged.push_back(loop);
  }
  return merged;
}

/// Widens elements to up to 16 bytes if both sides are contiguous.
static void widenElements(Plan &plan) {
  if (plan.loops.empty() || plan.loops.back().from != 1 ||
      plan.loops.back().to != 1)
    return;
  uint64_t all = uint64_t(plan.from | plan.to) |
                 uint64_t(plan.loops.back().extent * plan.size);
  for (size_t i = 0; i + 1 < plan.loops.size(); ++i)
    all |= uint64_t(plan.loops[i].from * plan.size) |
           uint64_t(plan.loops[i].to * plan.size);
  int64_t factor = 1;
  while (plan.size * factor < 16 && all % uint64_t(plan.size * factor * 2) == 0)
    factor *= 2;
  for (Loop &loop : plan.loops) {
    bool last = &loop == &plan.loops.back();
    loop.extent /= last ? factor : 1;
    loop.from /= last ? 1 : factor;
    loop.to /= last ? 1 : factor;
  }
  plan.size *= factor;
}

/// The loop that is contiguous in the source if the copy is a transpose of
/// large enough tiles; -1 otherwise.
static int transposedLoop(const Plan &plan) {
  if (plan.loops.size() < 2 || plan.size > 8)
    return -1;
  const Loop &inner = plan.loops.back();
  if (inner.to != 1 || inner.from <= 1 || inner.extent < 8)
    return -1;
  for (size_t i = plan.loops.size() - 1; i-- > 0;)
    if (plan.loops[i].from == 1 && plan.loops[i].extent >= 8)
      return int(i);
  return -1;
}

template <typename Params>
static void setLoops(Params &params, const Plan &plan) {
  params.from = plan.from;
  params.to = plan.to;
  params.rank = int64_t(plan.loops.size());
  for (size_t i = 0; i < plan.loops.size(); ++i) {
    params.extent[i] = plan.loops[i].extent;
    params.fromStride[i] = plan.loops[i].from;
    params.toStride[i] = plan.loops[i].to;
  }
}

static std::string nameFor(const char *kernel, int64_t size) {
  return kernel + std::to_string(size);
}

static std::string launchTranspose(BuiltinKernels &kernels, Stream stream,
                                   const Plan &plan) {
  constexpr int64_t side = 64;
  TransposeParams params = {};
  setLoops(params, plan);
  size_t rank = plan.loops.size();
  params.tileRows = (plan.loops[rank - 2].extent + side - 1) / side;
  params.tileColumns = (plan.loops[rank - 1].extent + side - 1) / side;
  int64_t grid = params.tileRows * params.tileColumns;
  for (size_t i = 0; i + 2 < rank; ++i)
    grid *= plan.loops[i].extent;
  return kernels.launch(
      stream, nameFor("tessera_transpose_", plan.size).c_str(),
      {grid, threads, int32_t(side * (side + 1) * plan.size)}, params);
}

std::string tessera::rt::cuda::launchCopy(BuiltinKernels &kernels,
                                          Stream stream, int64_t elementSize,
                                          int32_t rank, const int64_t *shape,
                                          const void *from,
                                          const int64_t *fromStrides, void *to,
                                          const int64_t *toStrides) {
  Plan plan{{}, elementSize, addressOf(from), addressOf(to)};
  for (int32_t d = 0; d < rank; ++d) {
    if (shape[d] <= 0)
      return "";
    if (shape[d] > 1)
      plan.loops.push_back({shape[d], fromStrides[d], toStrides[d]});
  }
  plan.loops = mergeLoops(std::move(plan.loops));
  int transposed = transposedLoop(plan);
  if (transposed >= 0) {
    std::rotate(plan.loops.begin() + transposed,
                plan.loops.begin() + transposed + 1, plan.loops.end() - 1);
    return launchTranspose(kernels, stream, plan);
  }
  widenElements(plan);
  if (plan.loops.empty())
    plan.loops.push_back({1, 1, 1});
  CopyParams params = {};
  setLoops(params, plan);
  params.total = 1;
  for (const Loop &loop : plan.loops)
    params.total *= loop.extent;
  return kernels.launch(stream, nameFor("tessera_copy_", plan.size).c_str(),
                        {kernels.gridFor(params.total, threads), threads, 0},
                        params);
}

//===----------------------------------------------------------------------===//
// Watched blocks
//===----------------------------------------------------------------------===//

std::string tessera::rt::cuda::launchBlockBegin(BuiltinKernels &kernels,
                                                Stream stream, void *block,
                                                int64_t bytes, bool forget) {
  GuardParams params{addressOf(block), bytes, 0, 0};
  std::string error =
      kernels.launch(stream, "tessera_block_begin", {1, 64, 0}, params);
  if (error.empty() && forget)
    error = launchFill(kernels, stream, 1, block, bytes, -1);
  return error;
}

std::string tessera::rt::cuda::launchBlockEnd(BuiltinKernels &kernels,
                                              Stream stream, void *block,
                                              int64_t bytes, int64_t offset,
                                              bool forget, int64_t *fault) {
  GuardParams params{addressOf(block), bytes, offset, addressOf(fault)};
  std::string error =
      kernels.launch(stream, "tessera_block_end", {1, 32, 0}, params);
  if (error.empty() && forget)
    error = launchFill(kernels, stream, 1, block, bytes, -1);
  return error;
}

std::string tessera::rt::cuda::describeBlockFault(const int64_t fault[3]) {
  if (fault[0] == 0)
    return "";
  return format("memory after the block of %lld bytes at offset %lld was "
                "written, at byte %lld of it",
                (long long)fault[2], (long long)fault[1],
                (long long)(fault[0] - 1));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::string tessera::rt::cuda::launchLocalReduce(BuiltinKernels &kernels,
                                                 Stream stream,
                                                 const LocalReduce &reduce) {
  static const char *const names[] = {
      "tessera_reduce_f32", "tessera_reduce_bf16", "tessera_reduce_f16",
      "tessera_reduce_f64", "tessera_reduce_i1",   "tessera_reduce_i8",
      "tessera_reduce_i32", "tessera_reduce_i64"};
  size_t sources = reduce.sources.size(), targets = reduce.destinations.size();
  if (sources == 0 || sources > size_t(maxLocalRanks) ||
      targets > size_t(maxLocalRanks) || reduce.dtype < 0 || reduce.dtype > 7)
    return format("a local reduction expects 1 to %d sources of a known type "
                  "but got %d of %s",
                  maxLocalRanks, int(sources), dtypeName(reduce.dtype));
  if (reduce.outer * reduce.inner == 0 || targets == 0)
    return "";
  ReduceParams params = {};
  params.outer = reduce.outer;
  params.inner = reduce.inner;
  params.sourceStride = reduce.sourceStride;
  params.destinationStride = reduce.destinationStride;
  params.reduction = reduce.reduction;
  params.numSources = int64_t(sources);
  params.numDestinations = int64_t(targets);
  for (size_t i = 0; i < sources; ++i)
    params.source[i] = addressOf(reduce.sources[i]);
  for (size_t i = 0; i < targets; ++i)
    params.destination[i] = addressOf(reduce.destinations[i]);
  int64_t perThread = std::max<int64_t>(1, 16 / dtypeSize(reduce.dtype));
  int64_t work = reduce.outer * reduce.inner / perThread;
  return kernels.launch(stream, names[reduce.dtype],
                        {kernels.gridFor(work, threads), threads, 0}, params);
}
