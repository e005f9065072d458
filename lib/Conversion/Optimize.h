//===- Optimize.h - LLVM's middle end ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_OPTIMIZE_H
#define TESSERA_LIB_CONVERSION_OPTIMIZE_H

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace tessera {

/// Runs the middle end like `clang -O<level>` for `machine`, level 0 to 3.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              unsigned level, llvm::PipelineTuningOptions tuning = {});

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_OPTIMIZE_H
