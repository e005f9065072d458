//===- StateSharding.cpp - Shardings of stored state ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSharding.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace tessera;

llvm::SmallVector<llvm::StringRef> tessera::getDimNames(mlir::Attribute dims) {
  llvm::SmallVector<llvm::StringRef> names;
  if (auto array = llvm::dyn_cast_or_null<mlir::ArrayAttr>(dims))
    for (mlir::Attribute name : array)
      names.push_back(llvm::cast<mlir::StringAttr>(name).getValue());
  return names;
}

/// Splits `axis` into sub-axes that the dimensions divide by, in order; false
/// if something is left of it.
static bool distribute(const AxisRef &axis, Sharding &sharding,
                       llvm::ArrayRef<int64_t> shape) {
  Sharding sharded = sharding;
  int64_t left = axis.size, done = axis.preSize;
  for (auto [size, dim] : llvm::zip_equal(shape, sharded.dims)) {
    int64_t shards = numShards(dim.axes);
    int64_t factor = size % shards ? 1 : std::gcd(size / shards, left);
    if (factor == 1)
      continue;
    dim.axes.push_back({axis.axis, done, factor});
    done *= factor;
    left /= factor;
  }
  if (left != 1)
    return false;
  sharding = std::move(sharded);
  return true;
}

bool tessera::shardEvenly(const AxisRef &axis, Sharding &sharding,
                          llvm::ArrayRef<int64_t> shape) {
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims))
    if (size % (numShards(dim.axes) * axis.size) == 0) {
      dim.axes.push_back(axis);
      return true;
    }
  return distribute(axis, sharding, shape);
}
