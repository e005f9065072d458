//===- StepFunction.h - The function that a program runs --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_KERNELS_STEPFUNCTION_H
#define TESSERA_KERNELS_STEPFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// The function that a program runs: the only public one with a body that is
/// not a kernel. None, with an error, if there is none or there are several.
mlir::FailureOr<mlir::func::FuncOp> getStepFunction(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_KERNELS_STEPFUNCTION_H
