//===- PlannedBytes.h - The arena that a step would need --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_MEMORY_PLANNEDBYTES_H
#define TESSERA_MEMORY_PLANNEDBYTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// Bytes of the arena that rt-plan-arena would give a step function whose
/// collectives are split into start and wait. Does not change the function.
/// Fails, without an error, if the pass would fail.
mlir::FailureOr<int64_t> getPlannedBytes(mlir::func::FuncOp func);

} // namespace tessera

#endif // TESSERA_MEMORY_PLANNEDBYTES_H
