//===- Replicas.cpp - Parameters that several ranks share -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Replicas.h. Blocks that are consecutive in the arenas of the same ranks
// form one range, so that few mappings are needed. Only alignment padding
// separates them.
//
//===----------------------------------------------------------------------===//

#include "Replicas.h"

#include "PageWriter.h"
#include "ShardRuns.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unistd.h>

using namespace tessera::rt;

/// A process may have 65,530 mappings (vm.max_map_count).
static constexpr size_t maxMappings = 1 << 14;

static int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// True if a result is in the memory of the value, on a pp rank.
static bool hasResult(const Manifest &manifest, const Value &value,
                      size_t stage) {
  int64_t begin = value.offsets[stage];
  return std::any_of(manifest.results.begin(), manifest.results.end(),
                     [&](const Value &result) {
                       int64_t offset = result.offsets[stage];
                       return offset >= 0 && offset < begin + value.bytes &&
                              begin < offset + result.bytes;
                     });
}

static bool isConstant(const Manifest &manifest, const Value &value) {
  if (value.role != Role::Param || value.donate >= 0 || value.bytes == 0)
    return false;
  for (size_t stage = 0; stage < value.offsets.size(); ++stage)
    if (value.offsets[stage] >= 0 && hasResult(manifest, value, stage))
      return false;
  return true;
}

using RankSets = std::vector<std::vector<int>>;

/// Returns the sets of at least two ranks that have the same block of a value
/// at the same offset.
static RankSets findSets(const Value &value, int ranks) {
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::vector<int>> sets;
  for (int rank = 0; rank < ranks; ++rank)
    if (value.isOn(rank))
      sets[{value.offsetOn(rank), blockIndices(value, rank)}].push_back(rank);
  RankSets several;
  for (auto &entry : sets)
    if (entry.second.size() > 1)
      several.push_back(std::move(entry.second));
  return several;
}

/// Joins ranges of the same ranks that only alignment padding separates.
static void joinRanges(std::vector<ReplicatedPages> &ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ReplicatedPages &a, const ReplicatedPages &b) {
              return std::tie(a.ranks, a.range.begin) <
                     std::tie(b.ranks, b.range.begin);
            });
  std::vector<ReplicatedPages> joined;
  for (ReplicatedPages &next : ranges) {
    if (!joined.empty() && joined.back().ranks == next.ranks &&
        roundUp(joined.back().range.end, TESSERA_RT_ARENA_ALIGNMENT) ==
            next.range.begin)
      joined.back().range.end = next.range.end;
    else
      joined.push_back(std::move(next));
  }
  ranges = std::move(joined);
}

/// Keeps the whole pages of each range, and the largest ranges if there are too
/// many.
static void keepPages(std::vector<ReplicatedPages> &ranges, int64_t pageBytes) {
  for (ReplicatedPages &pages : ranges)
    pages.range = {roundUp(pages.range.begin, pageBytes),
                   pages.range.end / pageBytes * pageBytes};
  auto bytesOf = [](const ReplicatedPages &pages) {
    return pages.range.end - pages.range.begin;
  };
  std::sort(ranges.begin(), ranges.end(),
            [&](const ReplicatedPages &a, const ReplicatedPages &b) {
              return std::make_tuple(-bytesOf(a), a.range.begin, a.ranks) <
                     std::make_tuple(-bytesOf(b), b.range.begin, b.ranks);
            });
  size_t kept = 0, mappings = 0;
  while (kept < ranges.size() && bytesOf(ranges[kept]) > 0 &&
         mappings + ranges[kept].ranks.size() <= maxMappings)
    mappings += ranges[kept++].ranks.size();
  ranges.resize(kept);
}

std::vector<ReplicatedPages>
tessera::rt::findReplicatedPages(const Manifest &manifest, int64_t pageBytes) {
  std::vector<ReplicatedPages> ranges;
  if (pageBytes == 0)
    return ranges;
  // Many parameters have the same sharding.
  using Layout = std::pair<std::vector<std::vector<StridedAxis>>,
                           /*offsets, of a pipeline*/ std::vector<int64_t>>;
  std::vector<std::pair<Layout, RankSets>> known;
  for (const Value &value : manifest.arguments) {
    if (!isConstant(manifest, value))
      continue;
    bool isPipeline = value.offsets.size() > 1;
    Layout layout{value.sharding,
                  isPipeline ? value.offsets : std::vector<int64_t>()};
    auto it = std::find_if(known.begin(), known.end(), [&](const auto &entry) {
      return entry.first == layout;
    });
    if (it == known.end())
      it = known.insert(it, {layout, findSets(value, manifest.ranks)});
    for (const std::vector<int> &ranks : it->second) {
      int64_t begin = value.offsetOn(ranks.front());
      ranges.push_back({{begin, begin + value.bytes}, ranks});
    }
  }
  joinRanges(ranges);
  keepPages(ranges, pageBytes);
  std::sort(ranges.begin(), ranges.end(),
            [](const ReplicatedPages &a, const ReplicatedPages &b) {
              return std::tie(a.range.begin, a.ranks) <
                     std::tie(b.range.begin, b.ranks);
            });
  return ranges;
}

int64_t tessera::rt::findReplicaPageBytes(const std::string &nodes,
                                          const std::string &shmemHugePages) {
  constexpr int64_t hugePageBytes = int64_t(2) << 20;
  if (nodes.find_first_of("-,") != std::string::npos ||
      sysconf(_SC_PAGESIZE) != long(PagePlacer::pageBytes))
    return 0;
  return mayHaveHugePages(shmemHugePages) ? hugePageBytes
                                          : int64_t(PagePlacer::pageBytes);
}

int64_t tessera::rt::findReplicaPageBytes() {
  return findReplicaPageBytes(readSystemFile("/sys/devices/system/node/online"),
                              readSystemFile(hugePagesFile));
}
