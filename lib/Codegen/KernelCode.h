//===- KernelCode.h - What all lowerings of a kernel share ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel on tensors has one meaning and two lowerings, to loops for the host
// and to threads for a device. They share how bodies become scalar code and how
// flat memory is indexed; each says where values and loops come from.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CODEGEN_KERNELCODE_H
#define TESSERA_LIB_CODEGEN_KERNELCODE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

class KernelCode {
public:
  explicit KernelCode(mlir::func::FuncOp kernel);
  virtual ~KernelCode();

protected:
  /// Where a tensor of the kernel is.
  struct Storage {
    mlir::Value memref;
    llvm::SmallVector<int64_t> shape;
    /// Leading dimensions that are not stored: a buffer of one row.
    unsigned dropped = 0;
  };

  /// The memory of a whole tensor, of one dimension.
  static mlir::MemRefType flat(mlir::RankedTensorType type);
  /// A constant of the kernel: a scalar, or a table in the read-only data of
  /// `symbols`, an op that holds symbols.
  void createConstant(mlir::arith::ConstantOp op, mlir::Operation *symbols);

  /// `a + b`; `b` where there is no `a`.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value a, int64_t factor);
  mlir::Value index(int64_t value);
  /// Sum of the indices times the strides.
  mlir::Value linear(llvm::ArrayRef<mlir::Value> indices,
                     llvm::ArrayRef<int64_t> strides);

  /// The index of loop `loop` of the op that is lowered.
  virtual mlir::Value loopIndex(unsigned loop) = 0;
  /// What the op that is lowered reads at the loops' position.
  virtual mlir::Value load(mlir::OpOperand &operand) = 0;
  /// What an accumulator starts with: the value of a fill, or what is there; 0
  /// where that may be anything.
  mlir::Value startValue(mlir::OpOperand &init);
  /// The body of `op` at the loops' position; gives what it yields. What
  /// accumulates gets the flag `reassoc` too where `reassociates`.
  llvm::SmallVector<mlir::Value> body(mlir::linalg::GenericOp op,
                                      mlir::ValueRange accumulators,
                                      bool reassociates);

  mlir::func::FuncOp kernel;
  mlir::ImplicitLocOpBuilder b;
  int64_t rows;
  llvm::DenseMap<mlir::Value, Storage> storage;
  /// Index operands and scalar constants of the kernel, and what of the body
  /// that is lowered is known beforehand.
  mlir::IRMapping scalars;

private:
  void cloneInBody(mlir::Operation *op, mlir::IRMapping &mapping,
                   bool reassociates);
};

} // namespace tessera

#endif // TESSERA_LIB_CODEGEN_KERNELCODE_H
