//===- GPUThread.h - The code of one thread of a kernel ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the ops one by one, as the plan says. A thread takes chunks of
// consecutive elements with 16-byte accesses where these are aligned. Sums are
// reduced within a warp by shuffles of registers, then over the warps of a
// block through shared memory, always in the same order.
//
// No thread leaves the common path before a barrier or a shuffle: threads
// without a row repeat the last one and store nothing; a thread without a chunk
// repeats the last one and adds nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CODEGEN_GPUTHREAD_H
#define TESSERA_LIB_CODEGEN_GPUTHREAD_H

#include "KernelCode.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "tessera/Codegen/GPUPlan.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace tessera {

class GPUThreadCode : KernelCode {
public:
  GPUThreadCode(mlir::func::FuncOp kernel, llvm::ArrayRef<InPlace> inPlace,
                const KernelPlan &plan)
      : KernelCode(kernel), inPlace(inPlace), plan(plan) {}

  /// Types of tensor operands, of results that overwrite none, and of index
  /// operands.
  llvm::SmallVector<mlir::Type> argumentTypes() const;
  /// Writes the code at `point`, for a thread of a block with these numbers.
  /// `arguments` have the types above; `module` holds constant tables.
  void emit(mlir::OpBuilder point, mlir::gpu::GPUModuleOp module,
            mlir::Value block, mlir::Value thread, mlir::ValueRange arguments);

private:
  using Elements = llvm::SmallVector<mlir::Value>;

  // Function and memory.
  llvm::SmallVector<mlir::Value> memoryValues() const;
  void createShared();
  mlir::Value view(int64_t offset, mlir::Type element, int64_t count);
  // Addresses.
  mlir::Value divide(mlir::Value value, int64_t by, int64_t bound,
                     bool remainder);
  llvm::SmallVector<mlir::Value> indicesOf(const LoopGroup &group,
                                           mlir::Value index);
  void atRow();
  void atParallel(mlir::Value index);
  void atReduction(mlir::Value index);
  void atShared(mlir::Value index);
  mlir::Value loopIndex(unsigned loop) override;
  mlir::Value evaluate(mlir::AffineMap map, const Storage &buffer);
  mlir::Value address(const LinearAccess &access);
  std::optional<LinearAccess> access(mlir::OpOperand &operand,
                                     const Storage &buffer) const;
  // Reading and writing.
  mlir::Value load(mlir::OpOperand &operand) override;
  void loadChunk(unsigned round);
  Elements loadVector(mlir::OpOperand &operand, const Storage &buffer,
                      const LinearAccess &access);
  void store(mlir::OpOperand &init, const Storage &buffer,
             llvm::ArrayRef<mlir::Value> values);
  void storeResults(llvm::ArrayRef<Elements> results, mlir::Value condition);
  void when(mlir::Value condition, llvm::function_ref<void()> build);
  mlir::Value both(mlir::Value a, mlir::Value b);
  // Work.
  void forRounds(llvm::function_ref<void(mlir::Value chunk, unsigned round,
                                         mlir::Value isActive)>
                     build);
  llvm::SmallVector<mlir::Value>
  sumLoop(mlir::Value begin, int64_t step, mlir::ValueRange starts,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>
              build);
  llvm::SmallVector<mlir::Value> startValues();
  llvm::SmallVector<mlir::Value> neutralValues();
  mlir::Value combine(unsigned result, mlir::Value a, mlir::Value b);
  bool startsNeutral(unsigned result);
  mlir::Value exchange(mlir::Value value, int64_t mask);
  mlir::Value reduceRow(unsigned result, mlir::Value value, int64_t scratch);
  void lowerScalar();
  void lowerElements();
  void lowerReduction();
  void lowerSums();
  void lowerCarried();
  void lowerColumns();
  void addPartials(llvm::SmallVector<Elements> &sums, mlir::Value split,
                   mlir::Value chunk, mlir::Value isActive);
  void lower(const OpPlan &next);
  void lowerFlat(mlir::Value block, mlir::Value thread);
  void lowerRows(mlir::Value block, mlir::Value thread);
  void lowerRowsInTurn(mlir::Value chunk);
  void lowerOps();

  llvm::ArrayRef<InPlace> inPlace;
  const KernelPlan &plan;
  /// The row, the thread's number in it, and whether the row exists (null if it
  /// always does).
  mlir::Value row, lane, hasRow;
  /// The chunk, in a flat grid.
  mlir::Value flatChunk;
  mlir::Value shared;
  /// Values with one element per row.
  llvm::DenseMap<mlir::Value, mlir::Value> rowScalars;
  /// Chunks in registers: of values, by round; of tensors that were read, by
  /// round and access strides.
  std::map<std::pair<void *, unsigned>, Elements> held;
  std::map<std::pair<void *, std::vector<int64_t>>, Elements> kept;
  /// The sums carried by each op with a fused column reduction, by chunk,
  /// element and result.
  llvm::MapVector<const OpPlan *, Elements> carried;

  // The op being lowered, and the positions of its loops.
  const OpPlan *op = nullptr;
  llvm::SmallVector<mlir::Value> rowIndices, parallelIndices, reductionIndices;
  mlir::Value parallelIndex, reductionIndex;
  /// The element of the chunk, and the loaded values of the chunk by operand.
  int64_t element = 0;
  unsigned round = 0;
  llvm::DenseMap<unsigned, Elements> chunk;
};

/// Returns the bytes of `count` partial sums in shared memory.
int64_t partialBytes(int64_t count, mlir::Type type);

} // namespace tessera

#endif // TESSERA_LIB_CODEGEN_GPUTHREAD_H
