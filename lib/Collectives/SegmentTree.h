//===- SegmentTree.h - Maximum of a range of numbers ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds to a range and returns the maximum of a range, each in O(log n): a
// segment tree with lazy addition (Bentley, "Solutions to Klee's rectangle
// problems", 1977).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_SEGMENTTREE_H
#define TESSERA_LIB_COLLECTIVES_SEGMENTTREE_H

#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera {

/// Numbers by position, with addition to a range and maximum of a range.
class SegmentTree {
public:
  explicit SegmentTree(llvm::ArrayRef<int64_t> values)
      : size(std::max<size_t>(values.size(), 1)), most(4 * size, 0),
        added(4 * size, 0) {
    build(1, 0, size, values);
  }
  void add(unsigned begin, unsigned end, int64_t bytes) {
    if (begin < end)
      add(1, 0, size, begin, end, bytes);
  }
  /// Returns INT64_MIN for an empty range.
  int64_t get(unsigned begin, unsigned end) const {
    return begin < end ? get(1, 0, size, begin, end) : INT64_MIN;
  }

private:
  void build(unsigned node, unsigned low, unsigned high,
             llvm::ArrayRef<int64_t> values) {
    if (high - low == 1) {
      most[node] = low < values.size() ? values[low] : 0;
      return;
    }
    unsigned middle = (low + high) / 2;
    build(2 * node, low, middle, values);
    build(2 * node + 1, middle, high, values);
    most[node] = std::max(most[2 * node], most[2 * node + 1]);
  }
  void add(unsigned node, unsigned low, unsigned high, unsigned begin,
           unsigned end, int64_t bytes) {
    if (end <= low || high <= begin)
      return;
    if (begin <= low && high <= end) {
      most[node] += bytes;
      added[node] += bytes;
      return;
    }
    unsigned middle = (low + high) / 2;
    add(2 * node, low, middle, begin, end, bytes);
    add(2 * node + 1, middle, high, begin, end, bytes);
    most[node] = std::max(most[2 * node], most[2 * node + 1]) + added[node];
  }
  int64_t get(unsigned node, unsigned low, unsigned high, unsigned begin,
              unsigned end) const {
    if (end <= low || high <= begin)
      return INT64_MIN;
    if (begin <= low && high <= end)
      return most[node];
    unsigned middle = (low + high) / 2;
    return std::max(get(2 * node, low, middle, begin, end),
                    get(2 * node + 1, middle, high, begin, end)) +
           added[node];
  }

  size_t size;
  std::vector<int64_t> most, added;
};

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_SEGMENTTREE_H
