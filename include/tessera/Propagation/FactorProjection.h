//===- FactorProjection.h - Shardings of dimensions on factors --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension consists of factors, major to minor; its axes, also major to
// minor, are assigned to them in order. These functions compute the axes of
// each factor from a dimension's sharding, and the dimension's sharding from a
// choice of factor axes. They know no op and no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROPAGATION_FACTORPROJECTION_H
#define TESSERA_PROPAGATION_FACTORPROJECTION_H

#include "tessera/Interfaces/ShardingRule.h"

namespace tessera {

/// The axes of one dimension, factor by factor.
struct DimProjection {
  /// Parallel to the factors of the dimension.
  llvm::SmallVector<AxisList, 2> factors;
  /// Axes beyond the capacity of the factors: no factor sharding represents
  /// them.
  AxisList rest;
};

/// Assigns `axes` to factors of the given sizes. An axis goes to the first
/// factor that is not used up, split into sub-axes if a factor ends within it.
/// The major-most factor takes an axis that does not divide it whole (it will
/// be padded); the others take only exact parts, and the axes after such a part
/// are `rest`.
DimProjection projectDim(llvm::ArrayRef<AxisRef> axes,
                         llvm::ArrayRef<int64_t> sizes);

/// True if `axes` split a factor of `size` into single elements (after
/// padding), so that a factor on its minor side may be sharded too.
bool isFullyCut(llvm::ArrayRef<AxisRef> axes, int64_t size);

/// The axes of a dimension whose factors have these axes: as many of them, from
/// the major side, as a dimension can hold. A factor's axes count only if every
/// factor on its major side is split fully.
AxisList unprojectDim(llvm::ArrayRef<AxisList> factorAxes,
                      llvm::ArrayRef<int64_t> sizes);

/// The longest prefix of `axes` that splits a factor of `size` exactly.
AxisList exactPrefix(llvm::ArrayRef<AxisRef> axes, int64_t size);

/// The axes of each factor of `rule` in a tensor with dimensions `dims` and
/// shardings `shardings`; factors that do not occur have none.
llvm::SmallVector<AxisList, 8>
projectTensor(const ShardingRule &rule, const TensorFactors &dims,
              llvm::ArrayRef<DimSharding> shardings);

/// The closed sharding of a tensor whose factors have these axes (by factor
/// number). Inverts `projectTensor` if that leaves no rest.
Sharding unprojectTensor(const ShardingRule &rule, const TensorFactors &dims,
                         llvm::ArrayRef<AxisList> factorAxes);

} // namespace tessera

#endif // TESSERA_PROPAGATION_FACTORPROJECTION_H
