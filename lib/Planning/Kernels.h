//===- Kernels.h - Groups ops into kernels ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PLANNING_KERNELS_H
#define TESSERA_LIB_PLANNING_KERNELS_H

#include "mlir/IR/Operation.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {

/// Ops that run in one kernel, in program order.
struct Kernel {
  std::vector<mlir::Operation *> ops;
  /// The cost of the op, or the sum over a group of elementwise ones.
  OpCost cost;
  /// Values from outside that it reads, and values that are read outside.
  llvm::SetVector<mlir::Value> reads, writes;
};

/// Groups the ops of a block into kernels; ops without one are left out.
/// Connected elementwise ops form a group if no other kernel is on a path
/// between them. Without `fuse`, each is a kernel of its own.
std::vector<Kernel> groupKernels(mlir::Block &block, bool fuse = true);

} // namespace tessera

#endif // TESSERA_LIB_PLANNING_KERNELS_H
