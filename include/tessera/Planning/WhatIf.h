//===- WhatIf.h - Searches that explain a best plan -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The benefit of other hardware, the reason why a layout is not the best one,
// the fewest devices that meet a date: each is a search of its own.
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
/// compared with the best plan overall. If none fits, it is the plan that needs
/// the least memory. Fails if the text is not such a list, or with
/// explainNoPlan() if no plan has these values.
llvm::Expected<Neighbour> explainLayout(const Subject &subject,
                                        llvm::ArrayRef<ClusterSpec> clusters,
                                        PlanSpace given, llvm::StringRef fixed,
                                        const FoundPlan &best,
                                        const SearchOptions &options);

/// The fewest devices on which a plan of the space processes `tokens` tokens in
/// `days` days: whole nodes, from the number that the FLOPs of matmuls with
/// parameters allow at their measured rate. Fails if all devices of the cluster
/// (or all that `given` permits) are not enough.
llvm::Expected<FewestDevices> findFewestDevices(const Subject &subject,
                                                const ClusterSpec &cluster,
                                                PlanSpace given, double tokens,
                                                double days,
                                                SearchOptions options);

} // namespace tessera

#endif // TESSERA_PLANNING_WHATIF_H
