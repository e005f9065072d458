//===- ArenaPlan.cpp - Places for blocks with lifetimes -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Memory/ArenaPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>

using namespace tessera;

std::optional<std::string> ArenaProblem::check() const {
  if (alignment < 1)
    return "expects an alignment of at least 1 but got " +
           std::to_string(alignment);
  for (auto [i, block] : llvm::enumerate(blocks)) {
    if (block.bytes < 0)
      return "expects bytes of block " + std::to_string(i) +
             " not to be negative but got " + std::to_string(block.bytes);
    if (block.begin > block.end)
      return "expects block " + std::to_string(i) +
             " to end no earlier than it begins but got " +
             std::to_string(block.begin) + " to " + std::to_string(block.end);
  }
  return std::nullopt;
}

int64_t ArenaProblem::lowerBound(int64_t *step) const {
  // Where something ends, it is gone one step later.
  struct Event {
    int64_t step, bytes;
  };
  llvm::SmallVector<Event> events;
  for (const ArenaBlock &block : blocks) {
    int64_t bytes = llvm::alignTo(block.bytes, alignment);
    events.push_back({block.begin, bytes});
    events.push_back({block.end + 1, -bytes});
  }
  llvm::sort(events, [](const Event &a, const Event &b) {
    return std::tie(a.step, a.bytes) < std::tie(b.step, b.bytes);
  });
  int64_t live = 0, most = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    live += events[i].bytes;
    bool isLast =
        i + 1 == events.size() || events[i + 1].step != events[i].step;
    if (isLast && live > most) {
      most = live;
      if (step)
        *step = events[i].step;
    }
  }
  return most;
}

std::optional<std::string>
ArenaPlan::verify(const ArenaProblem &problem) const {
  llvm::ArrayRef<ArenaBlock> blocks = problem.blocks;
  if (offsets.size() != blocks.size())
    return "expects an offset for each block";
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] % problem.alignment)
      return "block " + std::to_string(i) + " lies at " +
             std::to_string(offsets[i]);
    if (offsets[i] + blocks[i].bytes > bytes)
      return "block " + std::to_string(i) + " lies outside the arena";
    for (size_t j = 0; j < i; ++j)
      if (blocks[i].livesWith(blocks[j]) &&
          offsets[i] < offsets[j] + blocks[j].bytes &&
          offsets[j] < offsets[i] + blocks[i].bytes)
        return "blocks " + std::to_string(j) + " and " + std::to_string(i) +
               " overlap";
  }
  return std::nullopt;
}

/// Places blocks in the given order, each into the tightest gap that it fits.
static ArenaPlan placeInOrder(const ArenaProblem &problem,
                              llvm::ArrayRef<unsigned> order) {
  ArenaPlan plan;
  plan.offsets.resize(problem.blocks.size(), 0);
  // Placed blocks by offset.
  llvm::SmallVector<unsigned> placed;
  for (unsigned number : order) {
    const ArenaBlock &block = problem.blocks[number];
    int64_t end = 0, best = -1, bestGap = 0;
    for (unsigned other : placed) {
      if (!problem.blocks[other].livesWith(block))
        continue;
      int64_t gap = plan.offsets[other] - end;
      if (gap >= block.bytes && (best < 0 || gap < bestGap)) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, int64_t(llvm::alignTo(plan.offsets[other] +
                                                    problem.blocks[other].bytes,
                                                problem.alignment)));
    }
    plan.offsets[number] = best < 0 ? end : best;
    plan.bytes = std::max(
        plan.bytes, int64_t(llvm::alignTo(plan.offsets[number] + block.bytes,
                                          problem.alignment)));
    auto *at = llvm::lower_bound(placed, number, [&](unsigned a, unsigned b) {
      return plan.offsets[a] < plan.offsets[b];
    });
    placed.insert(at, number);
  }
  return plan;
}

ArenaPlan tessera::planArena(const ArenaProblem &problem) {
  llvm::ArrayRef<ArenaBlock> blocks = problem.blocks;
  auto area = [&](unsigned i) {
    return double(blocks[i].bytes) *
           double(blocks[i].end - blocks[i].begin + 1);
  };
  auto bySize = [&](unsigned a, unsigned b) {
    return blocks[a].bytes > blocks[b].bytes;
  };
  auto byArea = [&](unsigned a, unsigned b) { return area(a) > area(b); };
  auto byTime = [&](unsigned a, unsigned b) {
    return blocks[a].begin < blocks[b].begin;
  };
  auto byLength = [&](unsigned a, unsigned b) {
    return blocks[a].end - blocks[a].begin > blocks[b].end - blocks[b].begin;
  };
  std::optional<ArenaPlan> best;
  auto tryOrder = [&](auto before) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, blocks.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return before(a, b) || (!before(b, a) && a < b);
    });
    ArenaPlan plan = placeInOrder(problem, order);
    if (!best || plan.bytes < best->bytes)
      best = plan;
  };
  int64_t bound = problem.lowerBound();
  tryOrder(bySize);
  if (best->bytes > bound)
    tryOrder(byArea);
  if (best->bytes > bound)
    tryOrder(byTime);
  if (best->bytes > bound)
    tryOrder(byLength);
  return *best;
}
