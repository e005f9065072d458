//===- CandidatePrograms.cpp - Programs of a choice -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CandidatePrograms.h"
#include "dialects/Dist/Dist.h"
#include "tessera/Propagation/Passes.h"
#include "tessera/ShardingSearch/Decisions.h"

using namespace mlir;
using namespace tessera;

PipelineOptions tessera::getPhases(const ShardingChoice &choice,
                                   PipelineOptions phases) {
  if (choice.mesh)
    phases.layout.mesh = choice.mesh;
  phases.layout.strategy = choice.strategy;
  return phases;
}

void tessera::setDecisions(ModuleOp module, StringRef text) {
  if (text.empty())
    module->removeAttr(dist::DistDialect::kDecisionsAttr);
  else
    module->setAttr(dist::DistDialect::kDecisionsAttr,
                    StringAttr::get(module.getContext(), text));
}

/// Returns the text of a file of a search without decisions.
static std::string getUndecided(const Strategy &strategy) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::json::Value(makeDecisionFile(strategy));
  return text;
}

FailureOr<OwningOpRef<ModuleOp>>
tessera::prepareStep(ModuleOp module, const PipelineOptions &phases) {
  OwningOpRef<ModuleOp> copy = module.clone();
  const Strategy &strategy = phases.layout.strategy;
  setDecisions(*copy, strategy.isSearched ? getUndecided(strategy) : "");
  PassManager pm(module.getContext());
  pm.enableVerifier(phases.verifyEach);
  buildPhase(pm, Phase::Plan, phases);
  buildPhase(pm, Phase::Train, phases);
  pm.addPass(createPrepareRegionsPass());
  pm.addPass(createRaiseArgReductionsPass());
  if (failed(pm.run(*copy)))
    return failure();
  setDecisions(*copy, "");
  return copy;
}

FailureOr<std::string> tessera::describeNamed(ModuleOp module,
                                              const PipelineOptions &phases,
                                              StringRef known) {
  auto program = prepareStep(module, phases);
  PropagationOptions propagation;
  propagation.keepsCopies = true;
  if (failed(program) ||
      (!known.empty() &&
       failed(replayDecisions(**program, known, /*isPartial=*/true))) ||
      failed(propagateShardings(**program, propagation)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  printDecisions(**program, phases.layout.strategy, os);
  return text;
}
