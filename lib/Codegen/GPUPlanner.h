//===- GPUPlanner.h - Plans a kernel for a GPU ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans from shapes and maps: the work of each op in a row, the consecutive
// elements per thread, the threads per row, and the storage of values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CODEGEN_GPUPLANNER_H
#define TESSERA_LIB_CODEGEN_GPUPLANNER_H

#include "tessera/Codegen/GPUPlan.h"

namespace tessera {

/// True if the threads of a row share an op's rows element by element.
inline bool isShared(const OpPlan &op) {
  return op.work == RowWork::Elements || op.work == RowWork::Reduction ||
         op.work == RowWork::FusedColumnReduction;
}

/// Plans one kernel.
class GPUPlanner {
public:
  GPUPlanner(mlir::func::FuncOp kernel, llvm::ArrayRef<InPlace> inPlace,
             int64_t block)
      : kernel(kernel), inPlace(inPlace), wantedBlock(block) {}
  KernelPlan run();

private:
  void addOps(int64_t rows);
  void makeRuns(OpPlan &op);
  void chooseWork(OpPlan &op);
  void chooseVectors();
  int64_t bestVector(const OpPlan &op) const;
  bool makeFlat();
  bool isElementwise() const;
  void chooseThreadsPerRow();
  int64_t widest() const;
  void chooseStorage();
  bool isReadAlike(mlir::Value value) const;
  void findWaits();
  void layOutShared();
  int64_t rowElements(mlir::Value value) const;
  std::optional<LinearAccess> access(const OpPlan &op,
                                     mlir::OpOperand &operand) const;
  int64_t countHeld() const;

  mlir::func::FuncOp kernel;
  llvm::ArrayRef<InPlace> inPlace;
  int64_t wantedBlock;
  KernelPlan plan;
  bool needsBlock = false;
};

} // namespace tessera

#endif // TESSERA_LIB_CODEGEN_GPUPLANNER_H
