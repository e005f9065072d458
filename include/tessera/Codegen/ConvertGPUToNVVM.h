//===- ConvertGPUToNVVM.h - Conversions of GPU code to LLVM -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CONVERTGPUTONVVM_H
#define TESSERA_CODEGEN_CONVERTGPUTONVVM_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// Registers the conversions of upstream dialects to LLVM dialect that the
/// conversion of GPU kernels uses.
void registerConversionInterfaces(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_CODEGEN_CONVERTGPUTONVVM_H
