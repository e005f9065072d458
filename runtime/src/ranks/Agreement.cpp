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

/// Compares rank 0's facts with all others' facts.
static Status compare(tessera_rt_context *ctx, const std::vector<Fact> &facts) {
  const RankBlock &mine = ctx->block();
  for (int rank = 1; rank < ctx->ranks; ++rank) {
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
  if (Status status = barrier(ctx, BarrierAgreed))
    return status;
  if (ctx->rank == 0)
    if (Status status = compare(ctx, facts))
      return status;
  // The barrier keeps the next facts from overwriting these too early.
  return barrier(ctx, BarrierAgreed);
}
