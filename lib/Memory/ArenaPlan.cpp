//===- ArenaPlan.cpp - Offsets for blocks with lifetimes ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dynamic storage allocation, which is NP-complete (M. R. Garey, D. S. Johnson:
// Computers and Intractability, 1979, problem SR2). Uses best fit over four
// orders of the blocks. The first order, largest block first, is "greedy by
// size" (Y. Pisarchyk, J. Lee: Efficient Memory Management for Deep Neural Net
// Inference, 2020). Four blocks, placed in the order A, C, B, D of their sizes:
//
//     block  bytes  steps             0           192 256     384 bytes
//     A        256  0 to 1    step 0  AAAAAAAAAAAAAAAA
//     B        128  1 to 2    step 1  AAAAAAAAAAAAAAAABBBBBBBB
//     C        192  2 to 3    step 2  CCCCCCCCCCCCDDDDBBBBBBBB
//     D         64  2 to 3    step 3  CCCCCCCCCCCCDDDD
//
// B fits neither next to A in step 1 nor next to C in step 2, so it is placed
// after both, at 256. D fits in the gap from 192 to 256. The arena has 384
// bytes, which is the lower bound: the live bytes of steps 1 and 2. So no other
// order is tried.
//
//===----------------------------------------------------------------------===//

#include "tessera/Memory/ArenaPlan.h"
#include "OccupiedRanges.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace tessera;
using llvm::createStringError;
using llvm::Error;

Error ArenaProblem::check() const {
  if (alignment < 1)
    return createStringError("expects an alignment of at least 1 but got " +
                             std::to_string(alignment));
  for (auto [i, block] : llvm::enumerate(blocks)) {
    if (block.bytes < 0)
      return createStringError("expects bytes of block " + std::to_string(i) +
                               " not to be negative but got " +
                               std::to_string(block.bytes));
    if (block.begin > block.end)
      return createStringError("expects block " + std::to_string(i) +
                               " to end no earlier than it begins but got " +
                               std::to_string(block.begin) + " to " +
                               std::to_string(block.end));
  }
  return Error::success();
}

int64_t ArenaProblem::lowerBound(int64_t *step) const {
  // Sweep over the steps. A block that ends in step 3 is freed in step 4, and
  // sorts before blocks that begin there, so that the two do not add up.
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

/// Fails if two blocks are live at one time and share bytes. A sweep line over
/// time (M. I. Shamos, D. Hoey: Geometric Intersection Problems, 1976): blocks
/// already live share no bytes, so a block that begins overlaps one of its two
/// neighbours by address, or none.
static Error findOverlap(llvm::ArrayRef<ArenaBlock> blocks,
                         llvm::ArrayRef<int64_t> offsets) {
  llvm::SmallVector<unsigned> byBegin, byEnd;
  for (unsigned i = 0; i < blocks.size(); ++i)
    if (blocks[i].bytes > 0)
      byBegin.push_back(i);
  byEnd = byBegin;
  llvm::sort(byBegin, [&](unsigned a, unsigned b) {
    return std::tie(blocks[a].begin, a) < std::tie(blocks[b].begin, b);
  });
  llvm::sort(byEnd, [&](unsigned a, unsigned b) {
    return std::tie(blocks[a].end, a) < std::tie(blocks[b].end, b);
  });
  auto fail = [](unsigned a, unsigned b) {
    return createStringError("blocks " + std::to_string(std::min(a, b)) +
                             " and " + std::to_string(std::max(a, b)) +
                             " overlap");
  };
  std::map<int64_t, unsigned> live;
  const unsigned *ended = byEnd.begin();
  for (unsigned i : byBegin) {
    // Blocks that ended before this one begins have begun before it, too.
    for (; blocks[*ended].end < blocks[i].begin; ++ended)
      live.erase(offsets[*ended]);
    auto next = live.lower_bound(offsets[i]);
    if (next != live.end() && next->first < offsets[i] + blocks[i].bytes)
      return fail(i, next->second);
    if (next != live.begin()) {
      auto [offset, previous] = *std::prev(next);
      if (offsets[i] < offset + blocks[previous].bytes)
        return fail(i, previous);
    }
    live[offsets[i]] = i;
  }
  return Error::success();
}

Error ArenaPlan::verify(const ArenaProblem &problem) const {
  llvm::ArrayRef<ArenaBlock> blocks = problem.blocks;
  if (offsets.size() != blocks.size())
    return createStringError("expects an offset for each block");
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (offsets[i] < 0 || offsets[i] % problem.alignment)
      return createStringError("block " + std::to_string(i) + " is at " +
                               std::to_string(offsets[i]));
    if (offsets[i] + blocks[i].bytes > bytes)
      return createStringError("block " + std::to_string(i) +
                               " is outside the arena");
  }
  return findOverlap(blocks, offsets);
}

/// The lifetimes of blocks, counted in the steps in which some block begins
/// (coordinate compression). There are at most as many such steps as blocks,
/// and two blocks are live together if and only if they share one. In the
/// example above these are the steps 0, 1 and 2, and D lives only in the third.
namespace {
struct Lifetimes {
  explicit Lifetimes(llvm::ArrayRef<ArenaBlock> blocks);
  llvm::SmallVector<unsigned> first, last;
  unsigned numSteps = 0;
};
} // namespace

Lifetimes::Lifetimes(llvm::ArrayRef<ArenaBlock> blocks) {
  llvm::SmallVector<int64_t> begins;
  for (const ArenaBlock &block : blocks)
    begins.push_back(block.begin);
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  numSteps = begins.size();
  for (const ArenaBlock &block : blocks) {
    first.push_back(llvm::lower_bound(begins, block.begin) - begins.begin());
    last.push_back(llvm::upper_bound(begins, block.end) - begins.begin() - 1);
  }
}

/// Best fit: assigns offsets to blocks in this order, each in the smallest gap
/// that it fits. If that takes `limit` bytes or more, returns no plan, and sets
/// `refused` to the position in the order of the block that does not fit.
static std::optional<ArenaPlan> placeInOrder(const ArenaProblem &problem,
                                             const Lifetimes &lifetimes,
                                             llvm::ArrayRef<unsigned> order,
                                             int64_t limit, size_t &refused) {
  ArenaPlan plan;
  plan.offsets.resize(problem.blocks.size(), 0);
  OccupiedRanges taken(lifetimes.numSteps);
  for (auto [position, number] : llvm::enumerate(order)) {
    int64_t bytes = problem.blocks[number].bytes;
    unsigned first = lifetimes.first[number], last = lifetimes.last[number];
    int64_t offset = taken.findGap(first, last, bytes);
    int64_t end = llvm::alignTo(offset + bytes, problem.alignment);
    if (end >= limit) {
      refused = position;
      return std::nullopt;
    }
    taken.insert(first, last, {offset, end});
    plan.offsets[number] = offset;
    plan.bytes = std::max(plan.bytes, end);
  }
  return plan;
}

namespace {
/// The best plan so far, and its order.
struct Placement {
  const ArenaProblem &problem;
  Lifetimes lifetimes;
  ArenaPlan plan;
  llvm::SmallVector<unsigned> order;

  explicit Placement(const ArenaProblem &problem)
      : problem(problem), lifetimes(problem.blocks) {
    plan.bytes = INT64_MAX;
  }
  /// Takes the order if it gives a smaller arena; else returns the position of
  /// the block at which the arena is no longer smaller.
  std::optional<size_t> tryOrder(llvm::ArrayRef<unsigned> tried);
  void repair(double enough);
};
} // namespace

std::optional<size_t> Placement::tryOrder(llvm::ArrayRef<unsigned> tried) {
  size_t refused = 0;
  std::optional<ArenaPlan> made =
      placeInOrder(problem, lifetimes, tried, plan.bytes, refused);
  if (!made)
    return refused;
  plan = std::move(*made);
  order.assign(tried.begin(), tried.end());
  return std::nullopt;
}

/// An arena of more than kMuch times the peak of the live bytes is worth a
/// search, which ends at kEnough times the peak.
static constexpr double kMuch = 1.02, kEnough = 1.005;

/// Maximum number of blocks placed by all orders of a search together.
static constexpr size_t kMaxPlaced = 200'000;

/// Local search over orders (move to front): a block that finds no gap is
/// placed before all others, until the arena has at most `enough` bytes or
/// enough blocks were placed.
void Placement::repair(double enough) {
  llvm::SmallVector<unsigned> tried(order);
  for (size_t placed = 0; placed<kMaxPlaced &&double(plan.bytes)> enough;) {
    std::optional<size_t> refused = tryOrder(tried);
    placed += refused.value_or(tried.size()) + 1;
    if (!refused)
      continue;
    auto *from = tried.begin() + *refused;
    std::rotate(tried.begin(), from, from + 1);
  }
}

ArenaPlan tessera::planArena(const ArenaProblem &problem, bool searches) {
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
  Placement best(problem);
  auto tryOrder = [&](auto before) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, blocks.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return before(a, b) || (!before(b, a) && a < b);
    });
    best.tryOrder(order);
  };
  // No order is the best for all problems.
  int64_t bound = problem.lowerBound();
  tryOrder(bySize);
  if (best.plan.bytes > bound)
    tryOrder(byArea);
  if (best.plan.bytes > bound)
    tryOrder(byTime);
  if (best.plan.bytes > bound)
    tryOrder(byLength);
  if (searches && double(best.plan.bytes) > kMuch * double(bound))
    best.repair(kEnough * double(bound));
  return std::move(best.plan);
}
