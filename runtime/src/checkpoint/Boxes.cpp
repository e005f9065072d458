//===- Boxes.cpp - The boxes of a tensor that a rank holds ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Boxes.h. Stored and logical dimensions are split into the shortest groups
// whose products agree. Within a group, a block is a few ranges of elements in
// row-major order, and each range a few boxes. The block's boxes are all
// combinations of the boxes of its groups.
//
//===----------------------------------------------------------------------===//

#include "Boxes.h"

#include "data/ShardRuns.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace tessera::rt;

int64_t Box::elements() const {
  int64_t count = 1;
  for (int64_t size : extent)
    count *= size;
  return count;
}

static Box narrow(Box box, size_t dim, int64_t first, int64_t count) {
  box.offset[dim] += first;
  box.extent[dim] = count;
  box.local += first * box.strides[dim];
  return box;
}

/// Appends the elements [begin, end) of a box whose dimensions before `dim`
/// have one element.
static void cut(const Box &box, size_t dim, int64_t begin, int64_t end,
                std::vector<Box> &boxes) {
  if (begin >= end)
    return;
  if (dim == box.extent.size()) {
    boxes.push_back(box);
    return;
  }
  int64_t inner = 1;
  for (size_t d = dim + 1; d < box.extent.size(); ++d)
    inner *= box.extent[d];
  int64_t slice = begin / inner;
  if (begin % inner) {
    int64_t stop = std::min(end, (slice + 1) * inner);
    cut(narrow(box, dim, slice, 1), dim + 1, begin - slice * inner,
        stop - slice * inner, boxes);
    begin = stop;
    ++slice;
  }
  int64_t last = end / inner;
  if (slice < last)
    boxes.push_back(narrow(box, dim, slice, last - slice));
  if (begin < end && end % inner)
    cut(narrow(box, dim, last, 1), dim + 1, 0, end % inner, boxes);
}

std::vector<Box> tessera::rt::cutBox(const Box &box, int64_t begin,
                                     int64_t end) {
  std::vector<Box> boxes;
  cut(box, 0, begin, end, boxes);
  return boxes;
}

/// A box with all elements of a shape, whose first element is element `local`
/// of a block that has them in row-major order.
static Box wholeBox(const std::vector<int64_t> &shape, int64_t local) {
  Box box;
  box.offset.assign(shape.size(), 0);
  box.extent = shape;
  box.local = local;
  box.strides.assign(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    box.strides[d - 1] = box.strides[d] * shape[d];
  return box;
}

//===----------------------------------------------------------------------===//
// Stored dimensions
//===----------------------------------------------------------------------===//

namespace {
/// Elements that are consecutive in a shape and in a block.
struct Range {
  int64_t global, local, length;
};

/// Stored dimensions and logical ones with the same product.
struct DimGroup {
  size_t storedBegin, storedEnd, logicalBegin, logicalEnd;
};
} // namespace

/// The elements of a stored dimension that are in a rank's block, without
/// padding, in their original order.
static std::vector<Range> rangesOf(const Value &value, size_t dim,
                                   int64_t rank) {
  const std::vector<StridedAxis> &axes = value.sharding[dim];
  int64_t extent = value.localShape[dim];
  int64_t start = getBlockIndex(axes.data(), axes.size(), rank) * extent;
  int64_t end = std::min(value.shape[dim], start + extent);
  std::vector<Range> ranges;
  if (start >= end)
    return ranges;
  if (value.order.empty() || value.order[dim].empty())
    return {{start, 0, end - start}};
  const std::vector<int64_t> &order = value.order[dim];
  int64_t chunk = value.shape[dim] / int64_t(order.size());
  for (int64_t at = start; at < end;) {
    int64_t next = std::min(end, (at / chunk + 1) * chunk);
    ranges.push_back({order[size_t(at / chunk)] * chunk + at % chunk,
                      at - start, next - at});
    at = next;
  }
  return ranges;
}

/// Splits the dimensions into the shortest groups whose products agree.
static std::vector<DimGroup> groupDims(const std::vector<int64_t> &stored,
                                       const std::vector<int64_t> &logical) {
  std::vector<DimGroup> groups;
  size_t i = 0, j = 0;
  while (i < stored.size() && j < logical.size()) {
    DimGroup group{i, i + 1, j, j + 1};
    int64_t a = stored[i++], b = logical[j++];
    while (a != b) {
      if (a < b)
        a *= stored[i++];
      else
        b *= logical[j++];
    }
    group.storedEnd = i;
    group.logicalEnd = j;
    groups.push_back(group);
  }
  // Dimensions of one element are left.
  if (groups.empty())
    return {{0, stored.size(), 0, logical.size()}};
  groups.back().storedEnd = stored.size();
  groups.back().logicalEnd = logical.size();
  return groups;
}

/// The elements of a group's stored dimensions that are in a rank's block, as
/// ranges of their row-major order.
static std::vector<Range> rangesOf(const Value &value, const DimGroup &group,
                                   int64_t rank) {
  std::vector<Range> ranges = {{0, 0, 1}};
  int64_t global = 1, local = 1;
  for (size_t d = group.storedEnd; d-- > group.storedBegin;) {
    std::vector<Range> outer = rangesOf(value, d, rank), next;
    bool isWhole = ranges.size() == 1 && ranges[0].length == global &&
                   ranges[0].length == local;
    for (const Range &range : outer) {
      if (isWhole) {
        next.push_back({range.global * global, range.local * local,
                        range.length * global});
        continue;
      }
      for (int64_t i = 0; i < range.length && next.size() <= maxBoxes; ++i)
        for (const Range &inner : ranges)
          next.push_back({(range.global + i) * global + inner.global,
                          (range.local + i) * local + inner.local,
                          inner.length});
    }
    ranges = std::move(next);
    global *= value.shape[d];
    local *= value.localShape[d];
  }
  return ranges;
}

/// The boxes of a group's logical dimensions. Strides count elements of the
/// group's part of the block.
static std::vector<Box> boxesOf(const Value &value, const DimGroup &group,
                                int64_t rank) {
  std::vector<int64_t> shape(
      value.logicalShape.begin() + int64_t(group.logicalBegin),
      value.logicalShape.begin() + int64_t(group.logicalEnd));
  std::vector<Box> boxes;
  for (const Range &range : rangesOf(value, group, rank)) {
    Box whole = wholeBox(shape, range.local - range.global);
    for (Box &box : cutBox(whole, range.global, range.global + range.length))
      boxes.push_back(std::move(box));
  }
  return boxes;
}

/// Combines the boxes of outer dimensions with those of inner ones, which have
/// `innerElements` elements of the block.
static std::vector<Box> combine(const std::vector<Box> &outer,
                                const std::vector<Box> &inner,
                                int64_t innerElements) {
  std::vector<Box> boxes;
  for (const Box &a : outer)
    for (const Box &b : inner) {
      if (boxes.size() > maxBoxes)
        return boxes;
      Box box = a;
      box.local = a.local * innerElements + b.local;
      for (int64_t &stride : box.strides)
        stride *= innerElements;
      box.offset.insert(box.offset.end(), b.offset.begin(), b.offset.end());
      box.extent.insert(box.extent.end(), b.extent.begin(), b.extent.end());
      box.strides.insert(box.strides.end(), b.strides.begin(), b.strides.end());
      boxes.push_back(std::move(box));
    }
  return boxes;
}

/// The boxes of a value with tiles: its last stored dimension has the elements
/// of a tile, the others count tiles.
static std::vector<Box> boxesOfTiles(const Value &value, int64_t rank) {
  std::vector<int64_t> tile;
  for (size_t d = 0; d < value.tiles.size(); ++d)
    tile.push_back(value.logicalShape[d] / value.tiles[d]);
  size_t last = value.shape.size() - 1;
  std::vector<Range> elements = rangesOf(value, last, rank);
  // Tiles of the block, each as a box of one tile in the tiles' shape.
  std::vector<Box> tiles = {Box()};
  size_t stored = 0;
  for (int64_t count : value.tiles) {
    std::vector<Box> dim;
    if (count == 1)
      dim = {wholeBox({1}, 0)};
    else
      for (const Range &range : rangesOf(value, stored, rank))
        for (int64_t i = 0; i < range.length && dim.size() <= maxBoxes; ++i)
          dim.push_back(narrow(wholeBox({count}, range.local - range.global), 0,
                               range.global + i, 1));
    tiles = combine(tiles, dim, count == 1 ? 1 : value.localShape[stored]);
    stored += count > 1;
  }
  std::vector<Box> boxes;
  for (const Box &at : tiles)
    for (const Range &range : elements) {
      Box whole = wholeBox(tile, at.local * value.localShape[last] +
                                     range.local - range.global);
      for (size_t d = 0; d < tile.size(); ++d)
        whole.offset[d] = at.offset[d] * tile[d];
      for (Box &box : cutBox(whole, range.global, range.global + range.length))
        boxes.push_back(std::move(box));
    }
  return boxes;
}

/// Extends `box` by `next`, if they differ in dimension `dim` alone, follow
/// each other there, and so do their elements in the block.
static bool extend(Box &box, const Box &next, size_t dim) {
  int64_t step = next.local - box.local, stride = box.strides[dim];
  if (box.extent[dim] == 1)
    stride = next.extent[dim] == 1 ? step : next.strides[dim];
  bool isNext = next.offset[dim] == box.offset[dim] + box.extent[dim] &&
                step == box.extent[dim] * stride &&
                (next.extent[dim] == 1 || next.strides[dim] == stride);
  for (size_t d = 0; d < box.extent.size() && isNext; ++d)
    isNext =
        d == dim ||
        (box.offset[d] == next.offset[d] && box.extent[d] == next.extent[d] &&
         (box.extent[d] == 1 || box.strides[d] == next.strides[d]));
  if (!isNext)
    return false;
  box.extent[dim] += next.extent[dim];
  box.strides[dim] = stride;
  return true;
}

/// Joins boxes that are one box in the tensor and in the block.
static std::vector<Box> joinBoxes(std::vector<Box> boxes) {
  if (boxes.size() > maxBoxes)
    return boxes;
  size_t dims = boxes.empty() ? 0 : boxes.front().extent.size();
  for (size_t dim = dims; dim-- > 0;) {
    std::vector<Box> joined;
    for (Box &box : boxes)
      if (joined.empty() || !extend(joined.back(), box, dim))
        joined.push_back(std::move(box));
    boxes = std::move(joined);
  }
  return boxes;
}

std::vector<Box> tessera::rt::boxesOf(const Value &value, int64_t rank) {
  if (value.elements() == 0)
    return {};
  if (!value.tiles.empty())
    return joinBoxes(boxesOfTiles(value, rank));
  std::vector<Box> boxes = {Box()};
  for (const DimGroup &group : groupDims(value.shape, value.logicalShape)) {
    int64_t elements = 1;
    for (size_t d = group.storedBegin; d < group.storedEnd; ++d)
      elements *= value.localShape[d];
    boxes = combine(boxes, ::boxesOf(value, group, rank), elements);
  }
  return joinBoxes(std::move(boxes));
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Moves an element of consecutive boxes down to the start of its row.
static int64_t startOfRow(const std::vector<Box> &boxes, int64_t element) {
  int64_t begin = 0;
  for (const Box &box : boxes) {
    int64_t end = begin + box.elements();
    if (element < end) {
      int64_t row = box.extent.size() > 1 ? box.extent.back() : 1;
      return begin + (element - begin) / row * row;
    }
    begin = end;
  }
  return element;
}

std::vector<std::vector<Box>> tessera::rt::dealBoxes(const Value &value,
                                                     int ranks) {
  std::map<std::vector<int64_t>, std::vector<int>> holders;
  for (int rank = 0; rank < ranks; ++rank)
    if (value.isOn(rank))
      holders[blockIndices(value, rank)].push_back(rank);
  std::vector<std::vector<Box>> dealt(static_cast<size_t>(ranks));
  for (const auto &[block, same] : holders) {
    std::vector<Box> boxes = boxesOf(value, same.front());
    int64_t count = 0, shares = int64_t(same.size());
    for (const Box &box : boxes)
      count += box.elements();
    for (int64_t j = 0; j < shares; ++j) {
      int64_t first = startOfRow(boxes, count * j / shares);
      int64_t last = startOfRow(boxes, count * (j + 1) / shares), begin = 0;
      for (const Box &box : boxes) {
        int64_t end = begin + box.elements();
        for (Box &part : cutBox(box, std::clamp(first, begin, end) - begin,
                                std::clamp(last, begin, end) - begin))
          dealt[size_t(same[size_t(j)])].push_back(std::move(part));
        begin = end;
      }
    }
  }
  return dealt;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void tessera::rt::forEachRun(
    const Box &box, int64_t begin, int64_t count,
    const std::function<void(int64_t from, int64_t length)> &run) {
  // Elements that are consecutive in the block, too.
  int64_t most = 1;
  size_t outer = box.extent.size();
  while (outer > 0 &&
         (box.extent[outer - 1] == 1 || box.strides[outer - 1] == most))
    most *= box.extent[--outer];
  for (int64_t at = begin; at < begin + count;) {
    int64_t from = box.local + at % most, rest = at / most;
    for (size_t d = outer; d-- > 0; rest /= box.extent[d])
      from += rest % box.extent[d] * box.strides[d];
    int64_t length = std::min(most - at % most, begin + count - at);
    run(from, length);
    at += length;
  }
}

void tessera::rt::copyBox(const Box &box, int64_t elementSize,
                          const uint8_t *block, uint8_t *out) {
  forEachRun(box, 0, box.elements(), [&](int64_t from, int64_t length) {
    memcpy(out, block + from * elementSize, size_t(length * elementSize));
    out += length * elementSize;
  });
}
