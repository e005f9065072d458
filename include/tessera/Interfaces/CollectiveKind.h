//===- CollectiveKind.h - The kinds of collectives --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of collectives, their names and the bytes that they move, for ops,
// planners, prices and reports. tessera/Cluster/CollectiveTime.h has their
// times.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_COLLECTIVEKIND_H
#define TESSERA_INTERFACES_COLLECTIVEKIND_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace tessera {

/// The kind of a collective in an op, a library call or a measurement.
enum class CollectiveKind {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  /// Each device sends its value to one other device: ring attention, halos,
  /// the next stage of a pipeline.
  Permute,
  Broadcast,
};

/// "all_gather", ...: the name in messages and reports.
llvm::StringRef stringifyCollective(CollectiveKind kind);

/// Bytes that one device receives in a group of `groupSize`, where each member
/// holds `localBytes` before (bandwidth-optimal algorithms).
int64_t getBytesReceived(CollectiveKind kind, int64_t localBytes,
                         int64_t groupSize);

/// The same as a share of the bytes of the whole tensor of a group: the result
/// of an all-gather, or each device's input of the other kinds. nccl-tests
/// multiplies by it to print a bus bandwidth.
double getShareReceived(CollectiveKind kind, double groupSize);

} // namespace tessera

#endif // TESSERA_INTERFACES_COLLECTIVEKIND_H
