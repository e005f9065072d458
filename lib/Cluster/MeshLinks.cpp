//===- MeshLinks.cpp - The links under the axes of a mesh -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups are runs of device numbers with a stride; how many of them are in one
// group of a level follows from the stride and the level's size.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Cluster/ClusterSpec.h"

using namespace llvm;
using namespace tessera;

/// Appends a span, joined to the last one if that is on the same level.
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

/// What a device of a group of `size` can send on a level. Without a switch it
/// reaches each of the others over their own part of the links only.
static double bandwidthOf(const LevelSpec &level, int64_t size) {
  double bandwidth = level.bandwidth.value * level.efficiency.value;
  bool direct = is_contained(level.algorithms, "direct");
  if (direct && size > 1 && size < level.devices)
    bandwidth *= double(size - 1) / double(level.devices - 1);
  return bandwidth;
}

MeshLinks tessera::makeMeshLinks(const ClusterSpec &cluster, const Mesh &mesh) {
  MeshLinks links;
  links.axes.resize(mesh.sizes.size());
  int64_t devices = 1, stride = 1;
  for (int64_t size : mesh.sizes)
    devices *= size;
  for (size_t axis = mesh.sizes.size(); axis-- > 0;) {
    int64_t left = mesh.sizes[axis], reach = stride;
    for (auto [index, level] : llvm::enumerate(cluster.levels)) {
      // Neighbours at distance `reach` share a group of this level if a whole
      // number of them fills it, or if the whole mesh is in one; the
      // outermost level takes what is left.
      bool last = index + 1 == cluster.levels.size();
      int64_t inside = 1;
      if (last || devices <= level.devices)
        inside = left;
      else if (level.devices % reach == 0) {
        int64_t fits = level.devices / reach;
        if (left <= fits ? fits % left == 0 : left % fits == 0)
          inside = std::min(left, fits);
      }
      append(links.axes[axis],
             {inside, level.latency.value, bandwidthOf(level, inside),
              static_cast<unsigned>(index)});
      left /= inside;
      reach *= inside;
    }
    stride *= mesh.sizes[axis];
  }
  return links;
}

/// The part [skip, skip * size) of an axis, counted from its minor end, of the
/// spans from the inside out.
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
      // No boundary: all that is left counts as being here or further out.
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
