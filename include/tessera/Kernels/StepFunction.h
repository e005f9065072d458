//===- StepFunction.h - The functions that a program runs -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_KERNELS_STEPFUNCTION_H
#define TESSERA_KERNELS_STEPFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// The functions that a program runs: its public ones with a body. There is
/// one, or one per pp rank of a pipeline. Fails, with an error, if there is
/// none or there are several without a distinct `dist.pp_rank`.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
getStepFunctions(mlir::ModuleOp module);

/// Step functions and the tasks of their pipelines, in the module's order: all
/// functions with a body that are not kernels.
llvm::SmallVector<mlir::func::FuncOp> getFunctionsOfStep(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_KERNELS_STEPFUNCTION_H
