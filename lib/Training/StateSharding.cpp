//===- StateSharding.cpp - Shardings of stored state ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSharding.h"
#include "dialects/Dist/Dist.h"
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

AxisList tessera::getStateAxes(const Strategy &strategy, const Mesh &mesh) {
  // A name without a role may name an axis of another role.
  auto isTaken = [&](const std::string &name) {
    return (strategy.cp && llvm::is_contained(strategy.cpAxes, name)) ||
           (strategy.tp && llvm::is_contained(strategy.tpAxes, name));
  };
  AxisNames names;
  for (const std::string &name : strategy.dpAxes)
    if (strategy.dp || !isTaken(name))
      names.push_back(name);
  if (strategy.cp || !strategy.hasOwnAxes())
    llvm::append_range(names, strategy.cpAxes);
  return getAxes(names, mesh);
}

AxisList tessera::getStateAxes(mlir::ModuleOp module, const Mesh &mesh) {
  auto attr =
      module->getAttrOfType<dist::AxesAttr>(dist::DistDialect::kStateAxesAttr);
  return attr ? attr.toAxes(mesh) : getStateAxes(Strategy(), mesh);
}

AxisList tessera::dropUsed(AxisList axes, llvm::ArrayRef<AxisRef> used) {
  AxisList left;
  for (const AxisRef &axis : axes) {
    AxisList parts;
    for (const AxisRef &part : used)
      if (axis.overlaps(part))
        parts.push_back(part);
    // An axis that cannot be divided into the part and others is dropped whole.
    if (std::optional<AxisList> rest = subtractAxes(axis, parts))
      left.append(*rest);
  }
  return left;
}

/// Adds sub-axes to the dimensions that they divide; false, without a change,
/// if some of the axes remain.
static bool distribute(llvm::ArrayRef<AxisRef> axes, Sharding &sharding,
                       llvm::ArrayRef<int64_t> shape) {
  Sharding sharded = sharding;
  for (const AxisRef &axis : axes) {
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
  }
  sharding = std::move(sharded);
  return true;
}

bool tessera::shardEvenly(llvm::ArrayRef<AxisRef> axes, Sharding &sharding,
                          llvm::ArrayRef<int64_t> shape) {
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims))
    if (size % (numShards(dim.axes) * numShards(axes)) == 0) {
      dim.axes.append(axes.begin(), axes.end());
      return true;
    }
  return distribute(axes, sharding, shape);
}
