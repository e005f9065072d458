//===- ReplicaCheck.cpp - Comparing replicas of state ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ReplicaCheck.h. Each rank hashes its blocks, and rank 0 compares the
// hashes of all ranks.
//
//===----------------------------------------------------------------------===//

#include "ReplicaCheck.h"

#include "data/ShardRuns.h"
#include "nodes/Mirror.h"
#include "support/Hash.h"

#include <algorithm>
#include <map>

using namespace tessera::rt;

std::vector<size_t> tessera::rt::findOdd(const std::vector<uint64_t> &hashes) {
  std::vector<size_t> odd;
  for (uint64_t candidate : hashes) {
    odd.clear();
    for (size_t i = 0; i < hashes.size(); ++i)
      if (hashes[i] != candidate)
        odd.push_back(i);
    if (odd.size() * 2 < hashes.size())
      return odd;
  }
  odd.clear();
  for (size_t i = 0; i < hashes.size(); ++i)
    odd.push_back(i);
  return odd;
}

ReplicaCheck::ReplicaCheck(tessera_rt_context *ctx, const Manifest &manifest)
    : ctx(ctx) {
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const Value &value = manifest.arguments[i];
    if (value.role == Role::Param || value.role == Role::State)
      addGroups(value, i);
  }
  for (size_t i = 0; i < manifest.results.size(); ++i) {
    const Value &value = manifest.results[i];
    if (value.name == "loss" || value.name == "grad_norm")
      addGroups(value, manifest.arguments.size() + i);
  }
}

void ReplicaCheck::addGroups(const Value &value, size_t number) {
  std::map<std::vector<int64_t>, std::vector<int>> holders;
  for (int rank = 0; rank < ctx->ranks; ++rank)
    if (value.isOn(rank))
      holders[blockIndices(value, rank)].push_back(rank);
  if (value.isOn(ctx->rank))
    allBytes += value.bytes;
  for (auto &[block, ranks] : holders) {
    if (ranks.size() < 2)
      continue;
    if (std::find(ranks.begin(), ranks.end(), ctx->rank) != ranks.end())
      comparedBytes += value.bytes;
    groups.push_back({&value, number, std::move(ranks)});
  }
}

std::string ReplicaCheck::describe() const {
  return "replicas of " + readableBytes(comparedBytes) + " of " +
         readableBytes(allBytes) +
         " of a rank's parameters and state are compared" +
         (comparedBytes < allBytes ? "; the rest is sharded and has none" : "");
}

/// "rank 1", "ranks 0, 1 and 3"
static std::string describeRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == ranks.size() ? " and "
                                     : ", ") +
            std::to_string(ranks[i]);
  return text;
}

/// Describes a difference between the ranks of a group.
static std::string describeDifference(const Value &value,
                                      const std::vector<int> &ranks,
                                      const std::vector<size_t> &odd,
                                      int64_t step) {
  std::vector<int> differing;
  for (size_t i : odd)
    differing.push_back(ranks[i]);
  std::string text =
      format("after step %lld '%s' ", (long long)step, value.name.c_str());
  if (odd.size() == ranks.size())
    return text + "differs between " + describeRanks(ranks) +
           ", which hold replicas of it; which one is right is not known";
  std::vector<int> equal;
  std::set_difference(ranks.begin(), ranks.end(), differing.begin(),
                      differing.end(), std::back_inserter(equal));
  return text + "on " + describeRanks(differing) + " is not what it is on " +
         describeRanks(equal) + ", which hold replicas of it";
}

Status ReplicaCheck::run(int64_t step) {
  std::vector<const Group *> own;
  std::vector<ArenaBlock> blocks;
  for (const Group &group : groups)
    if (std::binary_search(group.ranks.begin(), group.ranks.end(), ctx->rank)) {
      own.push_back(&group);
      blocks.push_back(group.value->blockOn(ctx->rank));
    }
  if (Status status = ctx->target->fetch(blocks))
    return status;
  uint64_t *hashes = ctx->memory.hashes(ctx->rank);
  ctx->pool->forEach(int64_t(own.size()), [&](int64_t i, int) {
    const ArenaBlock &block = blocks[size_t(i)];
    hashes[own[size_t(i)]->number] =
        xxh64(ctx->arena() + block.offset, size_t(block.bytes));
  });
  if (ctx->mirror) {
    int64_t bytes = ctx->memory.tables.values * int64_t(sizeof(uint64_t));
    if (Status status = ctx->mirror->put(0, hashes, bytes))
      return status;
    if (Status status = ctx->mirror->flush())
      return status;
  }
  if (Status status = barrier(ctx, BarrierStep))
    return status;
  // Rank 0 has the hashes of all ranks and reports a difference; the others
  // learn of it at the barrier, after which the hashes may change.
  if (ctx->rank == 0)
    if (Status status = compare(step))
      return status;
  return barrier(ctx, BarrierStep);
}

Status ReplicaCheck::compare(int64_t step) {
  for (const Group &group : groups) {
    std::vector<uint64_t> found;
    for (int rank : group.ranks)
      found.push_back(ctx->memory.hashes(rank)[group.number]);
    std::vector<size_t> odd = findOdd(found);
    if (odd.empty())
      continue;
    return fail(ctx, TESSERA_RT_INVALID,
                describeDifference(*group.value, group.ranks, odd, step));
  }
  return TESSERA_RT_OK;
}
