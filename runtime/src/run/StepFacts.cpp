//===- StepFacts.cpp - What all ranks know of a step ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See StepFacts.h.
//
//===----------------------------------------------------------------------===//

#include "StepFacts.h"

#include "data/Arguments.h"
#include "data/Npy.h"
#include "data/ShardRuns.h"
#include "nodes/Mirror.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tessera::rt;

const char *const tessera::rt::stepScalars[] = {
    "loss", "aux_loss", "grad_norm", "lr", "num_labels", "skipped"};
const size_t tessera::rt::numStepScalars =
    sizeof(stepScalars) / sizeof(stepScalars[0]);
static_assert(sizeof(stepScalars) / sizeof(stepScalars[0]) <= maxStepScalars);

double tessera::rt::getScalar(const Manifest &manifest, const StepFacts &facts,
                              const char *name) {
  const Value *value = manifest.findScalar(name);
  for (size_t i = 0; value && i < numStepScalars; ++i)
    if (strcmp(stepScalars[i], name) == 0 && facts.hasScalar[i])
      return readElement(value->dtype, value->isUnsigned, facts.scalars[i], 0);
  return std::nan("");
}

/// Adds the scalars whose first owner is on this node.
static void addScalars(tessera_rt_context *ctx, const Manifest &manifest,
                       StepFacts &facts) {
  for (size_t i = 0; i < numStepScalars; ++i) {
    const Value *value = manifest.findScalar(stepScalars[i]);
    int owner = value ? blockOwners(*value, ctx->ranks).front() : -1;
    if (owner < 0 || !ctx->memory.place.isHere(owner))
      continue;
    facts.hasScalar[i] = 1;
    memcpy(facts.scalars[i], ctx->memory.arena(owner) + value->offsetOn(owner),
           std::min(size_t(dtypeSize(value->dtype)), sizeof(facts.scalars[i])));
  }
}

/// Adds the first layer whose experts have too little room for their rows.
/// Later layers saw what it made of that.
static void addOverflow(tessera_rt_context *ctx, StepFacts &facts) {
  const SharedMemory &memory = ctx->memory;
  const Placement &place = memory.place;
  for (int64_t layer = 0; layer < memory.tables.layers && facts.roomNeeded == 0;
       ++layer) {
    double needed = 0;
    std::string text;
    for (int rank = place.firstRank(); rank < place.endRank(); ++rank) {
      const LayerLoads &loads = *memory.loads(rank, layer);
      if (loads.sentOverEven > needed) {
        needed = loads.sentOverEven;
        text = format("experts of layer %lld on rank %d use more tokens of a "
                      "device than there is room for; compile with --moe-room "
                      "%.2f",
                      (long long)layer, rank, std::ceil(needed * 100) / 100);
      }
      double ratio = double(loads.mostRows) / loads.evenRows;
      if (loads.mostRows <= loads.room || ratio <= needed)
        continue;
      needed = ratio;
      text = format("experts of layer %lld on rank %d have %lld rows, but room "
                    "for %lld; compile with --moe-room %.2f",
                    (long long)layer, rank, (long long)loads.mostRows,
                    (long long)loads.room, std::ceil(ratio * 100) / 100);
    }
    facts.roomNeeded = needed;
    facts.layer = layer;
    snprintf(facts.overflow, sizeof(facts.overflow), "%s", text.c_str());
  }
}

StepFacts tessera::rt::collectStepFacts(tessera_rt_context *ctx,
                                        const Manifest &manifest) {
  StepFacts facts;
  const Placement &place = ctx->memory.place;
  for (int rank = place.firstRank(); rank < place.endRank(); ++rank) {
    const RankNumbers &block = ctx->memory.blocks[rank].numbers;
    StepFacts one;
    one.cpuSeconds = block.stepCpuSeconds;
    one.memoryBytes = block.memory.total();
    one.slowestRank = rank;
    one.busySeconds = block.busySeconds;
    facts.add(one);
  }
  addScalars(ctx, manifest, facts);
  addOverflow(ctx, facts);
  return facts;
}

// Ranks count what they see, so what several see is counted several times: as
// often as they see all tokens together, for each part of the experts.
ExpertUses tessera::rt::countExpertUses(tessera_rt_context *ctx,
                                        int64_t tokens) {
  const SharedMemory &memory = ctx->memory;
  ExpertUses result;
  for (int64_t layer = 0; layer < memory.tables.layers && tokens; ++layer) {
    std::vector<int64_t> uses;
    int64_t seen = 0, parts = 1, choices = 0;
    for (int rank = 0; rank < ctx->ranks; ++rank) {
      LayerLoads &loads = *memory.loads(rank, layer);
      if (loads.held == 0)
        continue;
      seen += loads.tokens;
      choices = loads.choices;
      parts = std::max(parts, loads.offset / loads.held + 1);
      uses.resize(size_t(loads.experts));
      for (size_t expert = 0; expert < uses.size(); ++expert)
        uses[expert] += loads.uses()[expert];
    }
    int64_t copies = std::max<int64_t>(1, seen / (tokens * parts));
    result.dropped += tokens * choices;
    for (int64_t &count : uses) {
      count /= copies;
      result.dropped -= count;
    }
    result.loads.push_back(std::move(uses));
  }
  return result;
}

/// Sends a part of this rank's memory to node 0, unless it is there.
static Status share(tessera_rt_context *ctx, const void *at, int64_t bytes) {
  bool isRemote = ctx->mirror && ctx->memory.place.node != 0 && bytes > 0;
  return isRemote ? ctx->mirror->put(0, at, bytes) : TESSERA_RT_OK;
}

Status tessera::rt::shareNumbers(tessera_rt_context *ctx) {
  if (!ctx->mirror)
    return TESSERA_RT_OK;
  const RankNumbers &numbers = ctx->block().numbers;
  if (Status status = share(ctx, &numbers, sizeof(numbers)))
    return status;
  if (Status status = share(ctx, ctx->memory.stamps(ctx->rank),
                            numbers.numStamps * int64_t(sizeof(Stamp))))
    return status;
  return ctx->mirror->flush();
}

Status tessera::rt::shareLoads(tessera_rt_context *ctx) {
  const TableSizes &tables = ctx->memory.tables;
  if (!ctx->mirror || tables.layers == 0)
    return TESSERA_RT_OK;
  if (Status status =
          share(ctx, ctx->memory.loads(ctx->rank, 0), tables.bytesOfLoads()))
    return status;
  return ctx->mirror->flush();
}
