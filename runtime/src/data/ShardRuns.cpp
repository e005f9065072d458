//===- ShardRuns.cpp - The part of a tensor that a rank has ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardRuns.h"

#include <algorithm>

using namespace tessera::rt;

/// Length of the longest run: long enough for efficiency, short enough to
/// distribute.
static constexpr int64_t longestRun = 64 << 10;

ShardRuns::ShardRuns(const Value &value, int64_t rank) {
  int64_t global = 1, local = 1;
  bool merging = true;
  for (size_t d = value.shape.size(); d-- > 0;) {
    const std::vector<StridedAxis> &axes = value.sharding[d];
    int64_t index = getBlockIndex(axes.data(), axes.size(), rank);
    int64_t extent = value.localShape[d], start = index * extent;
    int64_t valid = std::clamp<int64_t>(value.shape[d] - start, 0, extent);
    if (merging) {
      // Dimensions that are whole on both sides merge into one run.
      innerLength *= valid;
      innerStart = start * global;
      merging = valid == extent && valid == value.shape[d];
    } else {
      outer.insert(outer.begin(), {valid, start, global, local});
      count *= valid;
    }
    global *= value.shape[d];
    local *= extent;
  }
  chunks = std::max<int64_t>(1, (innerLength + longestRun - 1) / longestRun);
  count = innerLength == 0 ? 0 : count * chunks;
  int64_t stride = 1;
  for (size_t d = value.order.size(); d-- > 0; stride *= value.shape[d]) {
    const std::vector<int64_t> &order = value.order[d];
    if (order.empty())
      continue;
    int64_t chunk = value.shape[d] / int64_t(order.size());
    if (ordered.empty())
      addRows(chunk * stride);
    ordered.push_back({value.shape[d], stride, chunk, order});
  }
  if (value.tiles.empty())
    return;
  bool isRow = true;
  int64_t length = 1;
  for (size_t d = value.tiles.size(); d-- > 0;) {
    int64_t tiles = value.tiles[d], extent = value.logicalShape[d] / tiles;
    tiled.insert(tiled.begin(), {tiles, extent});
    tileLength *= extent;
    if (isRow)
      length *= extent;
    isRow &= tiles == 1;
  }
  addRows(length);
}

/// Splits runs of the stored shape into runs of at most `length` elements.
void ShardRuns::addRows(int64_t length) {
  if (length == 0)
    return;
  rowLength = length;
  // A run may begin and end within a row.
  rows = (std::min(innerLength, longestRun) + rowLength - 1) / rowLength + 1;
  count *= rows;
}

int64_t ShardRuns::toLogical(int64_t stored) const {
  if (!ordered.empty()) {
    int64_t index = stored;
    for (const OrderedDim &dim : ordered) {
      int64_t chunk = stored / dim.stride % dim.extent / dim.chunk;
      index += (dim.chunks[size_t(chunk)] - chunk) * dim.chunk * dim.stride;
    }
    return index;
  }
  int64_t tile = stored / tileLength, rest = stored % tileLength;
  int64_t index = 0, stride = 1;
  for (size_t d = tiled.size(); d-- > 0;) {
    auto [tiles, extent] = tiled[d];
    index += (tile % tiles * extent + rest % extent) * stride;
    stride *= tiles * extent;
    tile /= tiles;
    rest /= extent;
  }
  return index;
}

ShardRuns::Run ShardRuns::operator[](int64_t index) const {
  if (rowLength == 0)
    return getStored(index);
  Run run = getStored(index / rows);
  int64_t row = (run.global / rowLength + index % rows) * rowLength;
  int64_t begin = std::max(run.global, row);
  int64_t end = std::min(run.global + run.length, row + rowLength);
  if (begin >= end)
    return {0, 0, 0};
  return {toLogical(begin), run.local + begin - run.global, end - begin};
}

ShardRuns::Run ShardRuns::getStored(int64_t index) const {
  int64_t begin = index % chunks * longestRun, rest = index / chunks;
  Run run{innerStart + begin, begin, std::min(longestRun, innerLength - begin)};
  for (size_t d = outer.size(); d-- > 0;) {
    int64_t i = rest % outer[d].valid;
    rest /= outer[d].valid;
    run.global += (outer[d].start + i) * outer[d].global;
    run.local += i * outer[d].local;
  }
  return run;
}

std::vector<int64_t> tessera::rt::blockIndices(const Value &value, int rank) {
  std::vector<int64_t> block;
  for (const std::vector<StridedAxis> &axes : value.sharding)
    block.push_back(getBlockIndex(axes.data(), axes.size(), rank));
  return block;
}

std::vector<int> tessera::rt::blockOwners(const Value &value, int ranks) {
  std::vector<std::vector<int64_t>> seen;
  std::vector<int> owners;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!value.isOn(rank))
      continue;
    std::vector<int64_t> block = blockIndices(value, rank);
    if (std::find(seen.begin(), seen.end(), block) != seen.end())
      continue;
    seen.push_back(block);
    owners.push_back(rank);
  }
  return owners;
}
