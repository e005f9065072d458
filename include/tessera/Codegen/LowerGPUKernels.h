//===- LowerGPUKernels.h - A kernel on tensors as GPU threads ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_LOWERGPUKERNELS_H
#define TESSERA_CODEGEN_LOWERGPUKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "tessera/Codegen/LowerKernels.h"

namespace tessera {

/// A kernel as a function of one thread, and how many of them run it.
struct GPUKernel {
  mlir::gpu::GPUFuncOp func;
  int64_t grid = 1, block = 1, sharedBytes = 0;
};

/// The kernel as a function of
///   tensor operands, results that overwrite none, index operands
/// at the end of `module`, where tensors are flat memrefs.
GPUKernel lowerGPUKernel(mlir::gpu::GPUModuleOp module,
                         mlir::func::FuncOp kernel,
                         llvm::ArrayRef<InPlace> inPlace, llvm::StringRef name);

/// One kernel of several that are launched together.
struct BatchMember {
  mlir::func::FuncOp kernel;
  llvm::SmallVector<InPlace> inPlace;
  /// Where its arguments, in the order of lowerGPUKernel, are among those of
  /// the batch.
  llvm::SmallVector<unsigned> arguments;
};

/// Kernels that do not depend on each other as one function, each with blocks
/// of its own. `types` are those of all arguments.
GPUKernel lowerGPUBatch(mlir::gpu::GPUModuleOp module, mlir::Location loc,
                        llvm::ArrayRef<BatchMember> members,
                        llvm::ArrayRef<mlir::Type> types, llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_CODEGEN_LOWERGPUKERNELS_H
