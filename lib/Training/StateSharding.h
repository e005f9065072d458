//===- StateSharding.h - Shardings of stored state --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_STATESHARDING_H
#define TESSERA_LIB_TRAINING_STATESHARDING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "tessera/Interfaces/Axes.h"

namespace tessera {

/// Seeds of stored state come after those of the batch, the weights and the
/// residual stream.
constexpr int64_t kStatePriority = 2;

/// The names in an `nn.dims` attribute; empty without one.
llvm::SmallVector<llvm::StringRef> getDimNames(mlir::Attribute dims);

/// The axes that ZeRO shards state over, beside those of its parameter: dp and
/// cp, as far as they are in the mesh, have more than one device and are not in
/// `used`.
AxisList getStateAxes(const Mesh &mesh, llvm::ArrayRef<AxisRef> used);

/// Adds `axes` to the first dimension of `sharding` that then divides; else
/// sub-axes of them to several dimensions that divide by them. False, and
/// nothing is added, if that leaves some of them.
bool shardEvenly(llvm::ArrayRef<AxisRef> axes, Sharding &sharding,
                 llvm::ArrayRef<int64_t> shape);

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_STATESHARDING_H
