//===- Placements.h - Blocks of a dimension per device ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A placement splits a dimension into equal blocks and maps each device to the
// block that it holds. It is a plain list of block numbers, not of axes. So it
// follows any transformation of a value exactly, in any order of axes, and
// equal distributions are one placement. Placements are interned and results
// are cached; a program has few.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_PLACEMENTS_H
#define TESSERA_LIB_PROOF_PLACEMENTS_H

#include "tessera/Interfaces/Axes.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <vector>

namespace tessera {

/// Splits mesh axes at the boundaries of `axes`: each sub-axis is within or
/// outside of each entry. An axis whose entries have no common refinement stays
/// whole. Sorted.
AxisList refineAxes(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);

/// The groups of devices that differ only along some axes.
struct AxisGroups {
  AxisList axes;
  int64_t size = 1;
  /// Position of each device in its group.
  std::vector<int32_t> index;
  /// Devices, group by group, in order of position.
  std::vector<int32_t> members;
};

class Placements {
public:
  using Id = unsigned;
  /// One block that every device holds.
  static constexpr Id kWhole = 0;

  explicit Placements(const Mesh &mesh);

  const Mesh &getMesh() const { return mesh; }
  int64_t getNumDevices() const { return numDevices; }
  /// Number of blocks that the dimension is split into.
  int64_t getCount(Id id) const { return entries[id].count; }
  /// Block of each device.
  llvm::ArrayRef<int32_t> getBlocks(Id id) const { return *entries[id].blocks; }

  const AxisGroups &getGroups(llvm::ArrayRef<AxisRef> axes);

  /// Any list of blocks; `mayDependOn` has all axes along which it may vary.
  Id intern(int64_t count, std::vector<int32_t> blocks,
            llvm::ArrayRef<AxisRef> mayDependOn);
  /// A dimension that is sharded over `axes`.
  Id get(llvm::ArrayRef<AxisRef> axes);
  /// Each device keeps the chunk of its block that has its position in the
  /// group.
  Id slice(Id id, llvm::ArrayRef<AxisRef> axes);
  /// Concatenates the blocks of a group in order; none if they are not a
  /// contiguous run that starts at a multiple of the group's size.
  std::optional<Id> gather(Id id, llvm::ArrayRef<AxisRef> axes);
  /// The same if only the first `numTrue` blocks matter: a group without a
  /// contiguous run becomes a block after these, if all others are held.
  std::optional<Id> gatherTrue(Id id, llvm::ArrayRef<AxisRef> axes,
                               int64_t numTrue);
  /// Device d gets the block of device sources[d], within groups of `axes`.
  Id permute(Id id, llvm::ArrayRef<int32_t> sources,
             llvm::ArrayRef<AxisRef> axes);
  /// Blocks of `size` elements that begin at these positions; none if a
  /// position is not a multiple of it, or `size` is 0.
  std::optional<Id> findBlocks(llvm::ArrayRef<int64_t> positions, int64_t size);
  /// The block numbers (block / below) % count.
  Id getDigit(Id id, int64_t below, int64_t count);
  /// Splits the blocks of `major` further by `minor`.
  Id combine(Id major, Id minor);

  /// True if each device that needs one of the first `numTrue` blocks of
  /// `needed` has it.
  bool holdsTrue(Id id, Id needed, int64_t numTrue) const;
  /// True if all devices of each group hold the same block.
  bool isEqualWithin(Id id, llvm::ArrayRef<AxisRef> axes);
  /// The axes whose groups hold each block exactly once; none if there are
  /// none.
  std::optional<AxisList> getAxes(Id id);

private:
  struct Entry {
    int64_t count;
    /// Points into `interned`.
    const std::vector<int32_t> *blocks;
    AxisList mayDependOn;
  };
  unsigned getAxesId(llvm::ArrayRef<AxisRef> axes);
  /// Adds the sub-axes of `axis` along which the blocks differ.
  void addDecisive(Id id, const AxisRef &axis, AxisList &parts);

  Mesh mesh;
  int64_t numDevices;
  std::vector<Entry> entries;
  std::map<std::pair<int64_t, std::vector<int32_t>>, Id> interned;
  std::map<std::vector<AxisRef>, unsigned> axesIds;
  /// Groups by axes number; never moved.
  std::vector<std::unique_ptr<AxisGroups>> groups;
  using Key = std::pair<unsigned, unsigned>;
  llvm::DenseMap<Key, Id> sliced, combined;
  llvm::DenseMap<Key, std::optional<Id>> gathered;
  llvm::DenseMap<Key, bool> equalWithin;
  llvm::DenseMap<Id, std::optional<AxisList>> axesOf;
};

} // namespace tessera

#endif // TESSERA_LIB_PROOF_PLACEMENTS_H
