//===- StepToLLVM.h - Step functions and tasks become LLVM ------*- C++ -*-===//
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

/// The function through which the runtime calls a kernel has the kernel's name
/// and this.
constexpr llvm::StringLiteral kEntrySuffix = "_entry";

/// Converts the functions marked `rt.step`, whose scalars and control flow are
/// LLVM dialect by now, and defines the program's table of step functions.
void convertSteps(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_STEPTOLLVM_H
