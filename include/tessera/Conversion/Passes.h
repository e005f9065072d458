//===- Passes.h - From local programs to calls of the runtime ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PASSES_H
#define TESSERA_CONVERSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Conversion/Passes.h.inc"

/// The function that a program runs: the only public one with a body, that is
/// no kernel. None, with an error, if there is none or there are several.
mlir::FailureOr<mlir::func::FuncOp> getStepFunction(mlir::ModuleOp module);

/// Registers how upstream dialects become LLVM dialect, which the conversion of
/// a GPU's kernels asks them for.
void registerConversionInterfaces(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_CONVERSION_PASSES_H
