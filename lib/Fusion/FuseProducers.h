//===- FuseProducers.h - Fuses producers into their consumers ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_FUSION_FUSEPRODUCERS_H
#define TESSERA_LIB_FUSION_FUSEPRODUCERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// Limits on one fused generic, so that fusing a chain of any length and
/// compiling its kernels takes linear time.
constexpr unsigned kMaxFusedInputs = 64, kMaxFusedOps = 128;

/// Fuses parallel linalg.generic ops into the generics that read them, in
/// program order, for each reading operand for which `mayFuse` holds. The
/// consumer changes in place; a producer with other users is copied. This is
/// upstream's fusion of elementwise ops, but linear in the number of ops.
/// Returns the ops that changed.
llvm::SmallVector<mlir::Operation *>
fuseProducers(mlir::func::FuncOp func,
              llvm::function_ref<bool(mlir::OpOperand *)> mayFuse);

} // namespace tessera

#endif // TESSERA_LIB_FUSION_FUSEPRODUCERS_H
