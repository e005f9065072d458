//===- PlanSearch.h - tessera plan --search ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_PLANSEARCH_H
#define TESSERA_TOOLS_PLANSEARCH_H

#include "Options.h"
#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Planning/Subject.h"

namespace tessera {

/// The exit status of a plan or a search if nothing fits into memory.
inline constexpr int kDoesNotFit = 3;

/// Fails if an option is given that has a meaning only with --search.
llvm::Error checkSearchOptions(const ParsedOptions &parsed);

/// Reads a cluster, which is a file or a name of share/clusters.
llvm::Expected<ClusterSpec> readCluster(llvm::StringRef value);

/// Reads a cluster and scales its links by --links-scale.
llvm::Expected<ClusterSpec> readScaledCluster(const ParsedOptions &parsed,
                                              llvm::StringRef value);

/// Searches the layouts that the options leave open and writes the report;
/// returns the exit status.
llvm::Expected<int> runPlanSearch(const ParsedOptions &parsed,
                                  const Subject &subject);

} // namespace tessera

#endif // TESSERA_TOOLS_PLANSEARCH_H
