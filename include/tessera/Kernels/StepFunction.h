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

/// The functions that a program runs: its public ones with a body. One, or
/// those of a pipeline, by pp rank. None, with an error, if there is none or
/// there are several without a `dist.pp_rank` of their own.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
getStepFunctions(mlir::ModuleOp module);

/// Step functions and the tasks of their pipelines, in the module's order: all
/// functions with a body that are no kernels.
llvm::SmallVector<mlir::func::FuncOp> getFunctionsOfStep(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_KERNELS_STEPFUNCTION_H
