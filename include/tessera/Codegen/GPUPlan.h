//===- GPUPlan.h - How the threads of a GPU share a kernel ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel runs row by row. Where no op of it reduces, each thread does a few
// neighbouring elements of a row: the grid is flat. Otherwise a row
// has threads of its own: part of a warp, a warp or a block, as wide as the
// row. Values that ops of a kernel exchange stay in the registers of the thread
// that made them where every op goes through the row alike; else they are in
// the block's shared memory, or in memory if they are results.
//
// With a fused column reduction (ColumnReductions.h) the threads of a row do
// several rows, one after the other, and keep the sums of their columns in
// registers.
//
// The plan is made from shapes and maps alone; LowerGPUKernels writes code.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_GPUPLAN_H
#define TESSERA_CODEGEN_GPUPLAN_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Codegen/LowerKernels.h"
#include <optional>

namespace tessera {

/// Threads that exchange registers.
constexpr int64_t kWarp = 32;
/// Bytes of a block's shared memory that values within a kernel take at most,
/// per row; a larger value is a result in memory. The rest is for sums.
constexpr int64_t kMaxInsideBytes = 24 * 1024;

/// Where a map leads in a row-major tensor: an element's number is `offset` and
/// the sum of loops times `strides`, of one stride a loop.
struct LinearAccess {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

/// None if an expression of the map is not linear. The first `dropped`
/// dimensions are not stored.
std::optional<LinearAccess> getLinearAccess(mlir::AffineMap map,
                                            llvm::ArrayRef<int64_t> shape,
                                            unsigned dropped);

/// Loops of an op that are counted by one number, outermost first; loops of
/// size 1 are left out. A run is one or more of them that every access of the
/// op passes with one stride.
struct LoopGroup {
  /// Neighbouring loops that act as one loop of `size` iterations.
  struct Run {
    /// The innermost loop, whose stride is the run's.
    unsigned last;
    int64_t size;
  };
  llvm::SmallVector<unsigned> loops;
  llvm::SmallVector<Run> runs;
  int64_t size = 1;
};

/// What an op does in a row.
enum class RowWork {
  /// One element: every thread of the row computes it.
  Scalar,
  /// Elements apart from each other.
  Elements,
  /// One sum: each thread's partial sum, then the sum of these.
  Reduction,
  /// A sum for each element, whole by one thread.
  Sums,
  /// Column reductions: threads share columns and, where these are few, rows.
  ColumnReduction,
  /// Column reductions of the rows that the same threads do one after the
  /// other.
  FusedColumnReduction,
};

/// How one op is done.
struct OpPlan {
  mlir::linalg::GenericOp op;
  unsigned rowLoops = 0;
  llvm::SmallVector<int64_t> sizes;
  LoopGroup rows, parallel, reductions;
  RowWork work = RowWork::Scalar;
  /// Threads take chunks of so many neighbouring elements.
  int64_t vector = 1, chunks = 1;
  /// Chunks that a thread takes at most.
  int64_t chunksPerThread = 1;
  /// Columns: threads that share the rows of one chunk.
  int64_t splits = 1;
  /// Where partial sums are in shared memory.
  int64_t scratch = 0;
  /// Threads wait for each other before it.
  bool waits = false;

  /// The loops whose elements threads share.
  const LoopGroup &shared() const {
    return work == RowWork::Reduction ? reductions : parallel;
  }
};

/// Where a value that an op of the kernel makes can be read by later ones.
enum class ValueStorage { Scalar, Registers, Shared, Memory };

/// How the threads of a GPU kernel share its rows and elements, and where the
/// values between its ops are kept.
struct KernelPlan {
  /// A thread is at one chunk of one row, and rows are counted anew.
  bool flat = false;
  int64_t rows = 1;
  /// Rows that the same threads do one after the other, and add up on the way.
  int64_t rowsPerSum = 1;
  /// Threads of a row, rows of a block.
  int64_t threadsPerRow = 1, rowsPerBlock = 1;
  int64_t grid = 1, block = 1, sharedBytes = 0;
  /// Chunks of a row are code one after the other, not a loop.
  bool unrolled = true;
  /// Tensors that are read several times are kept in registers.
  bool keepsLoads = false;
  llvm::SmallVector<OpPlan, 0> ops;
  llvm::DenseMap<mlir::Value, ValueStorage> valueStorage;
  /// Of a value in shared memory.
  llvm::DenseMap<mlir::Value, int64_t> sharedOffsets;
};

/// Plans a kernel with these results in place; `block` is the number of threads
/// that a block shall have, 0 if that is free.
KernelPlan planGPUKernel(mlir::func::FuncOp kernel,
                         llvm::ArrayRef<InPlace> inPlace, int64_t block);

/// True if an op's reading of a tensor of `shape` goes through the row like the
/// loops of `group`, element by element, from the row's first one.
bool readsAlike(const OpPlan &plan, const LoopGroup &group,
                const LinearAccess &access, int64_t rowElements);

/// Whether `vector` neighbours of the loops that threads share are contiguous
/// in memory, at an offset that is a multiple of it.
bool isAligned(const OpPlan &plan, const LinearAccess &access, int64_t vector);

} // namespace tessera

#endif // TESSERA_CODEGEN_GPUPLAN_H
