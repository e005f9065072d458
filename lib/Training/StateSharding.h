//===- StateSharding.h - Shardings of stored state --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_STATESHARDING_H
#define TESSERA_LIB_TRAINING_STATESHARDING_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Interfaces/Axes.h"
#include "tessera/Training/Strategy.h"

namespace tessera {

/// Priority of seeds of stored state: after the seeds of the batch, the weights
/// and the residual stream.
constexpr int64_t kStatePriority = 2;

/// The names in an `nn.dims` attribute; empty without one.
llvm::SmallVector<llvm::StringRef> getDimNames(mlir::Attribute dims);

/// The axes over which ZeRO shards state: the module's dist.state_axes, or else
/// the axes dp and cp if the mesh has them with more than one device.
AxisList getStateAxes(mlir::ModuleOp module, const Mesh &mesh);

/// The same for a strategy.
AxisList getStateAxes(const Strategy &strategy, const Mesh &mesh);

/// Drops the parts of axes in `used`, which a parameter has.
AxisList dropUsed(AxisList axes, llvm::ArrayRef<AxisRef> used);

/// Adds `axes` to the first dimension of `sharding` that they divide; else adds
/// sub-axes to several dimensions. False, without a change, if some axes
/// remain.
bool shardEvenly(llvm::ArrayRef<AxisRef> axes, Sharding &sharding,
                 llvm::ArrayRef<int64_t> shape);

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_STATESHARDING_H
