//===- Sort.cu - Positions sorted by the row that they name ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stable radix sort of 8 bits per pass, and the first position of each row.
// Rows are those of an embedding's table, or experts.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace tessera::rt::cuda::device;

/// Ids that are not rows before `end` get the key `rows`, which sorts last.
template <typename Id>
static TESSERA_DEVICE void makeKeys(const SortKeysParams &p) {
  const Id *ids = reinterpret_cast<const Id *>(p.ids);
  uint32_t *keys = reinterpret_cast<uint32_t *>(p.keys);
  uint32_t *values = reinterpret_cast<uint32_t *>(p.values);
  for (int64_t i = globalIndex(); i < p.positions; i += globalSize()) {
    int64_t row = int64_t(ids[i]) - p.offset;
    keys[i] = uint32_t(row >= 0 && row < p.end ? row : p.rows);
    values[i] = uint32_t(i);
  }
}
TESSERA_KERNEL(tessera_sort_keys_i32, SortKeysParams, 256, 4) {
  makeKeys<int32_t>(p);
}
TESSERA_KERNEL(tessera_sort_keys_i64, SortKeysParams, 256, 4) {
  makeKeys<int64_t>(p);
}

/// Counts the 8-bit digits of a tile's keys, one block per tile.
TESSERA_KERNEL(tessera_sort_count, SortParams, sortThreads, 4) {
  int32_t *counter = reinterpret_cast<int32_t *>(sharedMemory());
  const uint32_t *keys = reinterpret_cast<const uint32_t *>(p.keys);
  int32_t *counts = reinterpret_cast<int32_t *>(p.counts);
  counter[threadIndex()] = 0;
  syncThreads();
  int64_t begin = blockIndex() * sortTile;
  for (int i = threadIndex(); i < sortTile && begin + i < p.count;
       i += sortThreads)
    addShared(&counter[keys[begin + i] >> p.shift & 255], 1);
  syncThreads();
  counts[threadIndex() * p.tiles + blockIndex()] = counter[threadIndex()];
}

/// Replaces each count by the sum of the counts before it. One block.
TESSERA_KERNEL(tessera_sort_scan, SortParams, scanThreads, 1) {
  int32_t *sums = reinterpret_cast<int32_t *>(sharedMemory());
  int32_t *counts = reinterpret_cast<int32_t *>(p.counts);
  int64_t all = 256 * p.tiles;
  int64_t chunk = (all + scanThreads - 1) / scanThreads;
  int64_t begin = chunk * threadIndex();
  int64_t end = begin + chunk < all ? begin + chunk : all;
  int32_t sum = 0;
  for (int64_t i = begin; i < end; ++i)
    sum += counts[i];
  sums[threadIndex()] = sum;
  syncThreads();
  for (int step = 1; step < scanThreads; step *= 2) {
    int32_t before = threadIndex() >= step ? sums[threadIndex() - step] : 0;
    syncThreads();
    sums[threadIndex()] += before;
    syncThreads();
  }
  int32_t before = sums[threadIndex()] - sum;
  for (int64_t i = begin; i < end; ++i) {
    int32_t count = counts[i];
    counts[i] = before;
    before += count;
  }
}

/// Moves the keys of a tile to their positions, in order: 256 at a time, 32
/// consecutive ones by each warp.
TESSERA_KERNEL(tessera_sort_scatter, SortParams, sortThreads, 4) {
  constexpr int warps = sortThreads / 32;
  // next[256]: position of the next key of a digit; then counts[warps][256].
  int32_t *next = reinterpret_cast<int32_t *>(sharedMemory());
  int32_t *perWarp = next + 256;
  const uint32_t *keys = reinterpret_cast<const uint32_t *>(p.keys);
  const uint32_t *values = reinterpret_cast<const uint32_t *>(p.values);
  uint32_t *sortedKeys = reinterpret_cast<uint32_t *>(p.sortedKeys);
  uint32_t *sortedValues = reinterpret_cast<uint32_t *>(p.sortedValues);
  int thread = threadIndex(), warp = thread / 32, lane = thread % 32;
  next[thread] = reinterpret_cast<const int32_t *>(
      p.counts)[thread * p.tiles + blockIndex()];
  for (int round = 0; round < sortTile; round += sortThreads) {
    for (int w = 0; w < warps; ++w)
      perWarp[w * 256 + thread] = 0;
    syncThreads();
    int64_t i = blockIndex() * sortTile + round + thread;
    bool here = i < p.count;
    uint32_t key = here ? keys[i] : 0;
    uint32_t digit = here ? key >> p.shift & 255 : 256;
    uint32_t equal = matchAny(digit);
    int rank = countBits(equal & ((1u << lane) - 1));
    if (here && rank == 0)
      perWarp[warp * 256 + int(digit)] = countBits(equal);
    syncThreads();
    // Each thread computes, for one digit, where each warp's keys begin.
    int32_t position = next[thread];
    for (int w = 0; w < warps; ++w) {
      int32_t count = perWarp[w * 256 + thread];
      perWarp[w * 256 + thread] = position;
      position += count;
    }
    next[thread] = position;
    syncThreads();
    if (here) {
      int32_t to = perWarp[warp * 256 + int(digit)] + rank;
      sortedKeys[to] = key;
      sortedValues[to] = values[i];
    }
    syncThreads();
  }
}

TESSERA_KERNEL(tessera_sort_starts, StartsParams, 256, 4) {
  const uint32_t *keys = reinterpret_cast<const uint32_t *>(p.keys);
  int32_t *starts = reinterpret_cast<int32_t *>(p.starts);
  for (int64_t i = globalIndex(); i <= p.count; i += globalSize()) {
    int64_t first = i == 0 ? 0 : int64_t(keys[i - 1]) + 1;
    int64_t last = i == p.count ? p.rows : int64_t(keys[i]);
    for (int64_t row = first; row <= last; ++row)
      starts[row] = int32_t(i);
  }
}
