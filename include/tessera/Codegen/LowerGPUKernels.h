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

/// A kernel as a function of one thread, and its number of threads.
struct GPUKernel {
  mlir::gpu::GPUFuncOp func;
  int64_t grid = 1, block = 1, sharedBytes = 0;
};

/// Lowers a kernel to a function of
///   tensor operands, results that overwrite none, index operands
/// at the end of `module`, with tensors as flat memrefs.
GPUKernel lowerGPUKernel(mlir::gpu::GPUModuleOp module,
                         mlir::func::FuncOp kernel,
                         llvm::ArrayRef<InPlace> inPlace, llvm::StringRef name);

/// One kernel of several that are launched together.
struct BatchMember {
  mlir::func::FuncOp kernel;
  llvm::SmallVector<InPlace> inPlace;
  /// Positions of its arguments, in the order of lowerGPUKernel, among the
  /// batch's arguments.
  llvm::SmallVector<unsigned> arguments;
};

/// Lowers independent kernels to one function in which each has its own blocks.
/// `types` are the types of all arguments.
GPUKernel lowerGPUBatch(mlir::gpu::GPUModuleOp module, mlir::Location loc,
                        llvm::ArrayRef<BatchMember> members,
                        llvm::ArrayRef<mlir::Type> types, llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_CODEGEN_LOWERGPUKERNELS_H
