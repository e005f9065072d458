//===- StepToLLVM.h - Lowers step functions and tasks to LLVM ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_STEPTOLLVM_H
#define TESSERA_LIB_CONVERSION_STEPTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

/// The suffix of the function through which the runtime calls a kernel.
constexpr llvm::StringLiteral kEntrySuffix = "_entry";

/// Converts the functions marked `rt.step`, whose scalars and control flow are
/// already LLVM dialect, and defines the program's table of step functions.
void convertSteps(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_STEPTOLLVM_H
