//===- FollowBatch.h - Values that depend on the batch ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_FOLLOWBATCH_H
#define TESSERA_LIB_TRAINING_FOLLOWBATCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interfaces/ShardingRule.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {

/// Finds the values of a function that depend on the batch, and their types for
/// one micro-batch. Follows dimensions from the batch inputs through the
/// factors of ops. A value summed over the batch is the sum of the
/// micro-batches' values, so ops may use it only linearly.
class BatchSplit {
public:
  /// `inputs` are arguments whose dimension `batchDims[i]` is the batch.
  BatchSplit(mlir::func::FuncOp function, mlir::ValueRange inputs,
             llvm::ArrayRef<int64_t> batchDims, int64_t microBatches);

  /// Follows the batch to `outputs`, which must all be sums over it. Fails with
  /// an error at the op if an op other than a sum over the batch mixes its
  /// samples, or if the batch does not divide.
  mlir::LogicalResult run(mlir::ValueRange outputs);
  /// The same for arbitrary outputs: ops that are not linear in a sum over the
  /// batch (a mean) wait for all micro-batches.
  mlir::LogicalResult runForward(mlir::ValueRange outputs);

  /// The ops that the outputs need in each micro-batch, in order.
  llvm::ArrayRef<mlir::Operation *> getOps() const {
    return needed.getArrayRef();
  }
  /// After runForward(), the ops that wait for sums, in order.
  llvm::ArrayRef<mlir::Operation *> getOpsAfter() const {
    return after.getArrayRef();
  }
  /// The type of a value for one micro-batch.
  mlir::Type getType(mlir::Value value) const;
  /// True if the value is a sum over the samples of the batch.
  bool isSum(mlir::Value value) const { return sums.contains(value); }
  /// True if a dimension of the value has the samples of the batch.
  bool hasBatch(mlir::Value value) const;

private:
  void collectNeeded(mlir::ValueRange outputs);
  mlir::LogicalResult followBatch();
  bool markDims(mlir::Operation *op);
  bool isAfterSums(mlir::Operation *op) const;
  mlir::LogicalResult checkOp(mlir::Operation *op);
  mlir::LogicalResult checkFactors(mlir::Operation *op,
                                   const ShardingRule &rule,
                                   const llvm::SmallBitVector &factors);

  mlir::func::FuncOp function;
  int64_t microBatches;
  llvm::SetVector<mlir::Operation *> needed;
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> batchDims;
  /// Values that are sums over the samples of the batch.
  llvm::DenseSet<mlir::Value> sums;
  bool mayWait = false;
  llvm::SetVector<mlir::Operation *> after;
};

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_FOLLOWBATCH_H
