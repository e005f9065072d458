//===- RaiseArgReductions.h - Searches as nn.arg_reduce ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROPAGATION_RAISEARGREDUCTIONS_H
#define TESSERA_PROPAGATION_RAISEARGREDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// Builds with `builder` the two results of `op`, a search for the first
/// largest or smallest element along a loop and its position, with
/// nn.arg_reduce; returns the values in the order of the results. Fails if `op`
/// is not such a search. Does not change `op`.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
raiseArgReduction(mlir::OpBuilder &builder, mlir::linalg::GenericOp op);

} // namespace tessera

#endif // TESSERA_PROPAGATION_RAISEARGREDUCTIONS_H
