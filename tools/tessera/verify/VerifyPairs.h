//===- VerifyPairs.h - Local functions and their references -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_VERIFYPAIRS_H
#define TESSERA_TOOLS_VERIFYPAIRS_H

#include "VerifyDocument.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// A local function and the one that its `dist.reference` names.
struct LocalPair {
  mlir::func::FuncOp local, reference;
};

/// The pairs of a module, in its order. Fails for a module without any, and for
/// a local function without a reference in it.
llvm::Expected<std::vector<LocalPair>> findPairs(mlir::ModuleOp module,
                                                 llvm::StringRef path);

/// Prints a row for each pair, then why it deviates, and a witness.
void printPairs(llvm::ArrayRef<FunctionVerdict> verdicts,
                llvm::raw_ostream &os);

/// Compares answers with a file of rows `function,answer`, where an answer is
/// proven, refuted or not provable; lines that begin with # are comments.
/// Returns a line for each difference, and for each function that is proven
/// although its results differ. Fails for a file that is none, a
/// function that no file has, and one without a row.
llvm::Expected<std::vector<std::string>>
compareAnswers(llvm::ArrayRef<FunctionVerdict> verdicts, llvm::StringRef path);

} // namespace tessera

#endif // TESSERA_TOOLS_VERIFYPAIRS_H
