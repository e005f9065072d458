//===- VerifyPartition.h - Is a local program right? ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward analysis of a local function: of each value, of which value of the
// reference each device holds which block, and over which axes it is partial.
// It knows nothing of how the program was made. Ops mean what they say through
// ShardingRuleOpInterface; collectives what they are defined to do.
//
// The local program must compute the reference op by op: an op on blocks of the
// reference's values must be an op that the reference has. It may reorder and
// repeat ops, run them on partial values where they are linear, decompose those
// that have a reduction of their own, and pad.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_VALIDATION_VERIFYPARTITION_H
#define TESSERA_VALIDATION_VERIFYPARTITION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Interfaces/Axes.h"

namespace tessera {

/// What the analysis says of a local program.
enum class PartitionAnswer {
  /// On every device each result is the block that its sharding names.
  Proven,
  /// At `op` some device has not what is needed.
  Refuted,
  /// The analysis does not know what `op` does to blocks.
  NotProvable,
};

/// The answer and, unless it is Proven, the first op to blame.
struct PartitionVerdict {
  PartitionAnswer answer = PartitionAnswer::Proven;
  /// The first op that is not as it should be; null if proven.
  mlir::Operation *op = nullptr;
  std::string why;
  /// Where the reference has what is needed, if that is known.
  std::optional<mlir::Location> reference;

  /// Emits an error at the op, unless proven.
  mlir::LogicalResult report() const;
};

/// Checks `local`, which is marked `dist.local`, on `mesh`, and the functions
/// that it calls. `reference` is the global function that it should compute, on
/// true sizes; what it calls is looked up in its module. Null: only that all
/// devices agree on some global program whose results are as declared.
PartitionVerdict verifyPartition(mlir::FunctionOpInterface local,
                                 const Mesh &mesh,
                                 mlir::FunctionOpInterface reference);

/// The program before it is partitioned, kept from one pass to another.
struct ReferenceProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Keeps a copy of the module in `reference`.
std::unique_ptr<mlir::Pass>
createKeepReferencePass(std::shared_ptr<ReferenceProgram> reference);

/// Puts the functions in `reference` beside the local ones that were made of
/// them, private, and names them by dist.reference. The last use of it.
std::unique_ptr<mlir::Pass>
createAddReferencePass(std::shared_ptr<ReferenceProgram> reference);

/// `dist-verify-partition` with the functions in `reference`, by name.
std::unique_ptr<mlir::Pass>
createVerifyPartitionPass(std::shared_ptr<ReferenceProgram> reference);

} // namespace tessera

#endif // TESSERA_VALIDATION_VERIFYPARTITION_H
