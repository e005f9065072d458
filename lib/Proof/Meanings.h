//===- Meanings.h - Foreign ops in a proof ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partition and proof read the same rule of a foreign op, so a wrong rule would
// be proven. What an op with a meaning computes is compared instead: both
// programs are copied, and the copies have the meanings in place of the ops.
// Only ops without a meaning are trusted.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_MEANINGS_H
#define TESSERA_LIB_PROOF_MEANINGS_H

#include "mlir/IR/OwningOpRef.h"
#include "tessera/Proof/VerifyPartition.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tessera {

/// True if a function, or one that it calls, has a foreign op that says what it
/// computes, or a rule as text.
bool hasForeignOps(mlir::FunctionOpInterface function);

/// Copies of a local function and its reference, with their modules, in which
/// meanings replace ops.
class ExpandedPrograms {
public:
  /// Fails, with an error, if a meaning does.
  static mlir::FailureOr<ExpandedPrograms>
  make(mlir::FunctionOpInterface local, mlir::FunctionOpInterface reference);

  mlir::FunctionOpInterface getLocal() const { return local; }
  /// Null without a reference.
  mlir::FunctionOpInterface getReference() const { return reference; }

  /// The verdict on the copies as one on the programs: an op of a meaning
  /// becomes the op that has it.
  PartitionVerdict restore(PartitionVerdict verdict) const;

private:
  mlir::FailureOr<mlir::FunctionOpInterface>
  copy(mlir::FunctionOpInterface function);
  std::string describeShards(mlir::Operation *op) const;

  /// Copies of the outermost ops around the two functions; one if it is the
  /// same.
  llvm::SmallVector<mlir::OwningOpRef<mlir::Operation *>, 2> copies;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> copyOf;
  /// The original of each op of the copies. An op of a meaning has the op that
  /// has the meaning.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> originalOf;
  /// Ops of meanings.
  llvm::DenseSet<mlir::Operation *> made;
  mlir::FunctionOpInterface local, reference, originalReference;
};

} // namespace tessera

#endif // TESSERA_LIB_PROOF_MEANINGS_H
