//===- StageAssignment.h - Which stage each op belongs to -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_STAGEASSIGNMENT_H
#define TESSERA_LIB_STAGES_STAGEASSIGNMENT_H

#include "dialects/Dist/Dist.h"

namespace tessera {

/// Visits the values of an op's block, or from outside of it, that the op uses,
/// in its regions too.
void forEachUsedValue(mlir::Operation *op,
                      llvm::function_ref<void(mlir::Value)> visit);

/// What decides where an op of a micro-batch runs.
enum class OpClass {
  /// Made of constants and of the micro-batch's inputs alone: wherever its
  /// result is used.
  Input,
  /// Made of parameters, and constants, alone: likewise.
  Parameter,
  /// An op of the forward: in task F of its stage.
  Forward,
  /// An op of the backward: in task B, or W, of its stage.
  Backward,
};

/// The stages of the ops of a dist.accumulate's body.
class StageAssignment {
public:
  /// Splits the forward before each of `starts`, ops of it in program order:
  /// the first of each stage but the first one.
  StageAssignment(dist::AccumulateOp op,
                  llvm::ArrayRef<mlir::Operation *> starts);

  int getNumStages() const { return numStages; }
  OpClass getClass(mlir::Operation *op) const {
    return entries.lookup(op).kind;
  }
  /// The stage of a forward or backward op.
  int getStage(mlir::Operation *op) const { return entries.lookup(op).stage; }
  /// Whether a backward op belongs to task W where B and W are apart: matmuls
  /// and gradients of tables whose results reach only sums, ops that only these
  /// need, and what follows them.
  bool isWeightGrad(mlir::Operation *op) const {
    return entries.lookup(op).isWeightGrad;
  }
  /// The values whose sum a yielded value is: an addition of gradients of two
  /// stages that is only yielded leaves the micro-batch, since sums are linear.
  /// `additions` gets those that leave.
  llvm::SmallVector<mlir::Value>
  getTerms(mlir::Value yielded,
           llvm::SmallPtrSetImpl<mlir::Operation *> &additions) const;

private:
  struct Entry {
    OpClass kind = OpClass::Input;
    int stage = 0;
    bool isWeightGrad = false;
  };
  void classify();
  void assignForward(llvm::ArrayRef<mlir::Operation *> starts);
  void assignBackward();
  llvm::DenseMap<mlir::Operation *, int>
  findLimits(const llvm::DenseMap<mlir::Value, int> &last) const;
  void findWeightGrads();
  bool isTermOnly(mlir::Operation *op) const;

  mlir::Block &body;
  int numStages;
  /// Only looked up.
  llvm::DenseMap<mlir::Operation *, Entry> entries;
  /// Results of isTermOnly() by op: a sum may have one value twice.
  mutable llvm::DenseMap<mlir::Operation *, bool> termOnly;
};

} // namespace tessera

#endif // TESSERA_LIB_STAGES_STAGEASSIGNMENT_H
