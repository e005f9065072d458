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

/// Seeds of stored state come after those of the batch, the weights and the
/// residual stream.
constexpr int64_t kStatePriority = 2;

/// The names in an `nn.dims` attribute; empty without one.
llvm::SmallVector<llvm::StringRef> getDimNames(mlir::Attribute dims);

/// The axes that ZeRO shards state over: those of dist.state_axes of the
/// module; without it dp and cp, as far as they are in the mesh and have more
/// than one device.
AxisList getStateAxes(mlir::ModuleOp module, const Mesh &mesh);

/// The same of a strategy.
AxisList getStateAxes(const Strategy &strategy, const Mesh &mesh);

/// The axes that are not in `used`, those of a parameter.
AxisList dropUsed(AxisList axes, llvm::ArrayRef<AxisRef> used);

/// Adds `axes` to the first dimension of `sharding` that then divides; else
/// sub-axes of them to several dimensions that divide by them. False, and
/// nothing is added, if that leaves some of them.
bool shardEvenly(llvm::ArrayRef<AxisRef> axes, Sharding &sharding,
                 llvm::ArrayRef<int64_t> shape);

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_STATESHARDING_H
