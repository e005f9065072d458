//===- Buckets.cpp - Chooses which collectives to merge -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Collectives/Buckets.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

using namespace tessera;
using llvm::createStringError;
using llvm::Error;

//===----------------------------------------------------------------------===//
// Problem and plan
//===----------------------------------------------------------------------===//

Error BucketProblem::check() const {
  if (!getTime)
    return createStringError("expects the time of a collective");
  for (size_t i = 0; i < members.size(); ++i) {
    const BucketMember &member = members[i];
    std::string name = "member " + std::to_string(i);
    if (member.bytes < 0 || member.copyTime < 0)
      return createStringError("expects " + name +
                               " to have bytes and times of at least 0");
    if (member.lastNeeded >= static_cast<int>(i))
      return createStringError("expects " + name +
                               " to need only members before it but got " +
                               std::to_string(member.lastNeeded));
    if (i > 0 && member.ready < members[i - 1].ready)
      return createStringError(
          "expects members by the time at which they are ready but " + name +
          " is ready before the one in front of it");
  }
  return Error::success();
}

Error BucketProblem::checkBucket(size_t begin, size_t end) const {
  if (end - begin < 2)
    return Error::success();
  int64_t bytes = 0;
  for (size_t i = begin; i < end; ++i) {
    bytes += members[i].bytes;
    if (members[i].lastNeeded >= static_cast<int>(begin))
      return createStringError("one needs the result of another");
  }
  if (bytes > maxBytes)
    return createStringError("a bucket would have " + std::to_string(bytes) +
                             " bytes, at most " + std::to_string(maxBytes) +
                             " may be in one");
  if (keepsTooMuch(begin, end))
    return createStringError("what waits for the last one would keep " +
                             std::to_string(getKeptBytes(begin, end)) +
                             " bytes alive, at most " +
                             std::to_string(maxKeptBytes) + " may be");
  return Error::success();
}

double BucketProblem::getBucketTime(size_t begin, size_t end) const {
  int64_t bytes = 0;
  double copies = 0;
  for (size_t i = begin; i < end; ++i) {
    bytes += members[i].bytes;
    copies += members[i].copyTime;
  }
  return getTime(bytes) + (end - begin > 1 ? copies : 0);
}

Error BucketPlan::verify(const BucketProblem &problem) const {
  size_t begin = 0;
  double end = 0, total = 0;
  for (size_t size : sizes) {
    if (size == 0 || begin + size > problem.members.size())
      return createStringError("a bucket has no members, or those of another");
    if (Error error = problem.checkBucket(begin, begin + size))
      return error;
    double time = problem.getBucketTime(begin, begin + size);
    begin += size;
    end = std::max(end, problem.members[begin - 1].ready) + time;
    total += time;
  }
  if (begin != problem.members.size())
    return createStringError("a member is in no bucket");
  double tolerance = 1e-9 * std::max(end, total);
  if (std::abs(end - finish) > tolerance || std::abs(total - busy) > tolerance)
    return createStringError("the times are not those of the buckets");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Algorithm
//===----------------------------------------------------------------------===//

namespace {

/// A way to split the first members into buckets: its times, and the split of
/// fewer members that it extends.
struct Split {
  double finish = 0, busy = 0;
  size_t buckets = 0, begin = 0, previous = 0;
};

} // namespace

static constexpr size_t kMaxCuts = 64;

/// Keeps the Pareto-optimal splits in both times, sorted by `finish`.
static void keepBest(std::vector<Split> &splits) {
  std::stable_sort(splits.begin(), splits.end(),
                   [](const Split &a, const Split &b) {
                     return std::tie(a.finish, a.busy, a.buckets) <
                            std::tie(b.finish, b.busy, b.buckets);
                   });
  std::vector<Split> best;
  for (const Split &split : splits)
    if (best.empty() || split.busy < best.back().busy)
      best.push_back(split);
  if (best.size() > kMaxCuts)
    best.resize(kMaxCuts);
  splits = std::move(best);
}

/// Returns the best splits of the first `end` members into buckets. `splits`
/// has the best splits of fewer members.
static std::vector<Split> extend(const BucketProblem &problem,
                                 const std::vector<std::vector<Split>> &splits,
                                 size_t end) {
  std::vector<Split> result;
  const BucketMember &last = problem.members[end - 1];
  int64_t bytes = 0;
  double copies = 0;
  int lastNeeded = -1;
  for (size_t begin = end; begin-- > 0;) {
    const BucketMember &member = problem.members[begin];
    bytes += member.bytes;
    copies += member.copyTime;
    lastNeeded = std::max(lastNeeded, member.lastNeeded);
    bool isAlone = begin + 1 == end;
    if (!isAlone &&
        (bytes > problem.maxBytes || lastNeeded >= static_cast<int>(begin) ||
         problem.keepsTooMuch(begin, end)))
      break;
    double time = problem.getTime(bytes) + (isAlone ? 0 : copies);
    for (size_t i = 0; i < splits[begin].size(); ++i) {
      const Split &split = splits[begin][i];
      result.push_back({std::max(split.finish, last.ready) + time,
                        split.busy + time, split.buckets + 1, begin, i});
    }
  }
  keepBest(result);
  return result;
}

BucketPlan tessera::planBuckets(const BucketProblem &problem) {
  size_t count = problem.members.size();
  std::vector<std::vector<Split>> splits(count + 1);
  splits[0].push_back({});
  for (size_t end = 1; end <= count; ++end)
    splits[end] = extend(problem, splits, end);
  // Treats times that differ by rounding as equal.
  const std::vector<Split> &whole = splits[count];
  double latest = whole.front().finish * (1 + 1e-9);
  size_t chosen = 0;
  while (chosen + 1 < whole.size() && whole[chosen + 1].finish <= latest)
    ++chosen;
  BucketPlan plan;
  plan.finish = whole[chosen].finish;
  plan.busy = whole[chosen].busy;
  for (size_t end = count; end > 0;) {
    const Split &split = splits[end][chosen];
    plan.sizes.push_back(end - split.begin);
    end = split.begin;
    chosen = split.previous;
  }
  std::reverse(plan.sizes.begin(), plan.sizes.end());
  return plan;
}

std::vector<size_t> tessera::chooseTogether(const BucketProblem &problem) {
  llvm::ArrayRef<BucketMember> members = problem.members;
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::tie(members[a].copyTime, members[a].bytes, a) <
           std::tie(members[b].copyTime, members[b].bytes, b);
  });
  int64_t bytes = 0;
  double copies = 0, alone = 0, most = 0;
  size_t count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const BucketMember &member = members[order[i]];
    bytes += member.bytes;
    copies += member.copyTime;
    alone += problem.getTime(member.bytes);
    if (bytes > problem.maxBytes)
      break;
    // Treats times that differ by rounding as equal.
    double saved = alone - problem.getTime(bytes) - copies;
    if (i > 0 && saved > most + 1e-9 * alone) {
      most = saved;
      count = i + 1;
    }
  }
  order.resize(count);
  llvm::sort(order);
  return order;
}
