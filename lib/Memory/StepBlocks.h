//===- StepBlocks.h - Tensors of a step as blocks of an arena ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors of a step function share a block, when each block is
// live, and its category. Offsets are assigned elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_MEMORY_STEPBLOCKS_H
#define TESSERA_LIB_MEMORY_STEPBLOCKS_H

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Memory/ArenaPlan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// The category of a block's contents, for the report.
enum Category {
  Parameters,
  Gradients,
  State,
  Activations,
  Gathered,
  Inputs,
  NumCategories
};

class StepBlocks {
public:
  /// Blocks are reused only with `reuse`; without it, ops work in place only
  /// where they must. Each block is followed by `canary` bytes that nothing
  /// writes.
  StepBlocks(mlir::func::FuncOp func, bool reuse, int64_t canary)
      : func(func), reuses(reuse), canary(canary) {}

  /// Builds the problem. Inserts a copy if a loop-carried value, or a result
  /// that must replace an argument, cannot be computed in place. Fails, with an
  /// error, if an argument would be read after its result has overwritten it.
  mlir::LogicalResult build();

  /// Returns the block of a tensor; none for other values.
  std::optional<unsigned> getBlock(mlir::Value value) const;
  /// Returns the offset in bytes of a tensor in its block.
  int64_t getOffsetInBlock(mlir::Value value) const {
    return offsetIn.lookup(value);
  }
  /// The op before which a block begins, and the op after which it ends; null
  /// if it lives from or to the step's boundary.
  mlir::Operation *getFirst(unsigned block) const;
  mlir::Operation *getLast(unsigned block) const;
  /// Returns the time at which an op runs; for a pipeline, its first action's.
  int64_t getTime(mlir::Operation *op) const { return position.lookup(op); }

  ArenaProblem problem;
  llvm::SmallVector<Category> categories;

private:
  mlir::Value getViewed(mlir::Value value) const;
  mlir::Value getRoot(mlir::Value value) const;
  bool isSlice(mlir::Value value) const;
  void number(mlir::Block &block);
  void renumber();
  int64_t lastUse(mlir::Value value) const;
  int64_t endOf(mlir::Operation *op) const;

  mlir::Operation *findReader(mlir::Value memory, mlir::OpResult writer) const;
  bool isMadeIn(mlir::Value value, mlir::Block *block) const;
  mlir::Value insertCopy(mlir::Operation *before, mlir::Value value);
  void prepareInits(mlir::Operation *op, mlir::MutableOperandRange inits);
  void prepareLoop(mlir::scf::ForOp loop);
  mlir::LogicalResult prepareDonation(unsigned argument, unsigned result);

  bool mayBeSlicedBy(mlir::Value root, rt::CopyOp copy);
  void findSlices();
  void packOperands(rt::ConcatOp concat);
  void pack(mlir::Value value, rt::ConcatOp concat, int64_t offset);
  mlir::Value findStart(mlir::Value value, mlir::Block *block) const;
  bool isPacked(mlir::Value value, int64_t begin);

  unsigned addBlock(mlir::Value value, Category category, int64_t begin);
  void setBlock(mlir::Value value, unsigned block);
  void addArguments();
  void addOps(mlir::Block &block);
  void carry(mlir::Operation &op, mlir::Value init, mlir::Value result);
  void addLoop(mlir::scf::ForOp loop);
  void addResults(mlir::Operation &op);
  bool isForced(mlir::Value value, int64_t begin);
  bool reuse(mlir::Operation &op, unsigned result);
  bool reduceInPlace(dist::StartOp start, dist::WaitOp wait);
  void markGradients();
  void markGradient(mlir::Value value);

  mlir::func::FuncOp func;
  bool reuses;
  int64_t canary;
  llvm::DenseMap<mlir::Operation *, int64_t> position, loopEnd;
  llvm::SmallVector<mlir::Operation *> opAt;
  llvm::DenseMap<mlir::Value, unsigned> blockOf;
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>> valuesIn;
  /// The offset of a value in its block, if it is not 0.
  llvm::DenseMap<mlir::Value, int64_t> offsetIn;
  /// Copies that are views of a slice of another value.
  llvm::DenseSet<mlir::Operation *> sliceViews;
  /// Values that are computed at their position in an rt.concat.
  llvm::DenseMap<mlir::Value, std::pair<rt::ConcatOp, int64_t>> packed;
  /// Values that must be stored at the address of another value.
  llvm::MapVector<mlir::Value, mlir::Value> forced;
  int64_t numSteps = 0;
};

/// Returns the wait of a started collective; the future has one use.
dist::WaitOp getWait(dist::StartOp start);

} // namespace tessera

#endif // TESSERA_LIB_MEMORY_STEPBLOCKS_H
