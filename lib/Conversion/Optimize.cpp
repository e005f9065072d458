//===- Optimize.cpp - LLVM's middle end -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Optimize.h"
#include <algorithm>

void tessera::optimize(llvm::Module &module, llvm::TargetMachine &machine,
                       unsigned level, llvm::PipelineTuningOptions tuning) {
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  llvm::ModulePassManager passes =
      chosen == llvm::OptimizationLevel::O0
          ? builder.buildO0DefaultPipeline(chosen)
          : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(module, modules);
}
