//===- ReshardSpace.cpp - The shardings between two shardings -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of axes and their relations, states, sizes, and the bound that guides
// the search. ReshardMoves.cpp has the moves.
//
//===----------------------------------------------------------------------===//

#include "ReshardSpace.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace tessera;
using llvm::ArrayRef;

ReshardSpace::ReshardSpace(const Mesh &mesh, const MeshLinks &links,
                           const Sharding &from, const Sharding &to,
                           ArrayRef<int64_t> shape, int64_t elementBytes,
                           Cuts cuts)
    : mesh(mesh), links(links), shape(shape), elementBytes(elementBytes) {
  addParts(from, to, cuts);
  valid = parts.size() <= 64;
  if (!valid)
    return;
  relate();
  setRates();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static int countPrimes(int64_t n) {
  int count = 0;
  for (int64_t p = 2; n > 1; ++p)
    for (; n % p == 0; n /= p)
      ++count;
  return count;
}

void ReshardSpace::addParts(const Sharding &from, const Sharding &to,
                            Cuts cuts) {
  int primes = 0;
  for (int64_t size : mesh.sizes)
    primes += countPrimes(size);
  bool everywhere = cuts == Cuts::All || primes <= kSmallMesh;
  bool atEnds = cuts == Cuts::OfEnds;
  std::vector<llvm::SmallVector<int64_t, 4>> borders;
  for (int64_t size : mesh.sizes) {
    borders.push_back({1, size});
    for (int64_t d = 2; d < size; ++d) {
      bool isAxis = llvm::is_contained(mesh.sizes, d) ||
                    llvm::is_contained(mesh.sizes, size / d);
      if (!atEnds && size % d == 0 && (everywhere || isAxis))
        borders.back().push_back(d);
    }
  }
  auto add = [&](ArrayRef<AxisRef> axes) {
    for (const AxisRef &ref : axes)
      borders[ref.axis].append({ref.preSize, ref.end()});
  };
  for (const Sharding *s : {&from, &to}) {
    for (const DimSharding &dim : s->dims)
      add(dim.axes);
    add(s->unreduced);
  }
  for (unsigned axis = 0; axis < borders.size(); ++axis) {
    auto &list = borders[axis];
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

void ReshardSpace::relate() {
  size_t n = parts.size();
  conflicts.assign(n, 0);
  inside.assign(n, 0);
  joined.assign(n, std::vector<Part>(n, kNone));
  splits.resize(n);
  atoms.resize(n);
  // Axes whose cuts do not all nest.
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
      for (int64_t border : {x.preSize, x.end()})
        for (int64_t other : {y.preSize, y.end()})
          if (border % other != 0 && other % border != 0)
            nests[x.axis] = false;
      if (x.end() != y.preSize)
        continue;
      Part whole = find({x.axis, x.preSize, x.size * y.size});
      joined[a][b] = whole;
      if (whole != kNone)
        splits[whole].push_back({static_cast<Part>(a), static_cast<Part>(b)});
    }
  for (size_t a = 0; a < n; ++a) {
    atoms[a] = {static_cast<Part>(a)};
    // The last way to split has the longest major part: peel off its end.
    while (nests[parts[a].axis] && !splits[atoms[a].front()].empty()) {
      auto [major, minor] = splits[atoms[a].front()].back();
      atoms[a].front() = minor;
      atoms[a].insert(atoms[a].begin(), major);
    }
    // Splitting the front only: minor parts of the last split are prime.
    assert(llvm::all_of(llvm::drop_begin(atoms[a]),
                        [&](Part p) {
                          return !nests[parts[a].axis] || splits[p].empty();
                        }) &&
           "the longest major part leaves a prime minor one");
  }
}

void ReshardSpace::setRates() {
  latency = std::numeric_limits<double>::infinity();
  for (const LinkSpans &axis : links.axes)
    for (const LinkSpan &span : axis) {
      latency = std::min(latency, span.latency);
      bandwidth = std::max(bandwidth, span.bandwidth);
    }
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
    out.append(atoms[p].begin(), atoms[p].end());
  return out;
}

void ReshardSpace::append(Parts &list, ArrayRef<Part> more) const {
  for (Part p : more) {
    Part whole = list.empty() ? kNone : joined[list.back()][p];
    if (whole == kNone)
      list.push_back(p);
    else
      list.back() = whole;
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
  for (const DimSharding &dim : sharding.dims)
    state.dims.push_back(convert(dim.axes));
  AxisList unreduced = sharding.unreduced;
  llvm::sort(unreduced);
  state.unreduced = convert(unreduced);
  llvm::sort(state.unreduced);
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
  Sharding s = Sharding::replicatedOf(state.dims.size());
  for (auto [dim, list] : llvm::zip(s.dims, state.dims))
    dim.axes = toAxes(list);
  s.unreduced = toAxes(state.unreduced);
  if (!s.unreduced.empty())
    s.reduction = reduction;
  return s;
}

int64_t ReshardSpace::getLocalSize(const State &state) const {
  int64_t size = 1;
  for (auto [list, n] : llvm::zip(state.dims, shape))
    size *= n / numShards(list);
  return size;
}

size_t tessera::hashState(const ReshardSpace::State &state) {
  llvm::hash_code hash = llvm::hash_combine_range(state.unreduced);
  for (const ReshardSpace::Parts &dim : state.dims)
    hash = llvm::hash_combine(hash, llvm::hash_combine_range(dim));
  return hash;
}

//===----------------------------------------------------------------------===//
// Groups and times
//===----------------------------------------------------------------------===//

/// The least list of axes that has all of `refs` in it.
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

uint64_t ReshardSpace::getChanged(const State &from, const State &to) const {
  uint64_t changed = 0;
  for (auto [before, after] : llvm::zip(from.dims, to.dims)) {
    Parts a = expand(before), b = expand(after);
    ArrayRef<Part> old = a, now = b;
    while (!old.empty() && !now.empty() && old.front() == now.front()) {
      old = old.drop_front();
      now = now.drop_front();
    }
    while (!old.empty() && !now.empty() && old.back() == now.back()) {
      old = old.drop_back();
      now = now.drop_back();
    }
    for (Part p : old)
      changed |= uint64_t(1) << p;
    for (Part p : now)
      changed |= uint64_t(1) << p;
  }
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
                             uint64_t mask) const {
  return getCollectiveTime(kind, static_cast<double>(size * elementBytes),
                           spansOf(mask));
}

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

/// What a device must receive at least, over the nearest link.
///
/// Some device holds, of the block that it shall have, no more than what the
/// nesting of the two blocks gives it: where two dimensions' axes part ways,
/// some device's blocks are disjoint.
///
/// To sum n partial values, n - 1 of them travel, and each further device that
/// is to have the sum receives at least once: (n - 1) + (r - 1) transfers an
/// element for r devices that want it.
double ReshardSpace::getBound(const State &state, const State &goal) const {
  double overlap = 1, wanted = 1, shards = 1;
  for (auto [d, n] : llvm::enumerate(shape)) {
    Parts held = expand(state.dims[d]), target = expand(goal.dims[d]);
    double has = static_cast<double>(n) / numShards(held);
    double wants = static_cast<double>(n) / numShards(target);
    wanted *= wants;
    shards *= numShards(target);
    size_t i = 0, j = 0;
    while (i < held.size() && j < target.size() && held[i] == target[j])
      ++i, ++j;
    bool apart = i < held.size() && j < target.size() &&
                 !(conflicts[held[i]] >> target[j] & 1);
    overlap *= apart ? 0 : std::min(has, wants);
  }
  double elements = wanted - overlap;
  double numReduced = numShards(state.unreduced), kept = 1;
  for (Part p : state.unreduced)
    for (Part g : goal.unreduced)
      if (inside[p] >> g & 1)
        kept *= parts[g].size;
      else if (inside[g] >> p & 1)
        kept *= parts[p].size;
  numReduced /= kept;
  if (numReduced > 1) {
    double partial = numShards(goal.unreduced);
    double replicas = mesh.numDevices() / (shards * partial);
    elements = std::max(elements, wanted * kept * (numReduced + replicas - 2) /
                                      (replicas * partial));
  }
  if (elements <= 0)
    return 0;
  return (latency + elements * elementBytes / bandwidth) * (1 - 1e-12);
}
