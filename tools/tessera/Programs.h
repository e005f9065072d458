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

/// An error that has already been printed.
struct Reported : llvm::ErrorInfo<Reported> {
  static char ID;
  void log(llvm::raw_ostream &) const override {}
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

/// Prints "file:line:column: error: message" on stderr, and each note on its
/// own line.
void printDiagnostic(mlir::Diagnostic &diagnostic);

/// Parses a module of the file `path`; returns null after an error, which goes
/// to the context's handler. A crash of the parser ends the process with one
/// line.
Module parseGuarded(std::unique_ptr<llvm::MemoryBuffer> file,
                    llvm::StringRef path, mlir::MLIRContext &context);

/// Reads a module in text or bytecode ("-": from stdin). The context's handler
/// prints the errors that have a location.
llvm::Expected<Module> readModule(llvm::StringRef path,
                                  mlir::MLIRContext &context);

} // namespace tessera

#endif // TESSERA_TOOLS_PROGRAMS_H
