//===- ImportPipeline.h - From a source's graph to phase input --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PHASES_IMPORTPIPELINE_H
#define TESSERA_PHASES_IMPORTPIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace tessera {

/// Information from the user that the graph lacks.
struct ImportOptions {
  /// Names of float arguments that are inputs, not parameters.
  std::vector<std::string> inputs;
  /// Ops that are not raised ("gelu"); "all": no op is raised.
  std::vector<std::string> noRaise;
  /// Names of dimensions of arguments: "ids=batch,seq;mask=batch".
  std::string dims;
  /// Names of the inputs of tokens and labels, which programs fill from a file,
  /// if they are not "tokens" and "labels"; labels are `labelShift` tokens
  /// later, 0 or 1.
  std::string tokens, labels;
  int64_t labelShift = 1;
};

/// Adds the passes to phase input from StableHLO in MLIR's generic form, or
/// from a graph of nn, arith, math and tensor as a front end prints it. The
/// context must allow unregistered dialects while StableHLO is read.
void buildImport(mlir::OpPassManager &pm, const ImportOptions &options);

/// Registers `--tessera-import`.
void registerImportPipeline();

} // namespace tessera

#endif // TESSERA_PHASES_IMPORTPIPELINE_H
