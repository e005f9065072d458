//===- WhatIf.h - Searches beside the one that was asked for ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What other hardware would buy, why a layout is not the best one, how few
// devices meet a date: each is a search of its own.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_WHATIF_H
#define TESSERA_PLANNING_WHATIF_H

#include "tessera/Planning/SearchReport.h"

namespace tessera {

/// Searches the space on the best plan's cluster with 10 GB more memory, with
/// links a fifth faster and slower, with units a fifth faster and slower.
std::vector<WhatIf> findWhatIfs(const Subject &subject,
                                llvm::ArrayRef<ClusterSpec> clusters,
                                const PlanSpace &given, const FoundPlan &best,
                                const SearchOptions &options);

/// The best plan of the space in which some fields are fixed, as "tp=8,pp=4",
/// beside the best one of all. It may lack memory: then it is the one that
/// needs the least. Errors: a text that is no such list; explainNoPlan(), where
/// no plan has these values.
llvm::Expected<Neighbour> explainLayout(const Subject &subject,
                                        llvm::ArrayRef<ClusterSpec> clusters,
                                        PlanSpace given, llvm::StringRef fixed,
                                        const FoundPlan &best,
                                        const SearchOptions &options);

/// The fewest devices on which a plan of the space is through so many tokens in
/// so many days: whole nodes, from the number that the FLOPs of matmuls with
/// parameters allow at their measured rate. An error if all devices of the
/// cluster (or those that `given` permits) are not enough.
llvm::Expected<FewestDevices> findFewestDevices(const Subject &subject,
                                                const ClusterSpec &cluster,
                                                PlanSpace given, double tokens,
                                                double days,
                                                SearchOptions options);

} // namespace tessera

#endif // TESSERA_PLANNING_WHATIF_H
