//===- Axes.cpp - Mesh axes and tensor shardings in plain C++ -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/Axes.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <numeric>

using namespace tessera;
using llvm::ArrayRef;

llvm::StringRef tessera::stringifyReduction(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
    return "sum";
  case ReductionKind::Max:
    return "max";
  case ReductionKind::Min:
    return "min";
  }
  return "sum";
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Mesh Mesh::withoutStages() const {
  Mesh mesh;
  for (unsigned axis = 0; axis < names.size(); ++axis)
    if (axis != stageAxis) {
      mesh.names.push_back(names[axis]);
      mesh.sizes.push_back(sizes[axis]);
    }
  return mesh;
}

int64_t Mesh::numDevices() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

std::optional<unsigned> Mesh::find(llvm::StringRef name) const {
  for (auto [i, n] : llvm::enumerate(names))
    if (n == name)
      return i;
  return std::nullopt;
}

AxisStride Mesh::axisStride(const AxisRef &ref) const {
  int64_t inner = 1;
  for (unsigned i = ref.axis + 1; i < sizes.size(); ++i)
    inner *= sizes[i];
  return {inner * (sizes[ref.axis] / ref.end()), ref.size};
}

int64_t Mesh::coordinate(int64_t device, const AxisRef &ref) const {
  AxisStride axis = axisStride(ref);
  return (device / axis.stride) % axis.size;
}

int64_t Mesh::shardIndex(int64_t device, ArrayRef<AxisRef> axes) const {
  int64_t index = 0;
  for (const AxisRef &a : axes)
    index = index * a.size + coordinate(device, a);
  return index;
}

llvm::SmallVector<int64_t> Mesh::group(int64_t device,
                                       ArrayRef<AxisRef> axes) const {
  int64_t base = device;
  for (const AxisRef &a : axes)
    base -= coordinate(device, a) * axisStride(a).stride;
  llvm::SmallVector<int64_t> devices{base};
  for (const AxisRef &a : axes) {
    llvm::SmallVector<int64_t> next;
    int64_t stride = axisStride(a).stride;
    for (int64_t d : devices)
      for (int64_t c = 0; c < a.size; ++c)
        next.push_back(d + c * stride);
    devices = std::move(next);
  }
  return devices;
}

void Mesh::print(llvm::raw_ostream &os, const AxisRef &ref) const {
  os << '"' << names[ref.axis] << '"';
  if (ref != fullAxis(ref.axis))
    os << ":(" << ref.preSize << ')' << ref.size;
}

void Mesh::print(llvm::raw_ostream &os, ArrayRef<AxisRef> axes) const {
  os << '{';
  llvm::interleaveComma(axes, os, [&](const AxisRef &a) { print(os, a); });
  os << '}';
}

//===----------------------------------------------------------------------===//
// Axis lists
//===----------------------------------------------------------------------===//

int64_t tessera::numShards(ArrayRef<AxisRef> axes) {
  int64_t n = 1;
  for (const AxisRef &a : axes)
    n *= a.size;
  return n;
}

bool tessera::overlapsAny(ArrayRef<AxisRef> axes, const AxisRef &ref) {
  return llvm::any_of(axes, [&](const AxisRef &a) { return a.overlaps(ref); });
}

bool tessera::overlapsAny(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  return llvm::any_of(a, [&](const AxisRef &r) { return overlapsAny(b, r); });
}

AxisList tessera::mergeAdjacent(ArrayRef<AxisRef> axes) {
  AxisList out;
  for (const AxisRef &a : axes) {
    if (!out.empty() && out.back().axis == a.axis &&
        out.back().end() == a.preSize)
      out.back().size *= a.size;
    else
      out.push_back(a);
  }
  return out;
}

/// Returns the largest major sub-axis that two (sub-)axes share; size 1 if
/// none.
static AxisRef sharedMajorSubAxis(const AxisRef &a, const AxisRef &b) {
  AxisRef part = a;
  part.size = 1;
  if (a.axis != b.axis || a.preSize != b.preSize)
    return part;
  int64_t small = std::min(a.size, b.size), large = std::max(a.size, b.size);
  if (large % small == 0)
    part.size = small;
  return part;
}

AxisList tessera::commonPrefix(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  AxisList out;
  for (auto [x, y] : llvm::zip(a, b)) {
    AxisRef shared = sharedMajorSubAxis(x, y);
    if (shared.size > 1)
      out.push_back(shared);
    if (x != y)
      break;
  }
  return out;
}

bool tessera::isPrefix(ArrayRef<AxisRef> prefix, ArrayRef<AxisRef> axes) {
  return numShards(commonPrefix(prefix, axes)) == numShards(prefix) &&
         prefix.size() <= axes.size();
}

AxisList tessera::dropPrefix(ArrayRef<AxisRef> prefix, ArrayRef<AxisRef> axes) {
  assert(isPrefix(prefix, axes) && "not a prefix");
  AxisList out(axes.begin(), axes.end());
  for (auto [i, p] : llvm::enumerate(prefix)) {
    if (p == axes[i])
      continue;
    out[i] = {p.axis, p.end(), axes[i].size / p.size};
    out.erase(out.begin(), out.begin() + i);
    return out;
  }
  out.erase(out.begin(), out.begin() + prefix.size());
  return out;
}

AxisList tessera::prefixWithout(ArrayRef<AxisRef> axes,
                                ArrayRef<AxisRef> used) {
  AxisList out;
  for (const AxisRef &a : axes) {
    if (!overlapsAny(used, a)) {
      out.push_back(a);
      continue;
    }
    int64_t free = a.size;
    for (const AxisRef &u : used)
      if (u.overlaps(a))
        free = u.preSize > a.preSize && u.preSize % a.preSize == 0
                   ? std::gcd(free, u.preSize / a.preSize)
                   : 1;
    if (free > 1 && a.size % free == 0)
      out.push_back({a.axis, a.preSize, free});
    break;
  }
  return out;
}

std::optional<std::pair<AxisList, AxisList>>
tessera::splitAt(ArrayRef<AxisRef> axes, int64_t count) {
  AxisList major, minor;
  for (const AxisRef &a : axes) {
    if (count == 1) {
      minor.push_back(a);
    } else if (count % a.size == 0) {
      major.push_back(a);
      count /= a.size;
    } else if (a.size % count == 0) {
      major.push_back({a.axis, a.preSize, count});
      minor.push_back({a.axis, a.preSize * count, a.size / count});
      count = 1;
    } else {
      return std::nullopt;
    }
  }
  if (count != 1)
    return std::nullopt;
  return std::make_pair(major, minor);
}

std::optional<AxisList> tessera::subtractAxes(ArrayRef<AxisRef> axes,
                                              ArrayRef<AxisRef> remove) {
  AxisList left(axes.begin(), axes.end());
  for (const AxisRef &r : remove) {
    auto *it =
        llvm::find_if(left, [&](const AxisRef &a) { return a.contains(r); });
    if (it == left.end())
      return std::nullopt;
    AxisRef a = *it;
    it = left.erase(it);
    if (a.end() != r.end())
      it = left.insert(it, {a.axis, r.end(), a.end() / r.end()});
    if (a.preSize != r.preSize)
      left.insert(it, {a.axis, a.preSize, r.preSize / a.preSize});
  }
  return left;
}

std::optional<AxisList> tessera::dropSuffix(ArrayRef<AxisRef> axes,
                                            ArrayRef<AxisRef> suffix) {
  if (numShards(axes) % numShards(suffix) != 0)
    return std::nullopt;
  auto parts = splitAt(axes, numShards(axes) / numShards(suffix));
  if (!parts || mergeAdjacent(parts->second) != mergeAdjacent(suffix))
    return std::nullopt;
  return parts->first;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

Sharding Sharding::replicatedOf(int64_t rank, bool open) {
  Sharding s;
  s.dims.resize(rank);
  for (DimSharding &d : s.dims)
    d.open = open;
  return s;
}

AxisList Sharding::dimAxes() const {
  AxisList axes;
  for (const DimSharding &d : dims)
    axes.append(d.axes.begin(), d.axes.end());
  return axes;
}

bool Sharding::samePlacement(const Sharding &o) const {
  if (dims.size() != o.dims.size())
    return false;
  for (auto [a, b] : llvm::zip(dims, o.dims))
    if (a.axes != b.axes)
      return false;
  AxisList a = unreduced, b = o.unreduced;
  llvm::sort(a);
  llvm::sort(b);
  return mergeAdjacent(a) == mergeAdjacent(b) &&
         (a.empty() || reduction == o.reduction);
}

llvm::SmallVector<int64_t> Sharding::localShape(ArrayRef<int64_t> shape) const {
  llvm::SmallVector<int64_t> local(shape.begin(), shape.end());
  for (auto [i, d] : llvm::enumerate(dims)) {
    assert(local[i] % numShards(d.axes) == 0 && "dimension does not divide");
    local[i] /= numShards(d.axes);
  }
  return local;
}

void Sharding::print(llvm::raw_ostream &os, const Mesh &mesh) const {
  os << '[';
  llvm::interleaveComma(dims, os, [&](const DimSharding &d) {
    os << '{';
    llvm::interleaveComma(d.axes, os,
                          [&](const AxisRef &a) { mesh.print(os, a); });
    if (d.open)
      os << (d.axes.empty() ? "?" : ", ?");
    os << '}';
    if (d.priority)
      os << 'p' << *d.priority;
  });
  os << ']';
  if (!replicated.empty()) {
    os << ", replicated=";
    mesh.print(os, replicated);
  }
  if (!unreduced.empty()) {
    os << ", unreduced=";
    mesh.print(os, unreduced);
    if (reduction != ReductionKind::Sum)
      os << ' ' << stringifyReduction(reduction);
  }
}
