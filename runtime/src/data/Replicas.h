//===- Replicas.h - Parameters that several ranks share ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data-parallel ranks of one machine have the same shards of a parameter. If no
// step changes it, as in inference or for the frozen weights of an adapter,
// these blocks share one memory: it is filled once, a share by each rank, and
// takes its bytes once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_REPLICAS_H
#define TESSERA_RT_SRC_REPLICAS_H

#include "Manifest.h"

namespace tessera::rt {

/// Finds the pages of parameters that no step changes and that at least two
/// ranks share, with those ranks. Empty if `pageBytes` is 0.
std::vector<ReplicatedPages> findReplicatedPages(const Manifest &manifest,
                                                 int64_t pageBytes);

/// Returns the best page size for this machine's processes to share replicas:
/// the size of huge pages if shared memory may have some. Returns 0 on a
/// machine with several NUMA nodes, because one memory would be far from half
/// of the ranks.
int64_t findReplicaPageBytes();

/// Decides from the contents of the system's files about its NUMA nodes and its
/// huge pages of shared memory.
int64_t findReplicaPageBytes(const std::string &nodes,
                             const std::string &shmemHugePages);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_REPLICAS_H
