//===- Executable.h - From LLVM dialect to a linked program -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM compiles an object at O2 in this process; a C++ compiler driver found on
// PATH links it with the runtime, which contains `main`. The program needs
// neither MLIR nor LLVM to run.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_EXECUTABLE_H
#define TESSERA_CONVERSION_EXECUTABLE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tessera {

/// The settings for LLVM's compilation of a program to an object file.
struct ObjectOptions {
  /// A CPU name that LLVM knows; "native" is this machine's.
  std::string cpu = "native";
  /// Optimization level of kernels, 0 to 3. Level 3 takes three times as long,
  /// for kernels that are no faster: it unrolls the short loops of small
  /// models.
  unsigned optLevel = 2;
};

/// Registers the translations of LLVM dialect that writeObject() needs.
void registerExecutableTranslations(mlir::DialectRegistry &registry);

/// Writes an object file for this machine's architecture at `path`. Fails for
/// an unknown cpu, a module that does not translate, a missing C++ compiler
/// driver on PATH if the module is large (it is compiled in parts, which the
/// driver merges), or a file that cannot be written.
llvm::Error writeObject(mlir::ModuleOp module, const ObjectOptions &options,
                        llvm::StringRef path);

/// The path of the runtime's library: `given` if it is not empty, otherwise
/// lib`name`.a in ../lib/tessera, ../../lib/tessera or ../lib relative to
/// `toolDirectory`, the folder of the tool or the shared library. Fails if it
/// does not exist.
llvm::Expected<std::string>
findRuntimeLibrary(llvm::StringRef given, llvm::StringRef toolDirectory,
                   llvm::StringRef name = "tessera_rt_host");

/// Links an object with the runtime's library into an executable. Fails if PATH
/// has no C++ compiler driver, or if the link fails, with the linker's first
/// message.
llvm::Error linkExecutable(llvm::StringRef object, llvm::StringRef library,
                           llvm::StringRef output);

} // namespace tessera

#endif // TESSERA_CONVERSION_EXECUTABLE_H
