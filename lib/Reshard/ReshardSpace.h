//===- ReshardSpace.h - The shardings between two shardings -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph that the reshard planner searches. Every part of an axis that may
// occur has a number. A state has a list of numbers per dimension and one list
// of partial parts. It is in canonical form (adjacent parts that form one are
// one number), so that equal placements are equal states.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RESHARD_RESHARDSPACE_H
#define TESSERA_LIB_RESHARD_RESHARDSPACE_H

#include "tessera/Reshard/ReshardPlanner.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace tessera {

/// A short inline list of numbers of axis parts. Unused entries are zero, so
/// that lists are compared and hashed as 64-bit integers.
class PartList {
public:
  using Part = uint8_t;
  static constexpr unsigned kCapacity = 23;

  PartList() = default;
  PartList(std::initializer_list<Part> list)
      : PartList(llvm::ArrayRef<Part>(list)) {}
  explicit PartList(llvm::ArrayRef<Part> list) { append(list); }

  unsigned size() const { return count; }
  bool empty() const { return count == 0; }
  const Part *begin() const { return items; }
  const Part *end() const { return items + count; }
  Part operator[](unsigned i) const { return items[i]; }
  Part front() const { return items[0]; }
  Part back() const { return items[count - 1]; }
  void setBack(Part p) { items[count - 1] = p; }
  void push_back(Part p) {
    assert(count < kCapacity && "more parts than axes have");
    items[count++] = p;
  }
  void pop_back() { items[--count] = 0; }
  void append(llvm::ArrayRef<Part> list) {
    for (Part p : list)
      push_back(p);
  }
  void assign(llvm::ArrayRef<Part> list) {
    PartList made(list);
    *this = made;
  }
  void sort() { std::sort(items, items + count); }
  operator llvm::ArrayRef<Part>() const { return {items, count}; }
  bool operator==(const PartList &o) const {
    return std::memcmp(this, &o, sizeof(PartList)) == 0;
  }
  bool operator!=(const PartList &o) const { return !(*this == o); }
  /// The list as three 64-bit integers.
  std::array<uint64_t, 3> words() const {
    std::array<uint64_t, 3> all;
    static_assert(sizeof(all) == sizeof(PartList));
    std::memcpy(&all, this, sizeof(all));
    return all;
  }

private:
  uint8_t count = 0;
  Part items[kCapacity] = {};
};

/// One list per dimension; copies only the used ones.
class DimLists {
public:
  static constexpr unsigned kCapacity = 8;

  DimLists() = default;
  DimLists(const DimLists &o) : count(o.count) {
    std::copy(o.begin(), o.end(), lists);
  }
  DimLists &operator=(const DimLists &o) {
    if (this == &o)
      return *this;
    count = o.count;
    std::copy(o.begin(), o.end(), lists);
    return *this;
  }
  size_t size() const { return count; }
  PartList *begin() { return lists; }
  PartList *end() { return lists + count; }
  const PartList *begin() const { return lists; }
  const PartList *end() const { return lists + count; }
  PartList &operator[](size_t i) { return lists[i]; }
  const PartList &operator[](size_t i) const { return lists[i]; }
  void push_back(const PartList &list) {
    assert(count < kCapacity && "more dimensions than a state has");
    lists[count++] = list;
  }
  bool operator==(const DimLists &o) const {
    return count == o.count && std::equal(begin(), end(), o.begin());
  }
  bool operator!=(const DimLists &o) const { return !(*this == o); }

private:
  size_t count = 0;
  PartList lists[kCapacity];
};

class ReshardSpace {
public:
  using Kind = ReshardStep::Kind;
  /// Number of a part of an axis.
  using Part = PartList::Part;
  using Parts = PartList;

  struct State {
    DimLists dims;
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

  /// The positions at which axes may be split.
  enum class Cuts {
    /// Positions at which one of the two shardings splits them.
    OfEnds,
    /// Also positions that give a part the size of another axis, with which it
    /// may change places; every position on small meshes (of at most kSmallMesh
    /// primes).
    Useful,
    /// Every divisor of their sizes.
    All,
  };
  static constexpr int kSmallMesh = 6;

  ReshardSpace(const Mesh &mesh, const MeshLinks &links, const Sharding &from,
               const Sharding &to, llvm::ArrayRef<int64_t> shape,
               int64_t elementBytes, Cuts cuts);

  /// False if there are more parts than a space can hold.
  bool isValid() const { return valid; }
  size_t getNumParts() const { return parts.size(); }
  /// Parts that are not split further: a state has as many permutes as these
  /// have orders.
  size_t getNumAtoms() const {
    return llvm::count_if(splits, [](auto &cuts) { return cuts.empty(); });
  }
  State toState(const Sharding &sharding) const;
  Sharding toSharding(const State &state, ReductionKind reduction) const;
  AxisList toAxes(llvm::ArrayRef<Part> parts) const;
  /// Elements of one device's block.
  int64_t getLocalSize(const State &state) const;
  /// How many times a move reorders chunks of a dimension: when it gathers or
  /// scatters along a dimension with several rows before it. Ignores dimensions
  /// that no way moves.
  unsigned countReorders(const Move &move, const State &from,
                         const State &to) const;

  using Visit = llvm::function_ref<void(const Move &, const State &)>;
  /// Limits of the moves.
  struct MoveLimits {
    /// The most elements that a device may hold.
    int64_t cap;
    /// The time of the way up to the state, and an upper limit on ways, which
    /// may decrease while moves are visited.
    double time;
    const double &limit;
    bool admits(double moveTime) const { return time + moveTime < limit; }
  };
  /// Calls `visit` for each state reached by one collective other than a
  /// permute.
  void forEachMove(const State &state, const MoveLimits &limits,
                   Visit visit) const;
  /// The same for permutes.
  void forEachPermute(const State &state, const MoveLimits &limits,
                      Visit visit) const;

  /// Whether a collective may be slower than several over parts of its group.
  bool mayTakeApart() const;

  /// The axes that span the groups of a permute between two states.
  AxisList getPermuteAxes(const State &from, const State &to) const;

  /// The dimension of the tensor for dimension `dim` of states.
  unsigned getTensorDim(unsigned dim) const {
    return dim < tensorDims.size() ? tensorDims[dim] : dim;
  }

private:
  friend class MoveGenerator;
  friend class ReshardBound;

  void chooseDims(const Sharding &from, const Sharding &to,
                  llvm::ArrayRef<int64_t> tensorShape);

  void addParts(const Sharding &from, const Sharding &to, Cuts cuts);
  Parts expand(llvm::ArrayRef<Part> list) const;
  void relate();
  void setRates();
  Part find(const AxisRef &ref) const;
  int64_t numShards(llvm::ArrayRef<Part> parts) const;
  /// Appends parts and joins adjacent ones.
  void append(Parts &list, llvm::ArrayRef<Part> more) const;
  uint64_t getChanged(const State &from, const State &to) const;
  static uint64_t getChanged(const Parts &from, const Parts &to);
  llvm::ArrayRef<LinkSpan> spansOf(uint64_t mask) const;
  double getTime(CollectiveKind kind, int64_t size,
                 llvm::ArrayRef<LinkSpan> spans) const;

  static constexpr Part kNone = 0xff;

  const Mesh &mesh;
  const MeshLinks &links;
  /// The dimensions of the tensor that states have, ascending, and their sizes.
  llvm::SmallVector<unsigned, 8> tensorDims;
  llvm::SmallVector<int64_t, 8> shape;
  /// Elements along the other dimensions, which are never split.
  int64_t otherElements = 1;
  size_t tensorRank;
  int64_t elementBytes;
  bool valid = true;

  std::vector<AxisRef> parts;
  /// Bits of the parts that cannot be combined with each part.
  std::vector<uint64_t> conflicts;
  /// Bits of the parts that are within each part.
  std::vector<uint64_t> inside;
  /// The part that the adjacent parts a and b form, or kNone, at a * number of
  /// parts + b.
  std::vector<Part> joined;
  /// Ways to split each part in two.
  std::vector<llvm::SmallVector<std::pair<Part, Part>, 2>> splits;
  /// The finest parts of each part; the part itself if the splits of its axis
  /// do not nest.
  std::vector<Parts> atoms;
  /// The least and the greatest latency of any link.
  double latency = 0, maxLatency = 0;
  /// The greatest bandwidth of any link, per level.
  llvm::SmallVector<double, 4> levelRates;
  /// The most bytes per second that a device receives in any collective.
  double getBandwidth() const;
  Part join(Part a, Part b) const { return joined[a * parts.size() + b]; }

  /// Link spans by the bits of a group's parts.
  mutable llvm::DenseMap<uint64_t, LinkSpans> spans;
};

/// Hashes a state.
size_t hashState(const ReshardSpace::State &state);

} // namespace tessera

#endif // TESSERA_LIB_RESHARD_RESHARDSPACE_H
