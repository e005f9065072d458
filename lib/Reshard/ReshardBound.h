//===- ReshardBound.h - What is left to do at least -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A time that no way from a state to the goal is shorter than. A collective
// takes a base, the latencies of its steps, and its bytes over a bandwidth
// (CollectiveTime.h), so a way takes at least the sum of
//  * the base and the least latencies of the collectives without which the
//    goal's numbers of shards do not come about;
//  * the transfers that some device must receive, those between groups of
//    devices over the links that join the groups;
//  * where shards move to or from several dimensions, the transfers of the
//    collectives for each of these: an all-to-all joins and splits one.
// Within a collective levels of links work side by side, so seconds of near and
// far transfers do not add up. What holds of each collective, and so of a way,
// are inequalities seconds >= near * all bytes + far * bytes between groups;
// the bound takes the best of a few such pairs of weights (a linear program,
// solved on a grid).
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

  /// Both are kept by reference.
  ReshardBound(const ReshardSpace &space, const State &goal);

  struct Bound {
    /// Seconds of any way, and collectives on it.
    double time = 0;
    int collectives = 0;
    int slices = 0;
    /// The same of any way that begins with a permute, the permute included.
    double permuteTime = 0;
    int permuteCollectives = 1;
  };
  Bound get(const State &state) const;

private:
  /// The shards of each dimension, and the dimensions whose axes part ways
  /// with the goal's.
  struct Held {
    llvm::SmallVector<int64_t, 8> shards;
    std::bitset<DimLists::kCapacity> apart;
    /// The parts at which they do, and the shards of these and of all parts
    /// after them.
    Part mine[DimLists::kCapacity], goals[DimLists::kCapacity];
    double myTail[DimLists::kCapacity], goalTail[DimLists::kCapacity];
  };
  /// The links of a level and those further out, and the groups of devices that
  /// only they connect. Only where each axis is on one level.
  struct Outer {
    /// Bits of the parts on them.
    uint64_t parts = 0;
    double latency, bandwidth = 0;
    /// Devices of a group.
    double inside = 1;
    /// Seconds that a way takes at least for each byte that a device receives,
    /// and more for each of those that come from another group.
    struct Weights {
      double any = 0, outer = 0;
    };
    static constexpr int kWeights = 8;
    Weights weights[kWeights];
    /// Groups that cut the goal, and that have parts of its sum each.
    double goalShards = 1, goalPartial = 1;
    /// Groups that have the same of it.
    double replicas = 1;
  };
  void addOuterLevels();
  void setWeights(Outer &outer, double groups) const;
  double countShards(llvm::ArrayRef<Part> list, uint64_t mask) const;
  /// What groups must at least receive of each other.
  struct OuterNeeds {
    /// Seconds of the latencies that are more than on the nearest links.
    double latency = 0;
    /// Bytes that a device receives from other groups.
    double bytes = 0;
  };
  OuterNeeds getOuterNeeds(const Outer &outer, const State &state,
                           const Held &held) const;
  /// Latencies and collectives that must come; the same after any permute.
  struct Needs {
    int latencies = 0, collectives = 0;
    int permuted = 0, permutedCollectives = 0;
  };
  Held getHeld(const State &state) const;
  /// Into how many times as many shards dimensions must be split, and how many
  /// times as few remain of those that must be joined.
  struct Ratios {
    llvm::SmallVector<double, 4> splits, joins;
  };
  /// By the numbers of shards alone; or without any permute, where all axes of
  /// a dimension leave it from where they part ways with the goal's.
  Ratios getRatios(const Held &held, bool permutes) const;
  double getShuffled(const Held &held, const Ratios &ratios,
                     bool permutes) const;
  Needs getNeeds(const Held &held, int64_t partial) const;
  double getOverlap(const Held &held) const;
  /// Partial parts to be reduced, as the number of devices that have one each;
  /// `kept` is the number of those that stay partial.
  int64_t getPartial(const State &state, double &kept) const;
  int getSlices(const Held &held, int64_t partial) const;
  /// `transfer` in seconds over links that are used as well as they can be.
  double getTime(int collectives, double latency, double transfer) const;

  const ReshardSpace &space;
  const State &goal;
  llvm::SmallVector<Parts, 8> goalParts;
  llvm::SmallVector<int64_t, 8> goalShards;
  int64_t allShards = 1, goalPartial = 1;
  int64_t largestPart = 2;
  /// Elements of the tensor, and of a device at the goal.
  double elements, wanted = 1;
  llvm::SmallVector<Outer, 2> outers;
  /// Bytes per second that a device receives at most.
  double bandwidth;
  /// log2 of the number of shards at the goal.
  double goalLog = 0;
  double replicas = 1;
  /// Devices that have the same of the goal, of all axes that may be used.
  double mostReplicas = 1;
};

} // namespace tessera

#endif // TESSERA_LIB_RESHARD_RESHARDBOUND_H
