//===- Partitioner.h - From seed shardings to a local program ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of Tessera that another compiler embeds to partition its modules:
// dialects, passes, and the passes in order. A compiler that also builds
// executables registers everything (Registration.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITIONER_PARTITIONER_H
#define TESSERA_PARTITIONER_PARTITIONER_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Proof/VerifyPartition.h"

namespace tessera {

/// Registers `dist` and `nn`, the upstream dialects that their programs use,
/// and the sharding rules of upstream ops.
void registerPartitionerDialects(mlir::DialectRegistry &registry);

/// Registers the partitioner's passes, and buildPartitioner() without options
/// as the pipeline `tessera-partitioner`.
void registerPartitionerPasses();

/// The options of the partitioner.
struct PartitionerOptions {
  /// Limits on a function's communication, as `dist.budget`; negative: none.
  int64_t maxBytes = -1, maxCollectives = -1;
  bool noFullGather = false;
  /// Bytes of gathered parameters that may be kept for a later use instead of
  /// gathered again.
  int64_t sharedBytes = 0;
  /// Multiple to which the minor dimensions of matmuls are padded; 0: no
  /// padding beside that of dimensions that the mesh does not divide; negative:
  /// chosen by their sizes for a GPU.
  int64_t padMultiple = 0;
};

/// Adds the passes that check a module and bring it into the form that
/// propagation reads.
void buildInput(mlir::OpPassManager &pm);

/// Adds the passes that choose the collectives of attention and of experts
/// where seeds ask for them.
void buildPins(mlir::OpPassManager &pm);

/// Adds the passes from seed shardings to a sharding of each value. `addSeeds`
/// may add passes that read the prepared program and write seeds.
void buildPropagation(
    mlir::OpPassManager &pm,
    llvm::function_ref<void(mlir::OpPassManager &)> addSeeds = nullptr);

/// Adds the passes from a sharded module to local functions with their
/// collectives. A copy of the module is kept in `reference` before them.
void buildLocalProgram(mlir::OpPassManager &pm,
                       const PartitionerOptions &options,
                       std::shared_ptr<ReferenceProgram> reference);

/// Adds the passes that prove that local functions compute `reference`.
void buildProof(mlir::OpPassManager &pm,
                std::shared_ptr<ReferenceProgram> reference);

/// Adds the check of the limits on local functions.
void buildBudget(mlir::OpPassManager &pm, const PartitionerOptions &options);

/// Adds all of the above: from a module with one mesh and seed shardings to the
/// proven program of one device.
void buildPartitioner(mlir::OpPassManager &pm,
                      const PartitionerOptions &options);

} // namespace tessera

#endif // TESSERA_PARTITIONER_PARTITIONER_H
