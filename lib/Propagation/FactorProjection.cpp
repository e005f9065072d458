//===- FactorProjection.cpp - Projects shardings onto factors -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Propagation/FactorProjection.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace tessera;
using llvm::ArrayRef;

/// The sub-axes of `axis` on the major and on the minor side of a boundary that
/// leaves `major` groups.
static std::pair<AxisRef, AxisRef> splitAxis(const AxisRef &axis,
                                             int64_t major) {
  return {{axis.axis, axis.preSize, major},
          {axis.axis, axis.preSize * major, axis.size / major}};
}

AxisList tessera::exactPrefix(ArrayRef<AxisRef> axes, int64_t size) {
  AxisList out;
  for (const AxisRef &axis : axes) {
    int64_t part = std::gcd(size, axis.size);
    if (part > 1)
      out.push_back(splitAxis(axis, part).first);
    if (part != axis.size)
      break;
    size /= part;
  }
  return out;
}

DimProjection tessera::projectDim(ArrayRef<AxisRef> axes,
                                  ArrayRef<int64_t> sizes) {
  DimProjection out;
  out.factors.resize(sizes.size());
  size_t k = 0;
  // Elements of factor k in one shard after the axes placed so far.
  int64_t left = sizes.empty() ? 1 : sizes[0];
  bool stuck = sizes.empty();
  for (AxisRef axis : axes) {
    while (!stuck && axis.size > 1) {
      bool last = k + 1 == sizes.size();
      if (left == 1 && !last) {
        left = sizes[++k];
        continue;
      }
      if (left % axis.size == 0 || (last && k == 0)) {
        out.factors[k].push_back(axis);
        left = llvm::divideCeil(left, axis.size);
        axis.size = 1;
      } else if (axis.size % left == 0 && !last) {
        auto [major, minor] = splitAxis(axis, left);
        out.factors[k].push_back(major);
        axis = minor;
        left = 1;
      } else if (k == 0) {
        out.factors[k].push_back(axis);
        left = llvm::divideCeil(left, axis.size);
        axis.size = 1;
      } else {
        int64_t part = std::gcd(left, axis.size);
        auto [major, minor] = splitAxis(axis, part);
        if (part > 1)
          out.factors[k].push_back(major);
        axis = minor;
        stuck = true;
      }
    }
    if (axis.size > 1)
      out.rest.push_back(axis);
  }
  return out;
}

bool tessera::isFullyCut(ArrayRef<AxisRef> axes, int64_t size) {
  return numShards(axes) >= size;
}

AxisList tessera::unprojectDim(ArrayRef<AxisList> factorAxes,
                               ArrayRef<int64_t> sizes) {
  AxisList out;
  for (auto [axes, size] : llvm::zip(factorAxes, sizes)) {
    out.append(axes.begin(), axes.end());
    if (!isFullyCut(axes, size))
      break;
  }
  return mergeAdjacent(out);
}

/// Sizes of the factors of a dimension.
static llvm::SmallVector<int64_t, 2> factorSizes(const ShardingRule &rule,
                                                 const DimFactors &dim) {
  llvm::SmallVector<int64_t, 2> sizes;
  for (unsigned f : dim)
    sizes.push_back(rule.factors[f].size);
  return sizes;
}

llvm::SmallVector<AxisList, 8>
tessera::projectTensor(const ShardingRule &rule, const TensorFactors &dims,
                       ArrayRef<DimSharding> shardings) {
  llvm::SmallVector<AxisList, 8> out(rule.factors.size());
  for (auto [dim, sharding] : llvm::zip(dims, shardings)) {
    DimProjection projection =
        projectDim(sharding.axes, factorSizes(rule, dim));
    for (auto [i, f] : llvm::enumerate(dim))
      out[f] = std::move(projection.factors[i]);
  }
  return out;
}

Sharding tessera::unprojectTensor(const ShardingRule &rule,
                                  const TensorFactors &dims,
                                  ArrayRef<AxisList> factorAxes) {
  Sharding out = Sharding::replicatedOf(dims.size());
  for (auto [i, dim] : llvm::enumerate(dims)) {
    llvm::SmallVector<AxisList, 2> axes;
    for (unsigned f : dim)
      axes.push_back(factorAxes[f]);
    out.dims[i].axes = unprojectDim(axes, factorSizes(rule, dim));
  }
  return out;
}
