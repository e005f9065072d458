//===- Placement.cpp - Placement of groups of devices on a cluster --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerates the groups. Groups that differ by a whole number of periods of the
// second outermost level have the same placement and are enumerated once.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/Placement.h"
#include "tessera/Cluster/ClusterSpec.h"
#include <numeric>

using namespace llvm;
using namespace tessera;

LevelLinks tessera::makeLevelLinks(const LevelSpec &level) {
  return {level.devices, level.latency.value,
          level.bandwidth.value * level.efficiency.value,
          is_contained(level.algorithms, "direct"), level.alone.value};
}

Placement::Placement(ArrayRef<LevelLinks> levels, bool othersIdle)
    : levels(levels), othersIdle(othersIdle) {
  footprints.resize(levels.size() - 1);
}

double Placement::bandwidthOf(size_t level, int64_t size,
                              int64_t drivers) const {
  bool isAlone = othersIdle && level > 0 && drivers == 1;
  return levels[level].bandwidthOf(size) * (isAlone ? levels[level].alone : 1);
}

void Placement::addGroup(ArrayRef<int64_t> devices) {
  ranks = static_cast<int64_t>(devices.size());
  for (auto [level, all] : zip(levels, footprints)) {
    Footprint one{0, ranks, 0};
    for (size_t first = 0; first < devices.size();) {
      size_t end = first;
      while (end < devices.size() &&
             devices[end] / level.devices == devices[first] / level.devices)
        ++end;
      auto members = static_cast<int64_t>(end - first);
      ++one.groups;
      one.least = std::min(one.least, members);
      one.most = std::max(one.most, members);
      first = end;
    }
    bool isFirst = all.groups == 0;
    all.groups = std::max(all.groups, one.groups);
    all.least = isFirst ? one.least : std::min(all.least, one.least);
    all.most = std::max(all.most, one.most);
  }
}

LinkSpans Placement::spans() const {
  if (ranks <= 1)
    return {};
  bool even = all_of(footprints, [](const Footprint &footprint) {
    return footprint.least == footprint.most;
  });
  if (even)
    return evenSpans();
  return {worstSpan()};
}

LinkSpans Placement::evenSpans() const {
  LinkSpans spans;
  int64_t inside = 1;
  for (auto [index, level] : enumerate(levels)) {
    int64_t reached =
        index < footprints.size() ? footprints[index].most : ranks;
    int64_t size = reached / inside;
    if (size > 1)
      spans.push_back({size, level.latency, bandwidthOf(index, size, inside),
                       static_cast<unsigned>(index)});
    inside = reached;
  }
  return spans;
}

LinkSpan Placement::worstSpan() const {
  LinkSpan span;
  span.size = ranks;
  span.bandwidth = std::numeric_limits<double>::infinity();
  double latency = 0, together = span.bandwidth;
  // A turn around the ring crosses a level's links (number of inner groups -
  // number of the level's groups) times.
  int64_t inside = ranks, drivers = 1;
  for (auto [index, level] : enumerate(levels)) {
    bool isLast = index == footprints.size();
    int64_t groups = isLast ? 1 : footprints[index].groups;
    if (inside > groups) {
      latency += level.latency * static_cast<double>(inside - groups);
      double bandwidth =
          bandwidthOf(index, isLast ? ranks : footprints[index].most, drivers);
      span.bandwidth = std::min(span.bandwidth, bandwidth);
      together = std::min(together, bandwidth * static_cast<double>(drivers));
      span.level = index;
    }
    inside = groups;
    if (!isLast)
      drivers = footprints[index].least;
  }
  span.latency = latency / static_cast<double>(ranks - 1);
  span.parallel = together / span.bandwidth;
  return span;
}

namespace {

/// A stride and size in a device's number.
struct Digit {
  int64_t stride, size;
};

} // namespace

/// Returns the strides and sizes of the mesh that are not in `group`, major to
/// minor.
static SmallVector<Digit> findOthers(const Mesh &mesh,
                                     ArrayRef<AxisRef> group) {
  SmallVector<Digit> others;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis) {
    SmallVector<AxisRef> refs;
    for (const AxisRef &ref : group)
      if (ref.axis == axis)
        refs.push_back(ref);
    sort(refs);
    refs.push_back({axis, mesh.sizes[axis], 1});
    int64_t end = 1;
    for (const AxisRef &ref : refs) {
      AxisStride other = mesh.axisStride({axis, end, ref.preSize / end});
      others.push_back({other.stride, other.size});
      end = ref.end();
    }
  }
  return others;
}

/// Returns all device numbers spanned by `digits`, which are in descending
/// order of strides.
static SmallVector<int64_t> enumerateNumbers(ArrayRef<Digit> digits) {
  SmallVector<int64_t> numbers = {0};
  for (const Digit &digit : digits) {
    SmallVector<int64_t> longer;
    longer.reserve(numbers.size() * digit.size);
    for (int64_t number : numbers)
      for (int64_t i = 0; i < digit.size; ++i)
        longer.push_back(number + i * digit.stride);
    numbers = std::move(longer);
  }
  return numbers;
}

LinkSpans tessera::placeGroups(ArrayRef<LevelLinks> levels, const Mesh &mesh,
                               ArrayRef<AxisRef> group) {
  SmallVector<Digit> digits, others = findOthers(mesh, group);
  for (const AxisRef &ref : group) {
    AxisStride stride = mesh.axisStride(ref);
    digits.push_back({stride.stride, stride.size});
  }
  sort(digits,
       [](const Digit &a, const Digit &b) { return a.stride > b.stride; });
  if (levels.size() > 1)
    for (Digit &other : others) {
      int64_t period = levels[levels.size() - 2].devices;
      other.size =
          std::min(other.size, period / std::gcd(period, other.stride));
    }
  SmallVector<int64_t> members = enumerateNumbers(digits), devices;
  Placement placement(levels);
  for (int64_t first : enumerateNumbers(others)) {
    devices.assign(members);
    for (int64_t &device : devices)
      device += first;
    placement.addGroup(devices);
  }
  return placement.spans();
}

LinkSpans tessera::placeDevices(const ClusterSpec &cluster,
                                ArrayRef<int64_t> devices) {
  SmallVector<LevelLinks> levels;
  for (const LevelSpec &level : cluster.levels)
    levels.push_back(makeLevelLinks(level));
  Placement placement(levels, /*othersIdle=*/true);
  placement.addGroup(devices);
  return placement.spans();
}
