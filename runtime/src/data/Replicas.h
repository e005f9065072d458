//===- Replicas.h - Parameters that several ranks have alike ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data-parallel ranks of one machine have the same shards of a parameter. Where
// no step changes it, as in inference or of the frozen weights of an adapter,
// these blocks are one memory: it is filled once, each rank a part, and takes
// its bytes once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_REPLICAS_H
#define TESSERA_RT_SRC_REPLICAS_H

#include "Manifest.h"

namespace tessera::rt {

/// Pages of parameters that no step changes, with the ranks that have them
/// alike; at least two each. None if `pageBytes` is 0.
std::vector<ReplicatedPages> findReplicatedPages(const Manifest &manifest,
                                                 int64_t pageBytes);

/// The size of the pages at which this machine's processes best share replicas:
/// that of huge pages where shared memory may have some. 0 on a machine of
/// several NUMA nodes: one memory would be far from half of the ranks.
int64_t findReplicaPageBytes();

/// The same by the contents of the system's files of its NUMA nodes and its
/// huge pages of shared memory.
int64_t findReplicaPageBytes(const std::string &nodes,
                             const std::string &shmemHugePages);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_REPLICAS_H
