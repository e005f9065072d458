//===- ParameterViews.cpp - Views of parameters ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterViews.h"

#include "dialects/NN/NN.h"

#include <numeric>

using namespace mlir;
using namespace tessera;

/// The most runs of elements in a comparison of views.
static constexpr int64_t kMaxRuns = int64_t(1) << 24;

int64_t View::size() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

View tessera::makeIdentity(ArrayRef<int64_t> shape) {
  View view;
  view.shape.assign(shape.begin(), shape.end());
  view.strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    view.strides[i] = stride;
  return view;
}

//===----------------------------------------------------------------------===//
// Ops on views
//===----------------------------------------------------------------------===//

static View expand(tensor::ExpandShapeOp op, const View &view) {
  View result{view.offset, {}, {}};
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  result.shape.assign(shape.begin(), shape.end());
  result.strides.resize(shape.size());
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    int64_t stride = view.strides[dim];
    for (int64_t part : llvm::reverse(group)) {
      result.strides[part] = stride;
      stride *= shape[part];
    }
  }
  return result;
}

/// None if merged dimensions are not contiguous.
static std::optional<View> collapse(tensor::CollapseShapeOp op,
                                    const View &view) {
  View result{view.offset, {}, {}};
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    int64_t size = 1, stride = 1;
    for (int64_t dim : llvm::reverse(group)) {
      if (view.shape[dim] == 1)
        continue;
      if (size == 1)
        stride = view.strides[dim];
      else if (view.strides[dim] != stride * size)
        return std::nullopt;
      size *= view.shape[dim];
    }
    result.shape.push_back(size);
    result.strides.push_back(stride);
  }
  return result;
}

static std::optional<View> slice(tensor::ExtractSliceOp op, const View &view) {
  auto isStatic = [](ArrayRef<int64_t> values) {
    return llvm::none_of(values, ShapedType::isDynamic);
  };
  if (!isStatic(op.getStaticOffsets()) || !isStatic(op.getStaticSizes()) ||
      !isStatic(op.getStaticStrides()))
    return std::nullopt;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  View result{view.offset, {}, {}};
  for (size_t dim = 0; dim < view.shape.size(); ++dim) {
    result.offset += op.getStaticOffsets()[dim] * view.strides[dim];
    if (dropped.test(dim))
      continue;
    result.shape.push_back(op.getStaticSizes()[dim]);
    result.strides.push_back(op.getStaticStrides()[dim] * view.strides[dim]);
  }
  return result;
}

static View transpose(nn::TransposeOp op, const View &view) {
  View result{view.offset, {}, {}};
  for (int64_t dim : op.getPermutation()) {
    result.shape.push_back(view.shape[dim]);
    result.strides.push_back(view.strides[dim]);
  }
  return result;
}

std::optional<View> tessera::applyOp(Operation *op, const View &view) {
  if (auto expandOp = dyn_cast<tensor::ExpandShapeOp>(op))
    return expand(expandOp, view);
  if (auto collapseOp = dyn_cast<tensor::CollapseShapeOp>(op))
    return collapse(collapseOp, view);
  if (auto sliceOp = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice(sliceOp, view);
  if (auto transposeOp = dyn_cast<nn::TransposeOp>(op))
    return transpose(transposeOp, view);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Tiling
//===----------------------------------------------------------------------===//

namespace {
/// Contiguous elements.
struct Run {
  int64_t begin, length;
};
} // namespace

/// Adds the runs of a view; false if there are too many or none. Sorts
/// dimensions by stride, and merges contiguous ones.
static bool addRuns(const View &view, std::vector<Run> &runs) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip_equal(view.shape, view.strides))
    if (size != 1)
      dims.push_back({stride, size});
  llvm::sort(dims);
  int64_t length = 1;
  SmallVector<std::pair<int64_t, int64_t>> outer;
  for (auto [stride, size] : dims) {
    if (outer.empty() && stride == length)
      length *= size;
    else
      outer.push_back({stride, size});
  }
  size_t first = runs.size();
  runs.push_back({view.offset, length});
  for (auto [stride, size] : outer) {
    size_t count = runs.size() - first;
    if (size == 0 || int64_t(count) > kMaxRuns / size)
      return false;
    for (int64_t i = 1; i < size; ++i)
      for (size_t j = 0; j < count; ++j)
        runs.push_back({runs[first + j].begin + i * stride, length});
  }
  return true;
}

bool tessera::tile(ArrayRef<View> views, int64_t elements) {
  std::vector<Run> runs;
  for (const View &view : views)
    if (!addRuns(view, runs))
      return false;
  llvm::sort(runs,
             [](const Run &a, const Run &b) { return a.begin < b.begin; });
  int64_t next = 0;
  for (const Run &run : runs) {
    if (run.begin != next)
      return false;
    next += run.length;
  }
  return next == elements;
}

/// Gives `axes` to the view's dimensions `dims`, the outermost first. False if
/// the axes do not fit.
static bool placeAxes(ArrayRef<AxisRef> axes, ArrayRef<size_t> dims,
                      const View &view, Sharding &result) {
  AxisList left(axes);
  // A single dimension is padded if its size is not divisible.
  if (dims.size() == 1) {
    result.dims[dims[0]].axes = left;
    return true;
  }
  for (size_t dim : dims) {
    int64_t size = view.shape[dim], shards = numShards(left);
    if (size % shards == 0) {
      result.dims[dim].axes = left;
      return true;
    }
    auto split = shards % size == 0 ? splitAt(left, size) : std::nullopt;
    if (!split)
      return false;
    std::tie(result.dims[dim].axes, left) = *split;
  }
  return left.empty();
}

Sharding tessera::shardView(const Sharding &sharding, ArrayRef<int64_t> shape,
                            const View &view, bool &isWhole) {
  Sharding result = Sharding::replicatedOf(view.shape.size());
  result.replicated = sharding.replicated;
  result.unreduced = sharding.unreduced;
  result.reduction = sharding.reduction;
  isWhole = true;
  SmallVector<int64_t> strides = makeIdentity(shape).strides;
  for (size_t i = 0; i < shape.size(); ++i) {
    SmallVector<size_t> dims;
    for (size_t j = 0; j < view.shape.size(); ++j)
      if (view.shape[j] != 1 && view.strides[j] >= strides[i] &&
          view.strides[j] < strides[i] * shape[i])
        dims.push_back(j);
    llvm::sort(dims, [&](size_t a, size_t b) {
      return view.strides[a] > view.strides[b];
    });
    const DimSharding &whole = sharding.dims[i];
    bool isPlaced =
        whole.axes.empty() || placeAxes(whole.axes, dims, view, result);
    isWhole &= isPlaced;
    for (size_t j : dims) {
      if (!isPlaced)
        result.dims[j].axes.clear();
      result.dims[j].open = whole.open || !isPlaced;
      if (!result.dims[j].axes.empty())
        result.dims[j].priority = whole.priority;
    }
  }
  return result;
}
