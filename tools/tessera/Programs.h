//===- Programs.h - Reading MLIR programs in subcommands --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_PROGRAMS_H
#define TESSERA_TOOLS_PROGRAMS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tessera {

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

/// The error of a step that has printed it.
struct Reported : llvm::ErrorInfo<Reported> {
  static char ID;
  void log(llvm::raw_ostream &) const override {}
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

/// Prints "file:line:column: error: message" on stderr, notes each on a line of
/// their own.
void printDiagnostic(mlir::Diagnostic &diagnostic);

/// Parses a module of the file `path`; null after an error, which the context's
/// handler has got. A crash of the parser ends the process with one line.
Module parseGuarded(std::unique_ptr<llvm::MemoryBuffer> file,
                    llvm::StringRef path, mlir::MLIRContext &context);

/// Reads a module in text or bytecode ("-": from stdin). Its errors have been
/// printed by the context's handler where they have a location.
llvm::Expected<Module> readModule(llvm::StringRef path,
                                  mlir::MLIRContext &context);

} // namespace tessera

#endif // TESSERA_TOOLS_PROGRAMS_H
