//===- DeviceAxes.h - Axes along which devices differ -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mesh axes along which a value of a local program may differ from device
// to device: the axes that shard arguments, slices and scattered sums. Values
// computed from these inherit the axes until a gather or a reduction removes
// them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LOCALCOLLECTIVES_DEVICEAXES_H
#define TESSERA_LOCALCOLLECTIVES_DEVICEAXES_H

#include "dialects/Dist/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera {

/// The union of `a` and `b`, both without overlaps.
AxisList uniteAxes(AxisList a, llvm::ArrayRef<AxisRef> b);

/// The axes in `a` and not in `b`. A sub-axis whose rest cannot be written as
/// sub-axes stays whole.
AxisList withoutAxes(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);

/// The axes of each value of a local function. The analysis is conservative: an
/// unknown value, such as an argument without a sharding, has all axes of the
/// mesh.
class DeviceAxes {
public:
  DeviceAxes(mlir::FunctionOpInterface func, const Mesh &mesh);

  /// The axes of `value`; along all other axes, devices have the same value.
  llvm::ArrayRef<AxisRef> get(mlir::Value value) const;

private:
  void visit(mlir::Block &block);
  void visit(mlir::Operation &op);
  void visitRegions(mlir::Operation &op, const AxisList &operands);
  void visitCollective(dist::CollectiveOpInterface op, const AxisList &operand);
  AxisList uniteAll(mlir::ValueRange values) const;
  void setAll(mlir::ValueRange values, const AxisList &axes);

  const Mesh &mesh;
  AxisList all;
  llvm::DenseMap<mlir::Value, AxisList> axesOf;
};

} // namespace tessera

#endif // TESSERA_LOCALCOLLECTIVES_DEVICEAXES_H
