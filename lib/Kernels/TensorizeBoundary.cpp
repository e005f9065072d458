//===- TensorizeBoundary.cpp - Scalars at the boundary of a step ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a step reads and makes lies in memory, so that scalars come and go as
// tensors of rank 0.
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Kernels/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_TENSORIZEBOUNDARYPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The tensor that a scalar is passed as. An index has 64 bits in a file.
static RankedTensorType getTensorType(Type type) {
  if (type.isIndex())
    type = IntegerType::get(type.getContext(), 64);
  return RankedTensorType::get({}, type);
}

namespace {
struct TensorizeBoundaryPass
    : tessera::impl::TensorizeBoundaryPassBase<TensorizeBoundaryPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    ImplicitLocOpBuilder b(func.getLoc(), func.getContext());
    b.setInsertionPointToStart(&func.front());
    for (BlockArgument argument : func.getArguments())
      if (argument.getType().isIntOrIndexOrFloat())
        passAsTensor(b, argument);
    Operation *terminator = func.front().getTerminator();
    b.setInsertionPoint(terminator);
    for (OpOperand &operand : terminator->getOpOperands())
      if (operand.get().getType().isIntOrIndexOrFloat())
        operand.set(returnAsTensor(b, operand.get()));
    func.setType(b.getFunctionType(func.front().getArgumentTypes(),
                                   terminator->getOperandTypes()));
  }

  static void passAsTensor(ImplicitLocOpBuilder &b, BlockArgument argument) {
    Type type = argument.getType();
    argument.setType(getTensorType(type));
    Operation *read = tensor::ExtractOp::create(b, argument, ValueRange());
    Value scalar = read->getResult(0);
    if (type.isIndex())
      scalar = arith::IndexCastOp::create(b, type, scalar);
    argument.replaceAllUsesExcept(scalar, read);
  }

  static Value returnAsTensor(ImplicitLocOpBuilder &b, Value scalar) {
    RankedTensorType type = getTensorType(scalar.getType());
    if (scalar.getType().isIndex())
      scalar = arith::IndexCastOp::create(b, type.getElementType(), scalar);
    Value empty =
        tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
    return linalg::FillOp::create(b, scalar, empty).getResult(0);
  }
};
} // namespace
