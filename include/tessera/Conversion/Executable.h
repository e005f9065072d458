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
  /// The runtime's library, by whose linker the parts of a large program are
  /// merged; empty: by a C++ compiler driver on PATH.
  std::string library;
};

/// Registers the translations of LLVM dialect that writeObject() needs.
void registerExecutableTranslations(mlir::DialectRegistry &registry);

/// Writes an object file for this machine's architecture at `path`. Fails for
/// an unknown cpu, a module that does not translate, a missing linker if the
/// module is large (it is compiled in parts, which are merged), or a file that
/// cannot be written.
llvm::Error writeObject(mlir::ModuleOp module, const ObjectOptions &options,
                        llvm::StringRef path);

/// The path of the runtime's library: `given` if it is not empty, otherwise
/// lib`name`.a in ../lib/tessera, ../../lib/tessera, ../libexec/tessera or
/// ../lib relative to `toolDirectory`, the folder of the tool or the shared
/// library, or in the folder `link` of these, which comes first. Fails if it
/// does not exist.
llvm::Expected<std::string>
findRuntimeLibrary(llvm::StringRef given, llvm::StringRef toolDirectory,
                   llvm::StringRef name = "tessera_rt_host");

/// The tool that links with a runtime's library in a folder `link`: `tessera`
/// of the same tree, as `tessera ld.lld`. Empty if a C++ compiler driver links.
std::string findLinkingTool(llvm::StringRef library);

/// Links an object with the runtime's library into an executable: by
/// findLinkingTool(), with the libc and libm that this process runs on, or by a
/// C++ compiler driver on PATH. Fails if PATH has none, if glibc is older than
/// 2.34, or if the link fails, with the linker's first message.
llvm::Error linkExecutable(llvm::StringRef object, llvm::StringRef library,
                           llvm::StringRef output);

} // namespace tessera

#endif // TESSERA_CONVERSION_EXECUTABLE_H
