//===- FuseProducers.h - Producers move into their consumers ----*- C++ -*-===//
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

/// What one fused generic may grow to: a chain of any length is then fused, and
/// its kernels are compiled, in linear time.
constexpr unsigned kMaxFusedInputs = 64, kMaxFusedOps = 128;

/// Moves parallel linalg.generic ops into the generics that read them, in
/// program order, wherever `mayFuse` holds for the reading operand: the
/// consumer changes in place, and a producer that others read as well is
/// copied. As upstream's fusion of elementwise ops, but linear in the number of
/// ops. Returns the ops that changed.
llvm::SmallVector<mlir::Operation *>
fuseProducers(mlir::func::FuncOp func,
              llvm::function_ref<bool(mlir::OpOperand *)> mayFuse);

} // namespace tessera

#endif // TESSERA_LIB_FUSION_FUSEPRODUCERS_H
