//===- PlanExplore.h - tessera plan --explore -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_PLANEXPLORE_H
#define TESSERA_TOOLS_PLANEXPLORE_H

#include "Options.h"
#include "tessera/Planning/Subject.h"

namespace tessera {

/// Reports all layouts of the options' values and writes them; returns the exit
/// status, which says whether one fits.
llvm::Expected<int> runPlanExplore(const ParsedOptions &parsed,
                                   const Subject &subject);

} // namespace tessera

#endif // TESSERA_TOOLS_PLANEXPLORE_H
