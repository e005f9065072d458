//===- DeviceProgram.h - The symbols of a program for a device --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defines the symbols that tessera_rt_cuda.h requires, in LLVM dialect.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_DEVICEPROGRAM_H
#define TESSERA_LIB_CONVERSION_DEVICEPROGRAM_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Defines tessera_program_kernels and their number.
void defineKernelNames(mlir::ModuleOp module,
                       llvm::ArrayRef<mlir::StringRef> names);

/// Defines tessera_program_emulated_kernels: null unless the program is for the
/// emulator. Otherwise it has, for each kernel (there may be none), an entry
/// that unpacks its arguments. A kernel's last argument is the block's shared
/// memory.
void defineEmulatedKernels(mlir::ModuleOp module, bool isEmulated,
                           llvm::ArrayRef<mlir::LLVM::LLVMFuncOp> kernels);

/// An element of tessera_program_images.
struct DeviceImage {
  /// The compute capability: 80, 90, 100.
  int arch = 0;
  bool isPTX = false;
  std::string data;
};

/// Defines tessera_program_images and their number.
void defineImages(mlir::ModuleOp module, llvm::ArrayRef<DeviceImage> images);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_DEVICEPROGRAM_H
