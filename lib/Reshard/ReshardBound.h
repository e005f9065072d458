//===- ReshardBound.h - Lower bounds on the remaining time ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lower bound on the time of any way from a state to the goal. A collective
// takes a base time, the latencies of its steps, and its bytes over a bandwidth
// (CollectiveTime.h). So a way takes at least the sum of
//  * the base and the least latencies of the collectives without which the
//    goal's numbers of shards cannot be reached;
//  * the transfers that some device must receive; transfers between groups of
//    devices count over the links that join the groups;
//  * if shards move to or from several dimensions, the transfers of the
//    collectives for each of these: an all-to-all joins and splits one.
// Levels of links work in parallel within a collective, so seconds of near and
// far transfers do not add up. Each collective, and so each way, satisfies
// inequalities seconds >= near * all bytes + far * bytes between groups. The
// bound takes the best of a few such pairs of weights (a linear program, solved
// on a grid).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RESHARD_RESHARDBOUND_H
#define TESSERA_LIB_RESHARD_RESHARDBOUND_H

#include "ReshardSpace.h"
#include <bitset>

namespace tessera {

class ReshardBound {
public:
  using Part = ReshardSpace::Part;
  using Parts = ReshardSpace::Parts;
  using State = ReshardSpace::State;

  /// Keeps references to both.
  ReshardBound(const ReshardSpace &space, const State &goal);

  struct Bound {
    /// Lower bounds on the seconds and collectives of any way.
    double time = 0;
    int collectives = 0;
    int slices = 0;
    /// The same for any way that begins with a permute, which they include.
    double permuteTime = 0;
    int permuteCollectives = 1;
  };
  Bound get(const State &state) const;

private:
  /// The shards of each dimension, and the dimensions whose axes diverge from
  /// the goal's.
  struct Held {
    llvm::SmallVector<int64_t, 8> shards;
    std::bitset<DimLists::kCapacity> apart;
    /// The parts at which they diverge, and the shards of these and of all
    /// later parts.
    Part mine[DimLists::kCapacity], goals[DimLists::kCapacity];
    double myTail[DimLists::kCapacity], goalTail[DimLists::kCapacity];
  };
  /// The links of a level and of the levels further out, and the groups of
  /// devices that only these connect. Used only if each axis is on one level.
  struct Outer {
    /// Bits of the parts on these links.
    uint64_t parts = 0;
    double latency, bandwidth = 0;
    /// Devices per group.
    double inside = 1;
    /// Least seconds of a way per byte that a device receives, and in addition
    /// per byte from another group.
    struct Weights {
      double any = 0, outer = 0;
    };
    static constexpr int kWeights = 8;
    Weights weights[kWeights];
    /// The number of groups that split the goal, and of groups with separate
    /// terms of its sum.
    double goalShards = 1, goalPartial = 1;
    /// Groups with the same elements of the goal.
    double replicas = 1;
  };
  void addOuterLevels();
  void setWeights(Outer &outer, double groups) const;
  double countShards(llvm::ArrayRef<Part> list, uint64_t mask) const;
  /// The least that groups receive from each other.
  struct OuterNeeds {
    /// Seconds of latencies beyond those on the nearest links.
    double latency = 0;
    /// Bytes that a device receives from other groups.
    double bytes = 0;
  };
  OuterNeeds getOuterNeeds(const Outer &outer, const State &state,
                           const Held &held) const;
  /// Necessary latencies and collectives; the same after any permute.
  struct Needs {
    int latencies = 0, collectives = 0;
    int permuted = 0, permutedCollectives = 0;
  };
  Held getHeld(const State &state) const;
  /// Factors to split dimensions by, and factors to join dimensions by.
  struct Ratios {
    llvm::SmallVector<double, 4> splits, joins;
  };
  /// Ratios from the numbers of shards alone; or, without permutes, with all
  /// axes of a dimension leaving it from where they diverge from the goal's.
  Ratios getRatios(const Held &held, bool permutes) const;
  double getShuffled(const Held &held, const Ratios &ratios,
                     bool permutes) const;
  Needs getNeeds(const Held &held, int64_t partial) const;
  double getOverlap(const Held &held) const;
  /// Partial parts to be reduced, as the number of devices with separate terms;
  /// `kept` is the number of terms that stay partial.
  int64_t getPartial(const State &state, double &kept) const;
  int getSlices(const Held &held, int64_t partial) const;
  /// `transfer` is in seconds over fully used links.
  double getTime(int collectives, double latency, double transfer) const;

  const ReshardSpace &space;
  const State &goal;
  llvm::SmallVector<Parts, 8> goalParts;
  llvm::SmallVector<int64_t, 8> goalShards;
  int64_t allShards = 1, goalPartial = 1;
  int64_t largestPart = 2;
  /// Elements of the tensor, and per device at the goal.
  double elements, wanted = 1;
  llvm::SmallVector<Outer, 2> outers;
  /// The most bytes per second that a device receives.
  double bandwidth;
  /// log2 of the number of shards at the goal.
  double goalLog = 0;
  double replicas = 1;
  /// Devices with equal goal blocks, over all axes that may be used.
  double mostReplicas = 1;
};

} // namespace tessera

#endif // TESSERA_LIB_RESHARD_RESHARDBOUND_H
