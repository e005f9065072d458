//===- ShardRuns.h - The part of a tensor that a rank has -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SHARDRUNS_H
#define TESSERA_RT_SRC_SHARDRUNS_H

#include "data/Manifest.h"

#include <vector>

namespace tessera::rt {

/// A rank's block of a value as runs of elements that are contiguous both in
/// the block and in the logical shape. Padding is in no run. Runs may be empty.
class ShardRuns {
public:
  ShardRuns(const Value &value, int64_t rank);

  struct Run {
    int64_t global; ///< linear index in the logical shape
    int64_t local;  ///< element of the local block
    int64_t length;
  };
  int64_t size() const { return count; }
  Run operator[](int64_t index) const;

private:
  struct Dim {
    int64_t valid, start, global, local; // extents in the block and strides
  };
  /// A logical dimension of a tiled value: tiles, and elements of each.
  struct TiledDim {
    int64_t tiles, extent;
  };
  /// A dimension whose chunks are stored in another order.
  struct OrderedDim {
    int64_t extent, stride, chunk;
    std::vector<int64_t> chunks;
  };
  void addRows(int64_t length);
  Run getStored(int64_t index) const;
  int64_t toLogical(int64_t stored) const;

  std::vector<Dim> outer;
  int64_t count = 1, innerStart = 0, innerLength = 1;
  int64_t chunks = 1;
  std::vector<OrderedDim> ordered;
  /// Elements of a tile, for a tiled value.
  std::vector<TiledDim> tiled;
  int64_t tileLength = 1;
  /// Elements that are consecutive in the logical shape, and the most runs of
  /// that many elements in a run of the stored shape; 0: all are consecutive.
  int64_t rowLength = 0, rows = 1;
};

/// The index of a rank's block in each dimension of `value`.
std::vector<int64_t> blockIndices(const Value &value, int rank);

/// The ranks that hold distinct blocks of `value`: the lowest rank of each
/// block. Empty if no rank holds one.
std::vector<int> blockOwners(const Value &value, int ranks);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SHARDRUNS_H
