//===- ImportPipeline.cpp - Lowers a source's graph to phase input --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Phases/ImportPipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Interfaces/Passes.h"
#include "tessera/Naming/Passes.h"
#include "tessera/Raise/Passes.h"
#include "tessera/StableHLO/Passes.h"

using namespace mlir;
using namespace tessera;

void tessera::buildImport(OpPassManager &pm, const ImportOptions &options) {
  StableHLOToNNPassOptions source;
  source.inputs.assign(options.inputs.begin(), options.inputs.end());
  pm.addPass(createStableHLOToNNPass(source));
  // Reject unsupported shapes before any pass works on them.
  pm.addPass(createVerifyInputPass());
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createLiftLinalgPass());
  // Compute equal values of constants in all layers once.
  functions.addPass(createCSEPass());
  functions.addPass(createFoldConstantsPass());
  functions.addPass(createFoldShapesPass());
  functions.addPass(createCSEPass());
  if (!llvm::is_contained(options.noRaise, "all")) {
    RaisePassOptions raise;
    raise.skip.assign(options.noRaise.begin(), options.noRaise.end());
    functions.addPass(createRaisePass(raise));
    functions.addPass(createFoldShapesPass());
    functions.addPass(createCSEPass());
  }
  functions.addPass(createViewParametersPass());
  functions.addPass(createFoldShapesPass());
  functions.addPass(createCSEPass());
  functions.addPass(createNameDimsPass({options.dims}));
  functions.addPass(createNameInputsPass(
      {options.tokens, options.labels, options.labelShift}));
  pm.addPass(createVerifyInputPass());
}

namespace {
struct PipelineText : PassPipelineOptions<PipelineText> {
  ListOption<std::string> inputs{
      *this, "inputs",
      llvm::cl::desc("arguments of floats that are inputs, not parameters")};
  ListOption<std::string> noRaise{
      *this, "no-raise",
      llvm::cl::desc("ops that are not raised; all: none is")};
  Option<std::string> dims{
      *this, "dims",
      llvm::cl::desc("names of dimensions of arguments: ids=batch,seq;...")};
  Option<std::string> tokens{*this, "tokens",
                             llvm::cl::desc("name of the input of tokens")};
  Option<std::string> labels{*this, "labels",
                             llvm::cl::desc("name of the input of labels")};
  Option<int64_t> labelShift{
      *this, "label-shift",
      llvm::cl::desc("by how many tokens labels are later: 0 or 1"),
      llvm::cl::init(1)};
};
} // namespace

void tessera::registerImportPipeline() {
  PassPipelineRegistration<PipelineText>(
      "tessera-import",
      "From a graph of StableHLO or plain ops to the phase input",
      [](OpPassManager &pm, const PipelineText &text) {
        ImportOptions options;
        options.inputs.assign(text.inputs.begin(), text.inputs.end());
        options.noRaise.assign(text.noRaise.begin(), text.noRaise.end());
        options.dims = text.dims;
        options.tokens = text.tokens;
        options.labels = text.labels;
        options.labelShift = text.labelShift;
        buildImport(pm, options);
      });
}
