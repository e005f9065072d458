//===- VerifyPartition.h - Checks a local program ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward analysis of a local function: for each value, the value of the
// reference and the block of it that each device holds, and the axes over which
// it is partial. It does not depend on how the program was made. Ops mean what
// they declare through ShardingRuleOpInterface; collectives mean their
// definition. Foreign ops that say what they compute (Expansion.h) are compared
// as that.
//
// The local program must compute the reference op by op: an op on blocks of the
// reference's values must be an op that the reference has. It may reorder and
// repeat ops, run them on partial values if they are linear, decompose ops with
// internal reductions, and pad.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROOF_VERIFYPARTITION_H
#define TESSERA_PROOF_VERIFYPARTITION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Interfaces/Axes.h"

namespace tessera {

/// The result of the analysis of a local program.
enum class PartitionAnswer {
  /// On every device each result is the block that its sharding names.
  Proven,
  /// At `op` some device lacks a needed value.
  Refuted,
  /// The analysis cannot model the effect of `op` on blocks.
  NotProvable,
};

/// The result and, unless it is Proven, the first op at fault.
struct PartitionVerdict {
  PartitionAnswer answer = PartitionAnswer::Proven;
  /// The first op at fault; null if proven.
  mlir::Operation *op = nullptr;
  std::string why;
  /// Location of the needed value in the reference, if known.
  std::optional<mlir::Location> reference;

  /// Emits an error at the op, unless proven.
  mlir::LogicalResult report() const;
};

/// Checks `local`, which is marked `dist.local`, on `mesh`, and the functions
/// that it calls. `reference` is the global function that it should compute, on
/// true sizes; its callees are looked up in its module. If null, checks only
/// that all devices agree on some global program whose results are as declared.
PartitionVerdict verifyPartition(mlir::FunctionOpInterface local,
                                 const Mesh &mesh,
                                 mlir::FunctionOpInterface reference);

/// The rules that a proof takes on trust: those of the foreign ops without a
/// meaning in `reference` and its callees, as "toy.row_scale (x.mlir:4)", each
/// with the first op that has it.
std::vector<std::string> listTrustedRules(mlir::FunctionOpInterface reference);

/// Returns the words after "proven": ", given the rules of toy.row_scale
/// (x.mlir:4)"; empty if no rule is trusted.
std::string describeTrust(mlir::FunctionOpInterface reference);

/// The program before it is partitioned, kept from one pass to another.
struct ReferenceProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Creates the pass that keeps a copy of the module in `reference`.
std::unique_ptr<mlir::Pass>
createKeepReferencePass(std::shared_ptr<ReferenceProgram> reference);

/// Creates the pass that adds the functions in `reference` next to the local
/// ones made from them, as private functions, and names them by dist.reference.
/// Consumes `reference`.
std::unique_ptr<mlir::Pass>
createAddReferencePass(std::shared_ptr<ReferenceProgram> reference);

/// Creates `dist-verify-partition` with the functions in `reference`, by name.
std::unique_ptr<mlir::Pass>
createVerifyPartitionPass(std::shared_ptr<ReferenceProgram> reference);

} // namespace tessera

#endif // TESSERA_PROOF_VERIFYPARTITION_H
