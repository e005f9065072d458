//===- Axes.h - Mesh axes and tensor shardings in plain C++ -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that every sharding algorithm computes with: a mesh, a sub-axis of
// a mesh axis, a list of such sub-axes, and the sharding of a tensor. They do
// not depend on IR; `dist` has the attributes that print them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_AXES_H
#define TESSERA_INTERFACES_AXES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace tessera {

/// The operation that combines the partial values of a reduction.
enum class ReductionKind : uint32_t { Sum = 0, Max = 1, Min = 2 };

/// "sum", "max" or "min".
llvm::StringRef stringifyReduction(ReductionKind kind);

/// A mesh axis, or a sub-axis of it: a sub-axis of `size` with `preSize` groups
/// on its major side. The full axis of size n is {axis, 1, n}. Printed as `"x"`
/// for a full axis and `"x":(preSize)size` for a sub-axis.
struct AxisRef {
  /// Position of the axis in the mesh.
  unsigned axis = 0;
  int64_t preSize = 1;
  int64_t size = 1;

  /// First size to the right of this sub-axis: preSize * size.
  int64_t end() const { return preSize * size; }
  bool operator==(const AxisRef &o) const {
    return axis == o.axis && preSize == o.preSize && size == o.size;
  }
  bool operator!=(const AxisRef &o) const { return !(*this == o); }
  bool operator<(const AxisRef &o) const {
    return std::tie(axis, preSize, size) < std::tie(o.axis, o.preSize, o.size);
  }
  /// True if both are sub-axes of one axis and cannot be used together: they
  /// share a part of it, or no split of the axis has both (for an axis of 6,
  /// (1)2 belongs to 2 x 3 and (3)2 to 3 x 2).
  bool overlaps(const AxisRef &o) const {
    bool apart = end() <= o.preSize
                     ? o.preSize % end() == 0
                     : o.end() <= preSize && preSize % o.end() == 0;
    return axis == o.axis && !apart;
  }
  /// True if `o` is wholly inside this sub-axis.
  bool contains(const AxisRef &o) const {
    return axis == o.axis && preSize <= o.preSize && o.end() <= end() &&
           o.preSize % preSize == 0 && end() % o.end() == 0;
  }
};

/// Axes in major-to-minor order.
using AxisList = llvm::SmallVector<AxisRef, 2>;

/// The stride and size of a (sub-)axis in device numbers: a device's coordinate
/// is (device / stride) % size.
struct AxisStride {
  int64_t stride;
  int64_t size;
  bool operator==(const AxisStride &o) const {
    return stride == o.stride && size == o.size;
  }
};

/// A grid of devices with named axes. Device numbers are row-major over the
/// axes: the last axis is innermost.
struct Mesh {
  llvm::SmallVector<std::string, 4> names;
  llvm::SmallVector<int64_t, 4> sizes;
  /// The axis of pipeline stages, which no sharding may use.
  std::optional<unsigned> stageAxis;

  /// Product of the axis sizes.
  int64_t numDevices() const;
  /// Position of the axis with this name.
  std::optional<unsigned> find(llvm::StringRef name) const;
  AxisRef fullAxis(unsigned axis) const { return {axis, 1, sizes[axis]}; }
  /// The stride and size of the coordinate within `ref` in device numbers.
  AxisStride axisStride(const AxisRef &ref) const;
  /// Coordinate of `device` within `ref`, in [0, ref.size).
  int64_t coordinate(int64_t device, const AxisRef &ref) const;
  /// Mixed-radix number of the coordinates of `device`, major to minor: the
  /// number of the shard that it holds of a dimension sharded over `axes`.
  int64_t shardIndex(int64_t device, llvm::ArrayRef<AxisRef> axes) const;
  /// The devices that differ from `device` only in `axes`, in the order of
  /// their shard index.
  llvm::SmallVector<int64_t> group(int64_t device,
                                   llvm::ArrayRef<AxisRef> axes) const;
  /// The mesh of the devices that share a coordinate of the stage axis, in
  /// their order; the mesh itself without a stage axis.
  Mesh withoutStages() const;
  void print(llvm::raw_ostream &os, const AxisRef &ref) const;
  void print(llvm::raw_ostream &os, llvm::ArrayRef<AxisRef> axes) const;
  bool operator==(const Mesh &o) const {
    return names == o.names && sizes == o.sizes && stageAxis == o.stageAxis;
  }
};

/// Product of the sizes: the number of shards.
int64_t numShards(llvm::ArrayRef<AxisRef> axes);
/// True if `axes` uses some sub-axis of `ref`.
bool overlapsAny(llvm::ArrayRef<AxisRef> axes, const AxisRef &ref);
bool overlapsAny(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);
/// Merges neighbours that are adjacent sub-axes of one axis: x:(1)2, x:(2)2
/// becomes x:(1)4.
AxisList mergeAdjacent(llvm::ArrayRef<AxisRef> axes);
/// The longest common prefix of both; it splits an axis if they share only a
/// major part of it.
AxisList commonPrefix(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);
/// True if `prefix` is a prefix of `axes` in that sense.
bool isPrefix(llvm::ArrayRef<AxisRef> prefix, llvm::ArrayRef<AxisRef> axes);
/// The rest of `axes` after `prefix`, which must be a prefix of it.
AxisList dropPrefix(llvm::ArrayRef<AxisRef> prefix,
                    llvm::ArrayRef<AxisRef> axes);
/// The longest prefix of `axes` that does not overlap `used`; it splits an axis
/// if its major part is free.
AxisList prefixWithout(llvm::ArrayRef<AxisRef> axes,
                       llvm::ArrayRef<AxisRef> used);
/// Removes `remove` from `axes`; this may split an axis. None if a part of
/// `remove` is not in `axes`.
std::optional<AxisList> subtractAxes(llvm::ArrayRef<AxisRef> axes,
                                     llvm::ArrayRef<AxisRef> remove);
/// Removes the minor part `suffix` from `axes`; none if it is not the minor
/// part.
std::optional<AxisList> dropSuffix(llvm::ArrayRef<AxisRef> axes,
                                   llvm::ArrayRef<AxisRef> suffix);
/// Splits `axes` into a major part of exactly `count` shards and the rest. None
/// if there is no (sub-)axis boundary.
std::optional<std::pair<AxisList, AxisList>>
splitAt(llvm::ArrayRef<AxisRef> axes, int64_t count);

/// The sharding of one dimension.
struct DimSharding {
  AxisList axes;
  /// Propagation may add axes.
  bool open = false;
  /// Order of seeds: lower goes first. None is the same as 0.
  std::optional<int64_t> priority;
  bool operator==(const DimSharding &o) const {
    return axes == o.axes && open == o.open && priority == o.priority;
  }
};

/// The sharding of a tensor over a mesh.
struct Sharding {
  llvm::SmallVector<DimSharding, 4> dims;
  /// Axes that may not shard this tensor further.
  AxisList replicated;
  /// Axes over which each device holds a partial value; `reduction` combines
  /// them.
  AxisList unreduced;
  ReductionKind reduction = ReductionKind::Sum;

  /// The sharding of a tensor of `rank` dimensions without axes; each dimension
  /// is open if `open`.
  static Sharding replicatedOf(int64_t rank, bool open = false);
  int64_t rank() const { return dims.size(); }
  /// Axes of all dimensions, in order of dimensions.
  AxisList dimAxes() const;
  /// True if both place data alike: same dimension axes and unreduced axes with
  /// their kind. Ignores openness, priorities and `replicated`.
  bool samePlacement(const Sharding &o) const;
  /// Shape of one device's block; every dimension must divide.
  llvm::SmallVector<int64_t> localShape(llvm::ArrayRef<int64_t> shape) const;
  bool operator==(const Sharding &o) const {
    return dims == o.dims && replicated == o.replicated &&
           unreduced == o.unreduced && reduction == o.reduction;
  }
  void print(llvm::raw_ostream &os, const Mesh &mesh) const;
};

} // namespace tessera

#endif // TESSERA_INTERFACES_AXES_H
