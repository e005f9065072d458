//===- Operation.cpp - Kinds of collectives and groups of ranks -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Operation.h.
//
//===----------------------------------------------------------------------===//

#include "Operation.h"

#include "Control.h"

using namespace tessera::rt;

const char *tessera::rt::opName(OpKind op) {
  static const char *const names[] = {
      "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
      "permute",    "broadcast",      "send",       "recv",
      "dispatch",   "combine",        "barrier"};
  int32_t index = int32_t(op);
  return index >= 0 && index <= int32_t(OpKind::Barrier) ? names[index] : "?";
}

const char *tessera::rt::reductionName(int32_t reduction) {
  static const char *const names[] = {"sum", "max", "min"};
  return reduction >= 0 && reduction < 3 ? names[reduction] : "?";
}

const char *tessera::rt::barrierName(int64_t id) {
  static const char *const names[] = {
      "all ranks started",   "all ranks agree", "all is ready",
      "arguments are ready", "step is done",    "outputs are written",
      "program is done"};
  return id >= 0 && id <= BarrierEnd ? names[id] : "?";
}

int64_t tessera::rt::getBlockIndex(const StridedAxis *axes, size_t count,
                                   int64_t rank) {
  int64_t index = 0;
  for (size_t i = 0; i < count; ++i)
    index = index * axes[i].size + rank / axes[i].stride % axes[i].size;
  return index;
}

int64_t tessera::rt::getAxesSize(const StridedAxis *axes, size_t count) {
  int64_t product = 1;
  for (size_t i = 0; i < count; ++i)
    product *= axes[i].size;
  return product;
}

/// Name of one axis; see describeAxes.
static std::string describeAxis(const StridedAxis &axis,
                                const std::vector<MeshAxis> &mesh) {
  int64_t stride = 1;
  for (size_t i = mesh.size(); i-- > 0;) {
    int64_t end = stride * mesh[i].size;
    if (axis.stride == stride && axis.size == mesh[i].size)
      return mesh[i].name;
    if (axis.stride >= stride && axis.stride * axis.size <= end)
      return format("%s:(%lld)%lld", mesh[i].name.c_str(),
                    (long long)(end / (axis.stride * axis.size)),
                    (long long)axis.size);
    stride = end;
  }
  return format("{%lld,%lld}", (long long)axis.stride, (long long)axis.size);
}

std::string tessera::rt::describeAxes(const std::vector<StridedAxis> &axes,
                                      const std::vector<MeshAxis> &mesh) {
  std::string text;
  for (const StridedAxis &axis : axes) {
    if (!text.empty())
      text += ",";
    text += describeAxis(axis, mesh);
  }
  return text;
}

std::string tessera::rt::makeGroup(const int64_t *axes, int32_t numAxes,
                                   int rank, int ranks,
                                   const std::vector<MeshAxis> &mesh,
                                   Group &group) {
  // The group's base: this rank with all coordinates on the axes at zero.
  int64_t base = rank;
  for (int32_t i = 0; i < numAxes; ++i) {
    StridedAxis axis{axes[2 * i], axes[2 * i + 1]};
    if (axis.stride < 1 || axis.size < 1 ||
        ranks % (axis.stride * axis.size) != 0)
      return format("expects axes {stride, size} whose product divides %d "
                    "ranks, but got {%lld, %lld}",
                    ranks, (long long)axis.stride, (long long)axis.size);
    base -= rank / axis.stride % axis.size * axis.stride;
    group.axes.push_back(axis);
  }
  size_t count = group.axes.size();
  int64_t size = getAxesSize(group.axes.data(), count);
  if (base < 0 || size > ranks)
    return format("expects axes that do not overlap, but got %lld members",
                  (long long)size);
  for (int64_t index = 0; index < size; ++index) {
    int64_t member = base, rest = index;
    for (size_t i = count; i-- > 0;) {
      member += rest % group.axes[i].size * group.axes[i].stride;
      rest /= group.axes[i].size;
    }
    if (member >= ranks ||
        getBlockIndex(group.axes.data(), count, member) != index)
      return "expects axes that do not overlap";
    group.members.push_back(int(member));
  }
  group.index = int(getBlockIndex(group.axes.data(), count, rank));
  group.hash = hashBytes(axes, size_t(numAxes) * 16);
  group.hash = hashBytes(&base, sizeof(base), group.hash);
  group.name = describeAxes(group.axes, mesh);
  return std::string();
}
