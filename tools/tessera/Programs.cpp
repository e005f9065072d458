//===- Programs.cpp - Reading MLIR programs in subcommands ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "tessera/Support/ModuleText.h"
#include "tools/common/ParserGuard.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;

char Reported::ID = 0;

void tessera::printDiagnostic(mlir::Diagnostic &diagnostic) {
  llvm::outs().flush();
  if (auto start =
          diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
    llvm::errs() << start.getFilename().getValue() << ":" << start.getLine()
                 << ":" << start.getColumn() << ": ";
  else if (auto name =
               diagnostic.getLocation()->findInstanceOf<mlir::NameLoc>())
    llvm::errs() << name.getName().getValue() << ": ";
  constexpr StringRef kSeverities[] = {"note", "warning", "error", "remark"};
  llvm::errs() << kSeverities[static_cast<unsigned>(diagnostic.getSeverity())]
               << ": " << diagnostic << "\n";
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    printDiagnostic(note);
}

Module tessera::parseGuarded(std::unique_ptr<llvm::MemoryBuffer> file,
                             StringRef path, mlir::MLIRContext &context) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  ParserGuard guard(path);
  return mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
}

llvm::Expected<Module> tessera::readModule(StringRef path,
                                           mlir::MLIRContext &context) {
  std::string message;
  auto file = mlir::openInputFile(path, &message);
  if (!file)
    return llvm::createStringError(message);
  if (llvm::Error error = checkModuleText(path, file->getBuffer()))
    return error;
  Module module = parseGuarded(std::move(file), path, context);
  if (!module)
    return llvm::make_error<Reported>();
  return module;
}
