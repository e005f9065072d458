//===- Boxes.h - The boxes of a tensor that a rank holds --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's block of a value covers boxes of the value's logical tensor: one if
// the stored dimensions are the logical ones, several if stored dimensions
// merge or split logical ones, or have tiles or an order. A file of a
// checkpoint has one box of a tensor.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_BOXES_H
#define TESSERA_RT_SRC_BOXES_H

#include "data/Manifest.h"

#include <functional>
#include <vector>

namespace tessera::rt {

/// A box of a logical tensor, and its place in a rank's block. Its element (i,
/// j, ...) is element local + i strides[0] + j strides[1] + ... of the block.
struct Box {
  /// The first element in each logical dimension, and the number of them.
  std::vector<int64_t> offset, extent;
  int64_t local = 0;
  /// Elements of the block from one element of a dimension to the next. They
  /// hold within the box; dimensions of extent 1 have any.
  std::vector<int64_t> strides;

  int64_t elements() const;
};

/// Blocks of more boxes are not listed whole.
constexpr size_t maxBoxes = 4096;

/// The boxes that a rank's block of a value covers. They are disjoint, not
/// empty, and have what ShardRuns lists: each element but padding. A rank must
/// have the value. Returns more than `maxBoxes`, of whatever place, if it needs
/// more.
std::vector<Box> boxesOf(const Value &value, int64_t rank);

/// The part of the elements [begin, end) of a box, in row-major order, as
/// boxes: at most 2r - 1 of them in r dimensions.
std::vector<Box> cutBox(const Box &box, int64_t begin, int64_t end);

/// The boxes of a value that each rank writes. Of h ranks with the same block,
/// the j-th writes the elements from j/h to (j+1)/h of its boxes, moved down to
/// whole rows of the last dimension. Each element is written once.
std::vector<std::vector<Box>> dealBoxes(const Value &value, int ranks);

/// Copies a box out of a block, in row-major order.
void copyBox(const Box &box, int64_t elementSize, const uint8_t *block,
             uint8_t *out);

/// Calls `run` for the elements [begin, begin + count) of a box, in row-major
/// order: with the first element in the block, and the number of elements that
/// are consecutive both in the box and in the block.
void forEachRun(const Box &box, int64_t begin, int64_t count,
                const std::function<void(int64_t from, int64_t length)> &run);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_BOXES_H
