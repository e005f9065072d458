//===- BoundarySlices.h - Boundaries sent in slices -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value can be equal on all devices of an axis: for example the residual
// stream under tensor parallelism without sequence sharding. Then each device
// sends only a slice, and the receivers gather:
//
//     tp 0  x = (a b)  --a-->  a  all_gather  (a b)
//     tp 1  x = (a b)  --b-->  b  over tp     (a b)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_BOUNDARYSLICES_H
#define TESSERA_LIB_STAGES_BOUNDARYSLICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Cluster/MeshLinks.h"
#include "tessera/LocalCollectives/DeviceAxes.h"

namespace tessera {

/// The values of a local function that are sent in slices: those for which
/// sending slices and gathering them is faster on the links of the mesh.
class BoundarySlices {
public:
  /// Expects the module to have one mesh. Without a stage axis, no value is
  /// sliced.
  explicit BoundarySlices(mlir::func::FuncOp function);

  /// The type of the slices of a value; null if the value is sent whole.
  mlir::RankedTensorType getSlicedType(mlir::Value value) const;
  /// The slice that a device sends of `here`, the copy of `value` in a task.
  mlir::Value slice(mlir::OpBuilder &builder, mlir::Value value,
                    mlir::Value here) const;
  /// Gathers a value from the slices of a group.
  mlir::Value gather(mlir::OpBuilder &builder, mlir::Value value,
                     mlir::Value received) const;

private:
  struct Slices {
    AxisList axes;
    int64_t dim = 0, count = 1;
  };
  std::optional<Slices> find(mlir::Value value) const;

  mutable dist::MeshOp meshOp;
  Mesh mesh;
  MeshLinks links;
  std::optional<DeviceAxes> differs;
};

} // namespace tessera

#endif // TESSERA_LIB_STAGES_BOUNDARYSLICES_H
