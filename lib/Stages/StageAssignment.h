//===- StageAssignment.h - Assigns ops to stages ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_STAGEASSIGNMENT_H
#define TESSERA_LIB_STAGES_STAGEASSIGNMENT_H

#include "dialects/Dist/Dist.h"

namespace tessera {

/// Visits the values from the op's block or from outside of it that the op
/// uses, including uses in its regions.
void forEachUsedValue(mlir::Operation *op,
                      llvm::function_ref<void(mlir::Value)> visit);

/// Determines the tasks in which an op of a micro-batch runs.
enum class TaskClass {
  /// Computed from constants and the micro-batch's inputs alone; runs in each
  /// task that uses its result.
  Input,
  /// Computed from parameters and constants alone; likewise.
  Parameter,
  /// An op of the forward; runs in task F of its stage.
  Forward,
  /// An op of the backward; runs in task B or W of its stage.
  Backward,
};

/// The stages of the ops of a dist.accumulate's body.
class StageAssignment {
public:
  /// Splits the forward before each of `starts`, its ops in program order: the
  /// first op of each stage after the first.
  StageAssignment(dist::AccumulateOp op,
                  llvm::ArrayRef<mlir::Operation *> starts);

  int getNumStages() const { return numStages; }
  TaskClass getClass(mlir::Operation *op) const {
    return entries.lookup(op).kind;
  }
  /// The stage of a forward or backward op.
  int getStage(mlir::Operation *op) const { return entries.lookup(op).stage; }
  /// Whether a backward op belongs to task W if B and W are separate: matmuls
  /// and table gradients whose results reach only sums, ops that only these
  /// use, and ops after them.
  bool isWeightGrad(mlir::Operation *op) const {
    return entries.lookup(op).isWeightGrad;
  }
  /// The terms of a yielded value. An addition of gradients of two stages
  /// leaves the micro-batch if its result is only yielded, since sums are
  /// linear. `additions` gets the additions that leave.
  llvm::SmallVector<mlir::Value>
  getTerms(mlir::Value yielded,
           llvm::SmallPtrSetImpl<mlir::Operation *> &additions) const;

private:
  struct Entry {
    TaskClass kind = TaskClass::Input;
    int stage = 0;
    bool isWeightGrad = false;
  };
  void classify();
  void assignForward(llvm::ArrayRef<mlir::Operation *> starts);
  void assignBackward();
  void gatherWhereUsed();
  llvm::DenseMap<mlir::Operation *, int>
  findLimits(const llvm::DenseMap<mlir::Value, int> &last) const;
  void findWeightGrads();
  bool isTermOnly(mlir::Operation *op) const;

  mlir::Block &body;
  int numStages;
  /// Only looked up.
  llvm::DenseMap<mlir::Operation *, Entry> entries;
  /// Cached results of isTermOnly(): a sum may use one value twice.
  mutable llvm::DenseMap<mlir::Operation *, bool> termOnly;
};

} // namespace tessera

#endif // TESSERA_LIB_STAGES_STAGEASSIGNMENT_H
