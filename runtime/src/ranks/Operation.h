//===- Operation.h - Kinds of collectives and groups of ranks ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and small facts about collectives, and the group of a list of axes. See
// "Groups" in tessera_rt.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_OPERATION_H
#define TESSERA_RT_SRC_OPERATION_H

#include "support/Support.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// The kinds of tessera_rt_collective_kind, and one of the runtime's own.
enum class OpKind : int32_t {
  AllGather = TESSERA_RT_ALL_GATHER,
  ReduceScatter = TESSERA_RT_REDUCE_SCATTER,
  AllReduce = TESSERA_RT_ALL_REDUCE,
  AllToAll = TESSERA_RT_ALL_TO_ALL,
  Permute = TESSERA_RT_PERMUTE,
  Broadcast = TESSERA_RT_BROADCAST,
  Send = TESSERA_RT_SEND,
  Recv = TESSERA_RT_RECV,
  Dispatch = TESSERA_RT_DISPATCH,
  Combine = TESSERA_RT_COMBINE,
  /// Internal: a barrier of all ranks without data. Its sequence id is a
  /// BarrierId.
  Barrier
};

enum BarrierId : int64_t {
  BarrierStart,
  BarrierAgreed,
  BarrierReady,
  BarrierArguments,
  BarrierStep,
  BarrierOutputs,
  BarrierEnd
};

const char *opName(OpKind op);
const char *reductionName(int32_t reduction);
const char *barrierName(int64_t id);
inline bool isReduction(OpKind op) {
  return op == OpKind::AllReduce || op == OpKind::ReduceScatter;
}
inline bool isPointToPoint(OpKind op) {
  return op == OpKind::Send || op == OpKind::Recv;
}

/// An axis or sub-axis of a row-major mesh. A rank's coordinate on it is
/// (rank / stride) % size.
struct StridedAxis {
  int64_t stride = 1;
  int64_t size = 1;
  bool operator==(const StridedAxis &other) const {
    return stride == other.stride && size == other.size;
  }
};

/// An axis of the mesh, for names in reports.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

/// Row-major number of the coordinates of `rank` on `axes`, major to minor.
int64_t getBlockIndex(const StridedAxis *axes, size_t count, int64_t rank);

/// Product of the sizes.
int64_t getAxesSize(const StridedAxis *axes, size_t count);

/// Formats axes as "dp,tp". A sub-axis is "tp:(m)k", as the compiler writes it:
/// size k, with m groups to its major side. One that is in no axis of the mesh
/// is "{stride,size}".
std::string describeAxes(const std::vector<StridedAxis> &axes,
                         const std::vector<MeshAxis> &mesh);

/// The group of one rank.
struct Group {
  std::vector<StridedAxis> axes;
  /// Ranks by group index.
  std::vector<int> members;
  /// This rank's index.
  int index = 0;
  uint64_t hash = 0;
  std::string name;
  /// Operations posted on it so far, except point-to-point ones.
  uint64_t ordinal = 0;
  /// Key and number of point-to-point operations so far, by partner and tag.
  std::vector<std::pair<uint64_t, uint64_t>> streams;

  int size() const { return int(members.size()); }
};

/// Builds the group of `rank` among `ranks`. Returns an error if the axes are
/// impossible, or an empty text.
std::string makeGroup(const int64_t *axes, int32_t numAxes, int rank, int ranks,
                      const std::vector<MeshAxis> &mesh, Group &group);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_OPERATION_H
