//===- Placements.cpp - Blocks of a dimension per device ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placements.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace tessera;
using llvm::ArrayRef;

AxisList tessera::refineAxes(const Mesh &mesh, ArrayRef<AxisRef> axes) {
  // The boundaries of the sub-axes of each axis, as sizes of their major side.
  std::map<unsigned, std::vector<int64_t>> boundaries;
  for (const AxisRef &ref : axes) {
    boundaries[ref.axis].push_back(ref.preSize);
    boundaries[ref.axis].push_back(ref.end());
  }
  AxisList parts;
  for (auto &[axis, list] : boundaries) {
    llvm::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    AxisList mine;
    bool nests = true;
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      nests &= list[i + 1] % list[i] == 0;
      AxisRef part{axis, list[i], list[i + 1] / list[i]};
      bool used = llvm::any_of(
          axes, [&](const AxisRef &ref) { return ref.overlaps(part); });
      if (used)
        mine.push_back(part);
    }
    if (!nests)
      mine.assign(1, mesh.fullAxis(axis));
    parts.append(mine);
  }
  return parts;
}

Placements::Placements(const Mesh &mesh)
    : mesh(mesh), numDevices(mesh.numDevices()) {
  intern(1, std::vector<int32_t>(numDevices, 0), {});
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

unsigned Placements::getAxesId(ArrayRef<AxisRef> axes) {
  auto [it, isNew] = axesIds.try_emplace(
      std::vector<AxisRef>(axes.begin(), axes.end()), groups.size());
  if (!isNew)
    return it->second;
  auto made = std::make_unique<AxisGroups>();
  made->axes.assign(axes.begin(), axes.end());
  made->size = numShards(axes);
  made->index.resize(numDevices);
  made->members.reserve(numDevices);
  for (int64_t device = 0; device < numDevices; ++device) {
    made->index[device] = mesh.shardIndex(device, axes);
    if (made->index[device] == 0)
      for (int64_t member : mesh.group(device, axes))
        made->members.push_back(member);
  }
  groups.push_back(std::move(made));
  return it->second;
}

const AxisGroups &Placements::getGroups(ArrayRef<AxisRef> axes) {
  return *groups[getAxesId(axes)];
}

Placements::Id Placements::intern(int64_t count, std::vector<int32_t> blocks,
                                  ArrayRef<AxisRef> mayDependOn) {
  auto [it, isNew] =
      interned.try_emplace({count, std::move(blocks)}, entries.size());
  if (isNew)
    entries.push_back({count, &it->first.second,
                       AxisList(mayDependOn.begin(), mayDependOn.end())});
  return it->second;
}

static AxisList unite(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  AxisList all(a.begin(), a.end());
  all.append(b.begin(), b.end());
  return all;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

Placements::Id Placements::get(ArrayRef<AxisRef> axes) {
  return slice(kWhole, axes);
}

Placements::Id Placements::slice(Id id, ArrayRef<AxisRef> axes) {
  if (axes.empty())
    return id;
  unsigned axesId = getAxesId(axes);
  auto [it, isNew] = sliced.try_emplace(Key(id, axesId), 0);
  if (!isNew)
    return it->second;
  const AxisGroups &g = *groups[axesId];
  std::vector<int32_t> blocks(getBlocks(id));
  for (int64_t d = 0; d < numDevices; ++d)
    blocks[d] = blocks[d] * g.size + g.index[d];
  return it->second = intern(getCount(id) * g.size, std::move(blocks),
                             unite(entries[id].mayDependOn, axes));
}

std::optional<Placements::Id> Placements::gather(Id id,
                                                 ArrayRef<AxisRef> axes) {
  unsigned axesId = getAxesId(axes);
  auto [it, isNew] = gathered.try_emplace(Key(id, axesId), std::nullopt);
  if (!isNew)
    return it->second;
  const AxisGroups &g = *groups[axesId];
  std::vector<int32_t> blocks(getBlocks(id));
  if (getCount(id) % g.size != 0)
    return std::nullopt;
  for (int64_t first = 0; first < numDevices; first += g.size) {
    int32_t start = blocks[g.members[first]];
    for (int64_t i = 0; i < g.size; ++i)
      if (start % g.size != 0 || blocks[g.members[first + i]] != start + i)
        return std::nullopt;
  }
  for (int32_t &block : blocks)
    block /= g.size;
  return it->second = intern(getCount(id) / g.size, std::move(blocks),
                             unite(entries[id].mayDependOn, axes));
}

std::optional<Placements::Id>
Placements::gatherTrue(Id id, ArrayRef<AxisRef> axes, int64_t numTrue) {
  const AxisGroups &g = getGroups(axes);
  if (numTrue > getCount(id))
    return std::nullopt;
  int64_t count = llvm::divideCeil(numTrue, g.size);
  llvm::SmallBitVector held(count + 1);
  std::vector<int32_t> blocks(getBlocks(id)), gathered(numDevices);
  for (int64_t first = 0; first < numDevices; first += g.size) {
    int64_t start = blocks[g.members[first]];
    bool isRun = start % g.size == 0 && start < numTrue;
    for (int64_t i = 0; i < g.size && start + i < numTrue; ++i)
      isRun &= blocks[g.members[first + i]] == start + i;
    // Any block past the end serves as the first block that is all padding.
    int64_t block = isRun ? start / g.size : count;
    held.set(block);
    for (int64_t i = 0; i < g.size; ++i)
      gathered[g.members[first + i]] = block;
  }
  bool hasPadding = held.test(count);
  if (static_cast<int64_t>(held.count()) != count + hasPadding)
    return std::nullopt;
  return intern(count + hasPadding, std::move(gathered),
                unite(entries[id].mayDependOn, axes));
}

Placements::Id Placements::permute(Id id, ArrayRef<int32_t> sources,
                                   ArrayRef<AxisRef> axes) {
  std::vector<int32_t> blocks(numDevices);
  for (int64_t d = 0; d < numDevices; ++d)
    blocks[d] = getBlocks(id)[sources[d]];
  return intern(getCount(id), std::move(blocks),
                unite(entries[id].mayDependOn, axes));
}

std::optional<Placements::Id>
Placements::findBlocks(ArrayRef<int64_t> positions, int64_t size) {
  std::vector<int32_t> blocks(positions.size());
  int64_t count = 1;
  for (auto [block, position] : llvm::zip_equal(blocks, positions)) {
    if (position < 0 || size == 0 || position % size != 0)
      return std::nullopt;
    block = position / size;
    count = std::max<int64_t>(count, block + 1);
  }
  AxisList all;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
    if (mesh.sizes[axis] > 1)
      all.push_back(mesh.fullAxis(axis));
  return intern(count, std::move(blocks), all);
}

Placements::Id Placements::getDigit(Id id, int64_t below, int64_t count) {
  std::vector<int32_t> blocks(getBlocks(id));
  for (int32_t &block : blocks)
    block = block / below % count;
  AxisList axes = entries[id].mayDependOn;
  return intern(count, std::move(blocks), axes);
}

Placements::Id Placements::combine(Id major, Id minor) {
  if (minor == kWhole)
    return major;
  auto [it, isNew] = combined.try_emplace(Key(major, minor), 0);
  if (!isNew)
    return it->second;
  std::vector<int32_t> blocks(getBlocks(major));
  for (int64_t d = 0; d < numDevices; ++d)
    blocks[d] = blocks[d] * getCount(minor) + getBlocks(minor)[d];
  return it->second = intern(
             getCount(major) * getCount(minor), std::move(blocks),
             unite(entries[major].mayDependOn, entries[minor].mayDependOn));
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool Placements::holdsTrue(Id id, Id needed, int64_t numTrue) const {
  return llvm::all_of_zip(getBlocks(id), getBlocks(needed),
                          [&](int32_t has, int32_t needs) {
                            return has == needs || needs >= numTrue;
                          });
}

bool Placements::isEqualWithin(Id id, ArrayRef<AxisRef> axes) {
  if (id == kWhole || axes.empty())
    return true;
  unsigned axesId = getAxesId(axes);
  auto [it, isNew] = equalWithin.try_emplace(Key(id, axesId), true);
  if (!isNew)
    return it->second;
  const AxisGroups &g = *groups[axesId];
  ArrayRef<int32_t> blocks = getBlocks(id);
  for (int64_t first = 0; first < numDevices && it->second; first += g.size)
    for (int64_t i = 1; i < g.size; ++i)
      it->second &= blocks[g.members[first]] == blocks[g.members[first + i]];
  return it->second;
}

void Placements::addDecisive(Id id, const AxisRef &axis, AxisList &parts) {
  if (axis.size == 1 || isEqualWithin(id, axis))
    return;
  for (int64_t size = axis.size / 2; size > 1; --size)
    for (int64_t pre = axis.preSize; pre * size <= axis.end(); ++pre) {
      if (pre % axis.preSize != 0 || axis.end() % (pre * size) != 0 ||
          !isEqualWithin(id, AxisRef{axis.axis, pre, size}))
        continue;
      int64_t post = pre * size;
      addDecisive(id, {axis.axis, axis.preSize, pre / axis.preSize}, parts);
      addDecisive(id, {axis.axis, post, axis.end() / post}, parts);
      return;
    }
  parts.push_back(axis);
}

std::optional<AxisList> Placements::getAxes(Id id) {
  auto [it, isNew] = axesOf.try_emplace(id, std::nullopt);
  if (!isNew)
    return it->second;
  AxisList parts;
  for (const AxisRef &part : refineAxes(mesh, entries[id].mayDependOn))
    if (!isEqualWithin(id, part))
      parts.push_back(part);
  int64_t count = getCount(id);
  // Values found from positions, or permuted, may vary only along other
  // sub-axes of these axes.
  if (numShards(parts) != count) {
    llvm::SmallVector<bool> isPart(mesh.sizes.size(), false);
    for (const AxisRef &part : parts)
      isPart[part.axis] = true;
    parts.clear();
    for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
      if (isPart[axis])
        addDecisive(id, mesh.fullAxis(axis), parts);
  }
  if (numShards(parts) != count)
    return std::nullopt;
  const AxisGroups &g = getGroups(parts);
  for (int64_t first = 0; first < numDevices; first += g.size) {
    llvm::SmallBitVector held(count);
    for (int64_t i = 0; i < g.size; ++i)
      held.set(getBlocks(id)[g.members[first + i]]);
    if (!held.all())
      return std::nullopt;
  }
  return axesOf[id] = mergeAdjacent(parts);
}
