//===- GPUPlan.h - Mapping of a kernel to GPU threads -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel runs row by row. If no op of it reduces, each thread computes a few
// neighbouring elements of a row: the grid is flat. Otherwise a row has threads
// of its own: part of a warp, a warp or a block, as wide as the row. Values
// that ops of a kernel exchange stay in the registers of the thread that
// computed them if every op traverses the row alike; else they are in the
// block's shared memory, or in memory if they are results.
//
// The threads of a row with a fused column reduction (ColumnReductions.h)
// process several rows, one after the other, and keep the sums of their columns
// in registers.
//
// The plan depends on shapes and maps alone; LowerGPUKernels generates the
// code.
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
/// Threads of a block of most kernels, and of every block of a batch of
/// kernels.
constexpr int64_t kBlockThreads = 256;
/// Largest total size of the values between ops of a kernel, in bytes per row
/// of a block's shared memory; values beyond it are results in memory. The rest
/// of the shared memory is for sums.
constexpr int64_t kMaxInsideBytes = 24 * 1024;

/// The position of an access in a row-major tensor: `offset` plus the sum of
/// loops times `strides`, one stride per loop.
struct LinearAccess {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

/// None if an expression of the map is not linear. The first `dropped`
/// dimensions are not stored.
std::optional<LinearAccess> getLinearAccess(mlir::AffineMap map,
                                            llvm::ArrayRef<int64_t> shape,
                                            unsigned dropped);

/// Loops of an op that one number counts, outermost first; loops of size 1 are
/// left out. A run is one or more of them that every access of the op traverses
/// with one stride.
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

/// The work of an op in a row.
enum class RowWork {
  /// One element: every thread of the row computes it.
  Scalar,
  /// Independent elements.
  Elements,
  /// One sum: each thread's partial sum, then the sum of these.
  Reduction,
  /// A sum for each element, computed by one thread.
  Sums,
  /// Column reductions: threads share columns and, if there are few, rows.
  ColumnReduction,
  /// Column reductions over rows that the same threads process one after the
  /// other.
  FusedColumnReduction,
};

/// The mapping of one op to threads.
struct OpPlan {
  mlir::linalg::GenericOp op;
  unsigned rowLoops = 0;
  llvm::SmallVector<int64_t> sizes;
  LoopGroup rows, parallel, reductions;
  RowWork work = RowWork::Scalar;
  /// Threads take chunks of `vector` neighbouring elements.
  int64_t vector = 1, chunks = 1;
  /// The most chunks that a thread takes.
  int64_t chunksPerThread = 1;
  /// For columns: number of threads that share the rows of one chunk.
  int64_t splits = 1;
  /// Offset of the partial sums in shared memory.
  int64_t scratch = 0;
  /// Threads wait for each other before this op.
  bool waits = false;

  /// The loops whose elements the threads share.
  const LoopGroup &shared() const {
    return work == RowWork::Reduction ? reductions : parallel;
  }
};

/// Storage of a value between the op that computes it and later ones.
enum class ValueStorage { Scalar, Registers, Shared, Memory };

/// The mapping of a GPU kernel's rows and elements to threads, and the storage
/// of the values between its ops.
struct KernelPlan {
  /// The grid is flat: each thread handles one chunk of one row, and `rows` is
  /// 1 or the kernel's number of rows.
  bool flat = false;
  int64_t rows = 1;
  /// Rows that the same threads process one after the other, and add up.
  int64_t rowsPerSum = 1;
  /// Threads per row, rows per block.
  int64_t threadsPerRow = 1, rowsPerBlock = 1;
  int64_t grid = 1, block = 1, sharedBytes = 0;
  /// The chunks of a row are unrolled code, not a loop.
  bool unrolled = true;
  /// Tensors that are read several times are kept in registers.
  bool keepsLoads = false;
  llvm::SmallVector<OpPlan, 0> ops;
  llvm::DenseMap<mlir::Value, ValueStorage> valueStorage;
  /// Offsets of values in shared memory.
  llvm::DenseMap<mlir::Value, int64_t> sharedOffsets;
};

/// Plans a kernel with these results in place; `block` is the required number
/// of threads per block, 0 if any.
KernelPlan planGPUKernel(mlir::func::FuncOp kernel,
                         llvm::ArrayRef<InPlace> inPlace, int64_t block);

/// True if an op reads a tensor of `shape` in the order of the loops of
/// `group`, element by element, from the row's first one.
bool readsAlike(const OpPlan &plan, const LoopGroup &group,
                const LinearAccess &access, int64_t rowElements);

/// Whether `vector` neighbours of the loops that threads share are contiguous
/// in memory, at an offset that is a multiple of `vector`.
bool isAligned(const OpPlan &plan, const LinearAccess &access, int64_t vector);

} // namespace tessera

#endif // TESSERA_CODEGEN_GPUPLAN_H
