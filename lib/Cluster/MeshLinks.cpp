//===- MeshLinks.cpp - The links of the axes of a mesh ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is a run of device numbers with a stride. The stride and the size of
// a level give the number of its devices inside one group of the level. If that
// is not a whole number, Placement.cpp looks at each group.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cluster/Placement.h"

using namespace llvm;
using namespace tessera;

/// Appends a span, or merges it into the last span if that is on the same
/// level.
static void append(LinkSpans &spans, const LinkSpan &span) {
  if (span.size == 1)
    return;
  if (!spans.empty() && spans.back().level == span.level)
    spans.back().size *= span.size;
  else
    spans.push_back(span);
}

MeshLinks MeshLinks::uniform(const Mesh &mesh, double base, double bandwidth) {
  MeshLinks links;
  links.library = CollectiveConstants::simple(base);
  for (int64_t size : mesh.sizes) {
    LinkSpans spans;
    append(spans, {size, 0, bandwidth, 0});
    links.axes.push_back(std::move(spans));
  }
  return links;
}

/// Returns the spans of an axis whose neighbours are `stride` apart, or nothing
/// if the groups do not fill some level evenly. `devices` is the mesh's number
/// of devices.
static std::optional<LinkSpans> evenSpans(ArrayRef<LevelLinks> levels,
                                          int64_t size, int64_t stride,
                                          int64_t devices) {
  LinkSpans spans;
  for (auto [index, level] : llvm::enumerate(levels)) {
    // Neighbours share a group of this level if a whole number of them fills
    // it, or if the whole mesh is in one. The outermost level takes the rest.
    bool last = index + 1 == levels.size();
    int64_t inside = 1;
    if (last || devices <= level.devices) {
      inside = size;
    } else if (level.devices % stride == 0) {
      int64_t fits = level.devices / stride;
      inside = std::min(size, fits);
      if (std::max(size, fits) % inside)
        return std::nullopt;
    } else if (stride < level.devices && size > 1) {
      return std::nullopt;
    }
    append(spans, {inside, level.latency, level.bandwidthOf(inside),
                   static_cast<unsigned>(index)});
    size /= inside;
    stride *= inside;
  }
  return spans;
}

MeshLinks tessera::makeMeshLinks(const ClusterSpec &cluster, const Mesh &mesh) {
  int64_t devices = 1, stride = 1;
  for (int64_t size : mesh.sizes)
    devices *= size;
  SmallVector<LevelLinks, 2> levels;
  for (const LevelSpec &level : cluster.levels) {
    levels.push_back(makeLevelLinks(level));
    if (level.segment && devices > level.devices && devices % level.devices)
      levels.back().devices = level.segment;
  }
  MeshLinks links;
  if (const std::optional<CollectiveSpec> &spec = cluster.collectives)
    links.library = {spec->baseLow.value, spec->baseBulk.value,
                     spec->bulkStep.value, spec->lowShare.value};
  links.axes.resize(mesh.sizes.size());
  bool even = true;
  for (size_t axis = mesh.sizes.size(); axis-- > 0;) {
    auto spans = evenSpans(levels, mesh.sizes[axis], stride, devices);
    even &= spans.has_value();
    links.axes[axis] = spans.value_or(LinkSpans());
    stride *= mesh.sizes[axis];
  }
  if (even)
    return links;
  links.levels = std::move(levels);
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
    links.axes[axis] = placeGroups(links.levels, mesh, {mesh.fullAxis(axis)});
  return links;
}

/// Returns the spans, from the inside out, of the sub-axis [skip, skip * size),
/// counted from the minor end of the axis.
static LinkSpans slice(ArrayRef<LinkSpan> spans, int64_t skip, int64_t size) {
  LinkSpans result;
  for (LinkSpan span : spans) {
    if (size == 1)
      break;
    if (skip >= span.size && skip % span.size == 0) {
      skip /= span.size;
      continue;
    }
    if (span.size % skip) {
      // The sub-axis does not start at a span boundary: count all of it at this
      // level or further out.
      span.size = size;
      append(result, span);
      return result;
    }
    int64_t here = span.size / skip;
    skip = 1;
    if (size <= here ? here % size != 0 : size % here != 0) {
      span.size = size;
      append(result, span);
      return result;
    }
    span.size = std::min(here, size);
    size /= span.size;
    append(result, span);
  }
  return result;
}

LinkSpans MeshLinks::spansOf(const Mesh &mesh, ArrayRef<AxisRef> group) const {
  if (!levels.empty())
    return placeGroups(levels, mesh, group);
  LinkSpans all;
  for (const AxisRef &ref : group) {
    int64_t skip = mesh.sizes[ref.axis] / ref.end();
    all.append(slice(axes[ref.axis], skip, ref.size));
  }
  unsigned levels = 0;
  for (const LinkSpan &span : all)
    levels = std::max(levels, span.level + 1);
  LinkSpans merged;
  for (unsigned level = 0; level < levels; ++level)
    for (const LinkSpan &span : all)
      if (span.level == level)
        append(merged, span);
  return merged;
}
