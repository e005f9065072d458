//===- ReplicaCheck.h - Comparing replicas of state -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that hold the same block of a parameter, of state or of a reported
// result compute it from the same numbers by the same operations, so their bits
// are equal. A rank whose memory or processor changes a bit differs from the
// others from then on.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_REPLICACHECK_H
#define TESSERA_RT_SRC_REPLICACHECK_H

#include "data/Manifest.h"
#include "ranks/Context.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// Returns which of these hashes differ from the one that most have; if no hash
/// is in more than half, all.
std::vector<size_t> findOdd(const std::vector<uint64_t> &hashes);

class ReplicaCheck {
public:
  ReplicaCheck(tessera_rt_context *ctx, const Manifest &manifest);

  /// Compares all replicas, between two steps. All ranks call it. Records a
  /// failure that names the first value that differs, and the ranks.
  Status run(int64_t step);

  /// "replicas of 4.31 MB of 12.91 MB of parameters and state are compared;
  /// the rest is sharded and has none"
  std::string describe() const;

private:
  /// The ranks that hold the same block of a value: at least two.
  struct Group {
    const Value *value;
    /// The number of its hash in the table.
    size_t number;
    std::vector<int> ranks;
  };
  void addGroups(const Value &value, size_t number);
  /// Compares the hashes of all ranks, on rank 0.
  Status compare(int64_t step);

  tessera_rt_context *ctx;
  std::vector<Group> groups;
  /// Bytes of the blocks of this rank.
  int64_t comparedBytes = 0, allBytes = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_REPLICACHECK_H
