//===- TensorView.cpp - Axes of views of a file's tensor ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorView.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tessera;

namespace {
/// The dimensions of a view in one of the tensor's, major to minor.
struct CoveredDim {
  llvm::SmallVector<unsigned> members;
  bool isWhole = false;
};
} // namespace

/// Finds for each dimension of the tensor the view's dimensions in it. None if
/// a dimension of the view is not inside of one, or leaves elements out.
static std::optional<std::vector<CoveredDim>>
findCovered(const ShardedView &view, llvm::ArrayRef<int64_t> shape) {
  std::vector<CoveredDim> covered(shape.size());
  int64_t inner = 1;
  unsigned numFound = 0;
  for (size_t d = shape.size(); d-- > 0; inner *= shape[d]) {
    CoveredDim &dim = covered[d];
    for (unsigned i = 0; i < view.shape.size(); ++i)
      if (view.shape[i] > 1 && view.strides[i] >= inner &&
          view.strides[i] < inner * shape[d])
        dim.members.push_back(i);
    llvm::sort(dim.members, [&](unsigned a, unsigned b) {
      return view.strides[a] > view.strides[b];
    });
    int64_t extent = 1;
    for (unsigned i : llvm::reverse(dim.members)) {
      if (view.strides[i] != inner * extent)
        return std::nullopt;
      extent *= view.shape[i];
    }
    if (extent > shape[d])
      return std::nullopt;
    dim.isWhole = extent == shape[d];
    numFound += dim.members.size();
  }
  for (auto [size, axes] : llvm::zip_equal(view.shape, view.axes))
    if (size == 1 && !axes.empty())
      return std::nullopt;
  if (numFound != llvm::count_if(view.shape, [](int64_t s) { return s > 1; }))
    return std::nullopt;
  return covered;
}

std::optional<DimAxes> tessera::getTensorAxes(const ShardedView &view,
                                              llvm::ArrayRef<int64_t> shape) {
  auto covered = findCovered(view, shape);
  if (!covered)
    return std::nullopt;
  DimAxes all;
  for (const CoveredDim &dim : *covered) {
    AxisList axes;
    bool mayHaveMore = true;
    for (unsigned i : dim.members) {
      const AxisList &own = view.axes[i];
      int64_t shards = numShards(own);
      bool divides = view.shape[i] % shards == 0;
      if (!own.empty() && (!dim.isWhole || !mayHaveMore ||
                           (!divides && dim.members.size() > 1)))
        return std::nullopt;
      mayHaveMore &= shards == view.shape[i];
      axes.append(own);
    }
    all.push_back(mergeAdjacent(axes));
  }
  return all;
}

/// Gives the axes of one of the tensor's dimensions to those of the view, the
/// major ones first. Returns false if they do not divide these.
static bool spread(const CoveredDim &dim, AxisList axes, ShardedView &view) {
  if (dim.members.size() == 1) {
    view.axes[dim.members.front()] = axes;
    return true;
  }
  for (unsigned i : dim.members) {
    int64_t shards = numShards(axes), size = view.shape[i];
    if (size % shards == 0) {
      view.axes[i] = axes;
      return true;
    }
    auto parts = shards % size == 0 ? splitAt(axes, size) : std::nullopt;
    if (!parts)
      return false;
    view.axes[i] = parts->first;
    axes = parts->second;
  }
  return axes.empty();
}

llvm::Error tessera::setViewAxes(ShardedView &view,
                                 llvm::ArrayRef<int64_t> shape,
                                 llvm::ArrayRef<AxisList> axes,
                                 const Mesh &mesh) {
  view.axes.assign(view.shape.size(), {});
  if (llvm::all_of(axes, [](const AxisList &list) { return list.empty(); }))
    return llvm::Error::success();
  auto covered = findCovered(view, shape);
  auto print = [&](const AxisList &list) {
    std::string text;
    llvm::raw_string_ostream os(text);
    mesh.print(os, list);
    return text;
  };
  for (auto [d, list] : llvm::enumerate(axes)) {
    if (list.empty())
      continue;
    if (!covered || !(*covered)[d].isWhole)
      return llvm::createStringError(
          llvm::formatv("axes: expects \"views\" for dimension {0}, of which "
                        "parameter '{1}' is a part, but got {2}",
                        d, view.name, print(list)));
    if (spread((*covered)[d], list, view))
      continue;
    std::string sizes;
    for (unsigned i : (*covered)[d].members)
      sizes += (sizes.empty() ? "" : " x ") + std::to_string(view.shape[i]);
    return llvm::createStringError(llvm::formatv(
        "axes: expects axes that divide dimension {0}, {1} in parameter '{2}', "
        "but got {3}, {4} shards",
        d, sizes, view.name, print(list), numShards(list)));
  }
  return llvm::Error::success();
}
