//===- KernelCode.h - Code shared by all lowerings of a kernel --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel on tensors has two lowerings: to loops for the host and to threads
// for a device. They share the lowering of bodies to scalar code and the
// indexing of flat memory; each one provides the values and loops.
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
  /// The memory of a tensor of the kernel.
  struct Storage {
    mlir::Value memref;
    llvm::SmallVector<int64_t> shape;
    /// The number of leading dimensions that are not stored: the buffer holds
    /// one row.
    unsigned dropped = 0;
  };

  /// Returns the one-dimensional memory type of a whole tensor.
  static mlir::MemRefType flat(mlir::RankedTensorType type);
  /// Creates a constant of the kernel: a scalar, or a table in the read-only
  /// data of `symbols`, an op with a symbol table.
  void createConstant(mlir::arith::ConstantOp op, mlir::Operation *symbols);

  /// Returns `a + b`, or `b` if `a` is null.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value a, int64_t factor);
  mlir::Value index(int64_t value);
  /// Returns the sum of the indices times the strides.
  mlir::Value linear(llvm::ArrayRef<mlir::Value> indices,
                     llvm::ArrayRef<int64_t> strides);

  /// Returns the index of loop `loop` of the op being lowered.
  virtual mlir::Value loopIndex(unsigned loop) = 0;
  /// Loads an operand of the op being lowered at the loops' position.
  virtual mlir::Value load(mlir::OpOperand &operand) = 0;
  /// Returns the start value of an accumulator: the value of a fill, or the
  /// contents of `init`. Returns 0 if the contents are arbitrary.
  mlir::Value startValue(mlir::OpOperand &init);
  /// Emits the body of `op` at the loops' position and returns the yielded
  /// values. Ops that accumulate also get the flag `reassoc` if `reassociates`.
  llvm::SmallVector<mlir::Value> body(mlir::linalg::GenericOp op,
                                      mlir::ValueRange accumulators,
                                      bool reassociates);

  mlir::func::FuncOp kernel;
  mlir::ImplicitLocOpBuilder b;
  int64_t rows;
  llvm::DenseMap<mlir::Value, Storage> storage;
  /// Index operands and scalar constants of the kernel, and the body's values
  /// that are known in advance.
  mlir::IRMapping scalars;

private:
  void cloneInBody(mlir::Operation *op, mlir::IRMapping &mapping,
                   bool reassociates);
};

} // namespace tessera

#endif // TESSERA_LIB_CODEGEN_KERNELCODE_H
