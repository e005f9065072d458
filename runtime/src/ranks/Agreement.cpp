//===- Agreement.cpp - Agreement of ranks before a run --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Agreement.h. Values are compared by a hash; the beginning of each is kept
// for the message.
//
//===----------------------------------------------------------------------===//

#include "Agreement.h"

#include "Context.h"
#include "nodes/Mirror.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

static void publish(RankBlock &block, const std::vector<Fact> &facts) {
  for (size_t i = 0; i < facts.size(); ++i) {
    const std::string &value = facts[i].value;
    SharedFact &shared = block.facts[i];
    shared.hash = hashBytes(value.data(), value.size());
    size_t length = std::min(value.size(), sizeof(shared.text) - 1);
    memcpy(shared.text, value.data(), length);
    shared.text[length] = 0;
  }
}

/// Compares this rank's facts with those of every `stride`-th rank after it,
/// up to `end`.
static Status compare(tessera_rt_context *ctx, const std::vector<Fact> &facts,
                      int stride, int end) {
  const RankBlock &mine = ctx->block();
  for (int rank = ctx->rank + stride; rank < end; rank += stride) {
    const RankBlock &theirs = ctx->memory.blocks[rank];
    for (size_t i = 0; i < facts.size(); ++i)
      if (theirs.facts[i].hash != mine.facts[i].hash)
        return fail(ctx, TESSERA_RT_MISMATCH,
                    format("all ranks expect the same %s, but rank %d has %s "
                           "and rank %d has %s",
                           facts[i].name.c_str(), ctx->rank, mine.facts[i].text,
                           rank, theirs.facts[i].text));
  }
  return TESSERA_RT_OK;
}

Status tessera::rt::agree(tessera_rt_context *ctx,
                          const std::vector<Fact> &facts) {
  if (facts.size() > maxFacts)
    return fail(ctx, TESSERA_RT_INVALID,
                format("expects at most %d facts to compare, but got %zu",
                       maxFacts, facts.size()));
  publish(ctx->block(), facts);
  const Placement &place = ctx->memory.place;
  bool isFirst = ctx->rank == place.firstRank();
  // Node 0 compares the facts of the other nodes' first ranks, which compare
  // those of their nodes.
  if (ctx->mirror && isFirst && place.node != 0) {
    if (Status status = ctx->mirror->put(
            0, ctx->block().facts, int64_t(facts.size() * sizeof(SharedFact))))
      return status;
    if (Status status = ctx->mirror->flush())
      return status;
  }
  if (Status status = barrier(ctx, BarrierAgreed))
    return status;
  if (isFirst)
    if (Status status = compare(ctx, facts, 1, place.endRank()))
      return status;
  if (ctx->rank == 0 && ctx->mirror)
    if (Status status = compare(ctx, facts, place.perNode, ctx->ranks))
      return status;
  // The barrier keeps the next facts from overwriting these too early.
  return barrier(ctx, BarrierAgreed);
}
