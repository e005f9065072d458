//===- LowerKernels.h - A kernel on tensors as loops on memory --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_LOWERKERNELS_H
#define TESSERA_CODEGEN_LOWERKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// A result of a kernel that overwrites one of its operands.
struct InPlace {
  unsigned result, operand;
  bool operator==(const InPlace &o) const {
    return result == o.result && operand == o.operand;
  }
};

/// Lowers a kernel to a function of
///   tensor operands, results that overwrite none, index operands, begin, end
/// that computes rows [begin, end), with tensors as flat memrefs. Values inside
/// the kernel are in buffers of one row. The new function is inserted before
/// `kernel`.
mlir::func::FuncOp lowerKernel(mlir::func::FuncOp kernel,
                               llvm::ArrayRef<InPlace> inPlace,
                               llvm::StringRef name);

/// Number of rows that one thread takes at a time, enough to amortize its
/// start.
int64_t getKernelGrain(mlir::func::FuncOp kernel);

} // namespace tessera

#endif // TESSERA_CODEGEN_LOWERKERNELS_H
