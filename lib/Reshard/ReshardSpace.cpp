//===- ReshardSpace.cpp - The shardings between two shardings -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of axes and their relations, states, and sizes. ReshardMoves.cpp has
// the moves, ReshardBound.cpp the bound that guides the search.
//
// A part of an axis is a range of its factorization: {preSize, size} is a
// stride and a size among the coordinates of the axis, as in a mixed radix (D.
// E. Knuth: The Art of Computer Programming 2, section 4.1). A mesh of x=4, y=2
// whose axes may be split at every divisor has four parts:
//
//     number  part      conflicts  splits   atoms
//     0       x:(1)2    0 1                 0        major 2 of x
//     1       x         0 1 2      (0, 2)   0 2
//     2       x:(2)2    1 2                 2        minor 2 of x
//     3       y         3                   3
//     joined: 0 then 2 is 1; no other pair is one part
//
// The shardings [{x:(1)2, x:(2)2}, {}] and [{x}, {}] are the same state [1][],
// since adjacent parts that form one are joined.
//
//===----------------------------------------------------------------------===//

#include "ReshardSpace.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace tessera;
using llvm::ArrayRef;

ReshardSpace::ReshardSpace(const Mesh &mesh, const MeshLinks &links,
                           const Sharding &from, const Sharding &to,
                           ArrayRef<int64_t> shape, int64_t elementBytes,
                           Cuts cuts)
    : mesh(mesh), links(links), tensorRank(shape.size()),
      elementBytes(elementBytes) {
  chooseDims(from, to, shape);
  addParts(from, to, cuts);
  valid &= parts.size() <= 64;
  if (!valid)
    return;
  relate();
  setRates();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The dimensions of states: all dimensions of the tensor. If there are more
/// than a state holds: the sharded ones and then the first others; the rest
/// only counts as elements. Invalid if too many are sharded.
void ReshardSpace::chooseDims(const Sharding &from, const Sharding &to,
                              ArrayRef<int64_t> tensorShape) {
  for (bool sharded : {true, false})
    for (unsigned d = 0; d < tensorShape.size(); ++d) {
      bool isSharded = tessera::numShards(from.dims[d].axes) > 1 ||
                       tessera::numShards(to.dims[d].axes) > 1;
      if (isSharded != sharded)
        continue;
      if (tensorDims.size() < DimLists::kCapacity)
        tensorDims.push_back(d);
      else if (isSharded)
        valid = false;
      else
        otherElements *= tensorShape[d];
    }
  llvm::sort(tensorDims);
  for (unsigned d : tensorDims)
    shape.push_back(tensorShape[d]);
}

/// Prime factors of `n`, with multiplicity: 12 has 3.
static int countPrimes(int64_t n) {
  int count = 0;
  for (int64_t p = 2; n > 1; ++p)
    for (; n % p == 0; n /= p)
      ++count;
  return count;
}

/// Finds the positions at which each axis may be split. Makes a part of each
/// pair of positions if one divides the other.
void ReshardSpace::addParts(const Sharding &from, const Sharding &to,
                            Cuts cuts) {
  int primes = 0;
  for (int64_t size : mesh.sizes)
    primes += countPrimes(size);
  bool everywhere = cuts == Cuts::All || primes <= kSmallMesh;
  bool atEnds = cuts == Cuts::OfEnds;
  std::vector<llvm::SmallVector<int64_t, 4>> boundaries;
  for (int64_t size : mesh.sizes) {
    boundaries.push_back({1, size});
    for (int64_t d = 2; d < size; ++d) {
      bool isAxis = llvm::is_contained(mesh.sizes, d) ||
                    llvm::is_contained(mesh.sizes, size / d);
      if (!atEnds && size % d == 0 && (everywhere || isAxis))
        boundaries.back().push_back(d);
    }
  }
  auto add = [&](ArrayRef<AxisRef> axes) {
    for (const AxisRef &ref : axes)
      boundaries[ref.axis].append({ref.preSize, ref.end()});
  };
  for (const Sharding *s : {&from, &to}) {
    for (const DimSharding &dim : s->dims)
      add(dim.axes);
    add(s->unreduced);
  }
  for (unsigned axis = 0; axis < boundaries.size(); ++axis) {
    auto &list = boundaries[axis];
    llvm::sort(list);
    list.erase(llvm::unique(list), list.end());
    if (mesh.stageAxis == axis)
      continue;
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = i + 1; j < list.size(); ++j)
        if (list[j] % list[i] == 0)
          parts.push_back({axis, list[i], list[j] / list[i]});
  }
}

/// Fills the tables of relations between parts, each pair once, so that the
/// search needs only bit operations and look-ups.
void ReshardSpace::relate() {
  size_t n = parts.size();
  conflicts.assign(n, 0);
  inside.assign(n, 0);
  joined.assign(n * n, kNone);
  splits.resize(n);
  atoms.resize(n);
  // False for axes whose splits do not all nest.
  llvm::SmallVector<bool> nests(mesh.sizes.size(), true);
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < n; ++b) {
      const AxisRef &x = parts[a], &y = parts[b];
      if (x.axis != y.axis)
        continue;
      if (x.overlaps(y))
        conflicts[a] |= uint64_t(1) << b;
      if (x.contains(y))
        inside[a] |= uint64_t(1) << b;
      for (int64_t boundary : {x.preSize, x.end()})
        for (int64_t other : {y.preSize, y.end()})
          if (boundary % other != 0 && other % boundary != 0)
            nests[x.axis] = false;
      if (x.end() != y.preSize)
        continue;
      Part whole = find({x.axis, x.preSize, x.size * y.size});
      joined[a * n + b] = whole;
      if (whole != kNone)
        splits[whole].push_back({static_cast<Part>(a), static_cast<Part>(b)});
    }
  for (size_t a = 0; a < n; ++a) {
    atoms[a] = {static_cast<Part>(a)};
    // The last split has the longest major part: peels off its minor part.
    while (nests[parts[a].axis] && !splits[atoms[a].front()].empty()) {
      auto [major, minor] = splits[atoms[a].front()].back();
      Parts peeled{major, minor};
      peeled.append(ArrayRef<Part>(atoms[a]).drop_front());
      atoms[a] = peeled;
    }
    // Splitting only the front suffices: minor parts of the last split are
    // prime.
    assert(llvm::all_of(llvm::drop_begin(atoms[a]),
                        [&](Part p) {
                          return !nests[parts[a].axis] || splits[p].empty();
                        }) &&
           "the longest major part leaves a prime minor one");
  }
}

/// Sets the best rates of any link, for bounds.
void ReshardSpace::setRates() {
  latency = std::numeric_limits<double>::infinity();
  for (const LinkSpans &axis : links.axes)
    for (const LinkSpan &span : axis) {
      latency = std::min(latency, span.latency);
      maxLatency = std::max(maxLatency, span.latency);
      if (span.level >= levelRates.size())
        levelRates.resize(span.level + 1, 0);
      levelRates[span.level] =
          std::max(levelRates[span.level], span.bandwidth * span.parallel);
    }
}

/// Levels work in parallel in an all-to-all. More than half of the bytes that a
/// device receives cross the outermost level.
double ReshardSpace::getBandwidth() const {
  double inner = 0, sum = 0;
  bool isTwice = true;
  for (double rate : levelRates) {
    if (inner == 0)
      inner = rate;
    else
      isTwice &= 2 * rate <= inner;
    sum += rate;
  }
  // One device receives nothing.
  if (sum == 0)
    return 1;
  return isTwice ? inner : sum;
}

/// A ring over a b devices has (a - 1) (b - 1) more steps than rings over a and
/// over b, at most (sqrt(n) - 1)^2 for n devices; an all-reduce has twice as
/// many. Some of the log2 n steps of an all-to-all may be shorter. Rings within
/// a level and around it take less bandwidth than one over both.
bool ReshardSpace::mayTakeApart() const {
  if (llvm::any_of(links.axes, [](auto &spans) { return spans.size() > 1; }))
    return true;
  auto devices = static_cast<double>(mesh.numDevices());
  double root = std::sqrt(devices) - 1;
  double steps = std::max(2 * root * root, std::log2(devices));
  const CollectiveConstants &library = links.library;
  return steps * maxLatency >
         std::min(library.baseLow, library.baseBulk / library.bulkStep);
}

ReshardSpace::Part ReshardSpace::find(const AxisRef &ref) const {
  auto it = llvm::find(parts, ref);
  return it == parts.end() ? kNone : static_cast<Part>(it - parts.begin());
}

int64_t ReshardSpace::numShards(ArrayRef<Part> list) const {
  int64_t n = 1;
  for (Part p : list)
    n *= parts[p].size;
  return n;
}

ReshardSpace::Parts ReshardSpace::expand(ArrayRef<Part> list) const {
  Parts out;
  for (Part p : list)
    out.append(atoms[p]);
  return out;
}

void ReshardSpace::append(Parts &list, ArrayRef<Part> more) const {
  for (Part p : more) {
    Part whole = list.empty() ? kNone : join(list.back(), p);
    if (whole == kNone)
      list.push_back(p);
    else
      list.setBack(whole);
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

ReshardSpace::State ReshardSpace::toState(const Sharding &sharding) const {
  State state;
  auto convert = [&](ArrayRef<AxisRef> axes) {
    Parts list;
    for (const AxisRef &ref : mergeAdjacent(axes))
      if (ref.size > 1)
        list.push_back(find(ref));
    return list;
  };
  for (unsigned d : tensorDims)
    state.dims.push_back(convert(sharding.dims[d].axes));
  AxisList unreduced = sharding.unreduced;
  llvm::sort(unreduced);
  state.unreduced = convert(unreduced);
  state.unreduced.sort();
  return state;
}

AxisList ReshardSpace::toAxes(ArrayRef<Part> list) const {
  AxisList axes;
  for (Part p : list)
    axes.push_back(parts[p]);
  return axes;
}

Sharding ReshardSpace::toSharding(const State &state,
                                  ReductionKind reduction) const {
  Sharding s = Sharding::replicatedOf(tensorRank);
  for (auto [d, list] : llvm::zip(tensorDims, state.dims))
    s.dims[d].axes = toAxes(list);
  s.unreduced = toAxes(state.unreduced);
  if (!s.unreduced.empty())
    s.reduction = reduction;
  return s;
}

int64_t ReshardSpace::getLocalSize(const State &state) const {
  int64_t size = otherElements;
  for (auto [list, n] : llvm::zip(state.dims, shape))
    size *= n / numShards(list);
  return size;
}

unsigned ReshardSpace::countReorders(const Move &move, const State &from,
                                     const State &to) const {
  auto hasRows = [&](const State &state, unsigned dim) {
    for (unsigned before = 0; before < dim; ++before)
      if (shape[before] > numShards(state.dims[before]))
        return true;
    return false;
  };
  switch (move.kind) {
  case Kind::AllGather:
  case Kind::ReduceScatter:
    return hasRows(from, move.dim);
  case Kind::AllToAll:
    return hasRows(from, move.splitDim) + hasRows(to, move.dim);
  case Kind::Slice:
  case Kind::AllReduce:
  case Kind::Permute:
  case Kind::ToPartial:
    return 0;
  }
  llvm_unreachable("all kinds are listed");
}

size_t tessera::hashState(const ReshardSpace::State &state) {
  uint64_t hash = 0;
  auto add = [&](const PartList &list) {
    for (uint64_t word : list.words()) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    }
  };
  add(state.unreduced);
  for (const PartList &dim : state.dims)
    add(dim);
  return hash;
}

//===----------------------------------------------------------------------===//
// Groups and times
//===----------------------------------------------------------------------===//

/// The smallest list of axes that contains all of `refs`. Parts of one axis
/// that do not nest give its part from the first to the last of them or, if
/// that is not a part, the whole axis.
static AxisList unite(const Mesh &mesh, AxisList refs) {
  llvm::sort(refs);
  AxisList all;
  for (const AxisRef &ref : refs) {
    AxisRef *last = all.empty() ? nullptr : &all.back();
    if (!last || last->axis != ref.axis ||
        (last->end() <= ref.preSize && ref.preSize % last->end() == 0)) {
      all.push_back(ref);
      continue;
    }
    if (last->contains(ref))
      continue;
    int64_t end = std::max(last->end(), ref.end());
    bool isPart = end % last->preSize == 0 && end % last->end() == 0 &&
                  end % ref.end() == 0;
    *last = isPart ? AxisRef{ref.axis, last->preSize, end / last->preSize}
                   : mesh.fullAxis(ref.axis);
    while (all.size() > 1 && all[all.size() - 2].axis == ref.axis &&
           all.back().overlaps(all[all.size() - 2])) {
      all[all.size() - 2] = all.back();
      all.pop_back();
    }
  }
  return mergeAdjacent(all);
}

/// Bits of the parts that a permute between two states exchanges: for each
/// dimension, all finest parts except the common prefix and suffix. The devices
/// of one group of the permute differ only in these.
uint64_t ReshardSpace::getChanged(const State &from, const State &to) const {
  uint64_t changed = 0;
  for (auto [before, after] : llvm::zip(from.dims, to.dims))
    changed |= getChanged(expand(before), expand(after));
  return changed;
}

/// The same for the finest parts of one dimension.
uint64_t ReshardSpace::getChanged(const Parts &from, const Parts &to) {
  ArrayRef<Part> old = from, now = to;
  while (!old.empty() && !now.empty() && old.front() == now.front()) {
    old = old.drop_front();
    now = now.drop_front();
  }
  while (!old.empty() && !now.empty() && old.back() == now.back()) {
    old = old.drop_back();
    now = now.drop_back();
  }
  uint64_t changed = 0;
  for (Part p : old)
    changed |= uint64_t(1) << p;
  for (Part p : now)
    changed |= uint64_t(1) << p;
  return changed;
}

AxisList ReshardSpace::getPermuteAxes(const State &from,
                                      const State &to) const {
  uint64_t changed = getChanged(from, to);
  AxisList refs;
  for (size_t p = 0; p < parts.size(); ++p)
    if (changed >> p & 1)
      refs.push_back(parts[p]);
  return unite(mesh, refs);
}

/// The links under a group, cached by its bits: a search looks up few groups
/// often.
ArrayRef<LinkSpan> ReshardSpace::spansOf(uint64_t mask) const {
  auto [it, isNew] = spans.try_emplace(mask);
  if (isNew) {
    AxisList refs;
    for (size_t p = 0; p < parts.size(); ++p)
      if (mask >> p & 1)
        refs.push_back(parts[p]);
    it->second = links.spansOf(mesh, unite(mesh, refs));
  }
  return it->second;
}

double ReshardSpace::getTime(CollectiveKind kind, int64_t size,
                             ArrayRef<LinkSpan> group) const {
  return getCollectiveTime(kind, static_cast<double>(size * elementBytes),
                           group, links.library);
}
