//===- ReshardSpace.h - The shardings between two shardings -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph that the reshard planner searches. Every part of an axis that may
// occur has a number; a state is a list of numbers a dimension and one of those
// partial, in canonical form (neighbours that are one part are one number), so
// that equal placements are equal states.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_RESHARDSPACE_H
#define TESSERA_LIB_PARTITION_RESHARDSPACE_H

#include "tessera/Partition/ReshardPlanner.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera {

class ReshardSpace {
public:
  using Kind = ReshardStep::Kind;
  /// Number of a part of an axis.
  using Part = uint8_t;
  using Parts = llvm::SmallVector<Part, 6>;

  struct State {
    llvm::SmallVector<Parts, 4> dims;
    /// Sorted.
    Parts unreduced;
    bool operator==(const State &o) const {
      return dims == o.dims && unreduced == o.unreduced;
    }
  };

  /// A collective from one state to another.
  struct Move {
    Kind kind = Kind::Slice;
    Parts axes;
    uint8_t dim = 0, splitDim = 0;
    double time = 0;
  };

  /// Where axes may be cut.
  enum class Cuts {
    /// Where one of the two shardings cuts them.
    OfEnds,
    /// Also where a part is as large as another axis, with which it may change
    /// places; everywhere on small meshes (of at most kSmallMesh primes).
    Useful,
    /// At every divisor of their sizes.
    All,
  };
  static constexpr int kSmallMesh = 6;

  ReshardSpace(const Mesh &mesh, const MeshLinks &links, const Sharding &from,
               const Sharding &to, llvm::ArrayRef<int64_t> shape,
               int64_t elementBytes, Cuts cuts);

  /// False if there are more parts than a space holds.
  bool isValid() const { return valid; }
  size_t getNumParts() const { return parts.size(); }
  /// Parts that are not cut further: a state has as many permutes as these have
  /// orders.
  size_t getNumAtoms() const {
    return llvm::count_if(splits, [](auto &cuts) { return cuts.empty(); });
  }
  State toState(const Sharding &sharding) const;
  Sharding toSharding(const State &state, ReductionKind reduction) const;
  AxisList toAxes(llvm::ArrayRef<Part> parts) const;
  /// Elements of one device's block.
  int64_t getLocalSize(const State &state) const;

  /// Calls `visit` for each state that one collective leads to and in which no
  /// device holds more than `cap` elements. Permutes only on demand.
  void
  forEachMove(const State &state, int64_t cap, bool permutes,
              llvm::function_ref<void(const Move &, State &&)> visit) const;

  /// The axes that span the groups of a permute between two states.
  AxisList getPermuteAxes(const State &from, const State &to) const;

  /// A time that no way from `state` to `goal` is shorter than.
  double getBound(const State &state, const State &goal) const;

private:
  friend class MoveGenerator;

  void addParts(const Sharding &from, const Sharding &to, Cuts cuts);
  Parts expand(llvm::ArrayRef<Part> list) const;
  void relate();
  void setRates();
  Part find(const AxisRef &ref) const;
  int64_t numShards(llvm::ArrayRef<Part> parts) const;
  /// Appends and joins.
  void append(Parts &list, llvm::ArrayRef<Part> more) const;
  uint64_t getChanged(const State &from, const State &to) const;
  llvm::ArrayRef<LinkSpan> spansOf(uint64_t mask) const;
  double getTime(CollectiveKind kind, int64_t size, uint64_t mask) const;

  static constexpr Part kNone = 0xff;

  const Mesh &mesh;
  const MeshLinks &links;
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
  bool valid = true;

  std::vector<AxisRef> parts;
  /// Bits of the parts that cannot stand beside each part.
  std::vector<uint64_t> conflicts;
  /// Bits of the parts that lie within each part.
  std::vector<uint64_t> inside;
  /// What a pair of neighbours is together, or kNone.
  std::vector<std::vector<Part>> joined;
  /// Ways to cut each part in two.
  std::vector<llvm::SmallVector<std::pair<Part, Part>, 2>> splits;
  /// The parts into which each part is cut finest; itself where the cuts of its
  /// axis do not nest.
  std::vector<Parts> atoms;
  /// The least latency and the greatest bandwidth of any link.
  double latency = 0, bandwidth = 0;
  /// Spans by the bits of a group's parts.
  mutable llvm::DenseMap<uint64_t, LinkSpans> spans;
};

/// A number for a hash table.
size_t hashState(const ReshardSpace::State &state);

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_RESHARDSPACE_H
