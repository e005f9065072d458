//===- DeviceAxes.h - Axes by which devices differ --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a local program, the mesh axes along which a value may differ from device
// to device: those that shard arguments, slices and scattered sums, and what
// is computed from these, until a gather or a reduction takes them away.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_DEVICEAXES_H
#define TESSERA_COLLECTIVES_DEVICEAXES_H

#include "dialects/Dist/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera {

/// What is in `a` or `b`, both without overlaps.
AxisList uniteAxes(AxisList a, llvm::ArrayRef<AxisRef> b);

/// What is in `a` and not in `b`. A sub-axis that cannot be written as
/// sub-axes stays whole.
AxisList withoutAxes(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);

/// The axes of each value of a local function. Never too few: where nothing is
/// known, as of arguments without a sharding, all of the mesh.
class DeviceAxes {
public:
  DeviceAxes(mlir::FunctionOpInterface func, const Mesh &mesh);

  /// Along all other axes, devices have the value alike.
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

#endif // TESSERA_COLLECTIVES_DEVICEAXES_H
