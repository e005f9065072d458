//===- OccupiedRanges.cpp - The addresses taken over time -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A segment tree over the steps (M. de Berg, O. Cheong, M. van Kreveld, M.
// Overmars: Computational Geometry, 2008, section 10.3), which returns the
// addresses taken in some step from `first` to `last`. A block takes its
// addresses there if it is live in step `first`, or begins later in that range:
//
//                      1
//              2               3        A, steps 0 to 1: throughout 2
//          4       5       6       7                     begun 4, 2, 1
//        step 0  step 1  step 2         C, step 2:       throughout 6
//                                                        begun 6, 3, 1
//     steps 1 to 2:   throughout of 5, 2, 1, the ancestors of step 1:   A
//                     begun of 6, the nodes of steps 2 to 2:            C
//
//===----------------------------------------------------------------------===//

#include "OccupiedRanges.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace tessera;

void AddressSet::insert(AddressRange range) {
  auto *first = llvm::partition_point(ranges, [&](const AddressRange &other) {
    return other.end < range.begin;
  });
  auto *last = first;
  while (last != ranges.end() && last->begin <= range.end) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
    ++last;
  }
  if (first == last) {
    ranges.insert(first, range);
    return;
  }
  *first = range;
  ranges.erase(first + 1, last);
}

OccupiedRanges::OccupiedRanges(unsigned numSteps)
    : numLeaves(llvm::PowerOf2Ceil(std::max(numSteps, 1u))),
      throughout(2 * numLeaves), begun(2 * numLeaves) {}

/// Calls `fn` with the minimum set of nodes that covers steps `first` to
/// `last`, from both ends upwards: at most two on each level.
void OccupiedRanges::forEachNode(unsigned first, unsigned last,
                                 llvm::function_ref<void(unsigned)> fn) const {
  unsigned low = first + numLeaves, high = last + 1 + numLeaves;
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2)
      fn(low++);
    if (high % 2)
      fn(--high);
  }
}

void OccupiedRanges::insert(unsigned first, unsigned last, AddressRange range) {
  if (range.begin == range.end)
    return;
  forEachNode(first, last,
              [&](unsigned node) { throughout[node].insert(range); });
  for (unsigned node = first + numLeaves; node > 0; node /= 2)
    begun[node].insert(range);
}

/// Writes the union of both sets to `out`, as ranges that do not touch, and
/// returns their end. `out` has room for all ranges of both.
static AddressRange *unite(llvm::ArrayRef<AddressRange> a,
                           llvm::ArrayRef<AddressRange> b, AddressRange *out) {
  const AddressRange *i = a.begin(), *j = b.begin();
  *out = i->begin <= j->begin ? *i++ : *j++;
  auto add = [&](AddressRange next) {
    if (next.begin <= out->end)
      out->end = std::max(out->end, next.end);
    else
      *++out = next;
  };
  while (i != a.end() && j != b.end())
    add(i->begin <= j->begin ? *i++ : *j++);
  while (i != a.end())
    add(*i++);
  while (j != b.end())
    add(*j++);
  return out + 1;
}

/// Merges the sets in `found` pairwise, as in merge sort, until one is left.
/// The two buffers alternate as input and output.
void OccupiedRanges::uniteFound() {
  size_t total = 0;
  for (llvm::ArrayRef<AddressRange> ranges : found)
    total += ranges.size();
  for (unsigned side = 0; found.size() > 1; side = 1 - side) {
    if (united[side].size() < total)
      united[side].resize(total);
    AddressRange *out = united[side].data();
    for (size_t i = 0; i < found.size(); i += 2) {
      AddressRange *end = i + 1 < found.size()
                              ? unite(found[i], found[i + 1], out)
                              : llvm::copy(found[i], out);
      found[i / 2] = llvm::ArrayRef(out, end);
      out = end;
    }
    found.resize(llvm::divideCeil(found.size(), 2));
  }
}

int64_t OccupiedRanges::findGap(unsigned first, unsigned last, int64_t bytes) {
  found.clear();
  auto collect = [&](const AddressSet &set) {
    if (!set.getRanges().empty())
      found.push_back(set.getRanges());
  };
  for (unsigned node = first + numLeaves; node > 0; node /= 2)
    collect(throughout[node]);
  forEachNode(first + 1, last, [&](unsigned node) { collect(begun[node]); });
  if (found.empty())
    return 0;
  uniteFound();
  int64_t end = 0, best = -1, bestGap = INT64_MAX;
  for (const AddressRange &range : found.front()) {
    int64_t gap = range.begin - end;
    if (gap > 0 && gap >= bytes && gap < bestGap) {
      best = end;
      bestGap = gap;
    }
    end = range.end;
  }
  return best < 0 ? end : best;
}
