//===- BoundarySlices.h - Boundaries sent in slices -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that is equal on all devices of an axis, as the residual stream is
// under tensor parallelism without sequence sharding, need not be sent by each
// of them. Each sends a slice, and the receivers gather:
//
//     tp 0  x = (a b)  --a-->  a  all_gather  (a b)
//     tp 1  x = (a b)  --b-->  b  over tp     (a b)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_BOUNDARYSLICES_H
#define TESSERA_LIB_STAGES_BOUNDARYSLICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Collectives/DeviceAxes.h"

namespace tessera {

/// Which values of a local function are sent in slices, where that and the
/// gather take less time by the links of the mesh.
class BoundarySlices {
public:
  /// Expects the module to have one mesh; without a stage axis, nothing is
  /// sliced.
  explicit BoundarySlices(mlir::func::FuncOp function);

  /// The type that is sent in place of a value's; null: the value is.
  mlir::RankedTensorType getSlicedType(mlir::Value value) const;
  /// The slice that a device sends of `here`, which `value` is in a task.
  mlir::Value slice(mlir::OpBuilder &builder, mlir::Value value,
                    mlir::Value here) const;
  /// The value of the slices of a group.
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
