//===- PlanObserved.h - tessera plan --observed -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_PLANOBSERVED_H
#define TESSERA_TOOLS_PLANOBSERVED_H

#include "Options.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Planning/Subject.h"

namespace tessera {

/// Fits the constants of `cluster` to the runs of --observed, reports on stderr
/// which ones moved and how far, and records it in the question. Does nothing
/// without that option.
llvm::Error readObserved(const ParsedOptions &parsed, const Subject &subject,
                         const cost::ExecutedPlan &plan, ClusterSpec &cluster,
                         cost::PlanQuestion &question);

} // namespace tessera

#endif // TESSERA_TOOLS_PLANOBSERVED_H
