//===- ImportPipeline.h - From a source's graph to the phase input -*- C++ -*-//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PIPELINES_IMPORTPIPELINE_H
#define TESSERA_PIPELINES_IMPORTPIPELINE_H

#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace tessera {

/// What a user says of a graph that the graph does not.
struct ImportOptions {
  /// Names of arguments of floats that are inputs, not parameters.
  std::vector<std::string> inputs;
  /// Ops that are not raised ("gelu"); "all": none is.
  std::vector<std::string> noRaise;
  /// Names of dimensions of arguments: "ids=batch,seq;mask=batch".
  std::string dims;
  /// Names of the inputs that programs fill with tokens and labels from a file,
  /// where they have others; labels are so many tokens later, 0 or 1.
  std::string tokens, labels;
  int64_t labelShift = 1;
};

/// Adds the passes from StableHLO in MLIR's generic form, or from a graph of
/// nn, arith, math and tensor as a front end prints it, to the phase input. The
/// context must allow unregistered dialects while StableHLO is read.
void buildImport(mlir::OpPassManager &pm, const ImportOptions &options);

/// Registers `--tessera-import`.
void registerImportPipeline();

} // namespace tessera

#endif // TESSERA_PIPELINES_IMPORTPIPELINE_H
