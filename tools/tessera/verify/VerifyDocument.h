//===- VerifyDocument.h - The report of a verification ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_VERIFYDOCUMENT_H
#define TESSERA_TOOLS_VERIFYDOCUMENT_H

#include "tessera/Interpreter/Verify.h"
#include "tessera/Report/Document.h"

namespace tessera {

/// The verification of one function.
struct FunctionVerdict {
  std::string name;
  /// The number of ranks and their mesh; one rank without a mesh.
  int64_t ranks = 1;
  std::string mesh;
  /// The number of sets of data, of which `report` has the worst.
  int64_t seeds = 1;
  interp::VerifyReport report;
  /// False if an op does not say what it computes: there are no outputs then.
  bool isCompared = true;
  /// The answer of the proof: "proven"; "refuted" if arguments show a
  /// difference, else "not provable"; "none" if it was not asked for.
  llvm::StringRef proof = "none";
  /// The arguments that show a difference, in a line; empty without any.
  std::string witness;
  /// The error of the proof, with its place; only for pairs.
  std::string reason;
  /// The rules that the proof takes on trust.
  std::vector<std::string> trustedRules;

  /// True if outputs agree and no proof failed.
  bool ok() const {
    return report.ok() && (proof == "none" || proof == "proven");
  }
  /// "@forward: 4 ranks (dp=2, tp=2), worst of 3 sets of data".
  std::string getTitle() const;
};

/// The document of verdicts, one section for each.
Document makeVerifyDocument(llvm::ArrayRef<FunctionVerdict> verdicts,
                            llvm::StringRef program, llvm::StringRef command);

} // namespace tessera

#endif // TESSERA_TOOLS_VERIFYDOCUMENT_H
