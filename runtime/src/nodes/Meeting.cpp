//===- Meeting.cpp - A rank's side of meets with other nodes --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Meeting.h.
//
//===----------------------------------------------------------------------===//

#include "Meeting.h"

#include "Interfaces.h"
#include "Mirror.h"
#include "StandIn.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

using namespace tessera::rt;

/// Seconds that a rank waits for its node's agent to pass its complaint on, and
/// for the root's verdict.
static constexpr double agentPatience = 0.5, verdictPatience = 8;
/// Seconds between two looks at the processes of this node's ranks.
static constexpr double lookInterval = 0.5;

std::string tessera::rt::nameRank(const SharedMemory &memory, int rank) {
  const Placement &place = memory.place;
  if (!place.isAcrossNodes())
    return format("rank %d", rank);
  std::string text = format("rank %d on node %d", rank, place.nodeOf(rank));
  // The host of another node is not known here.
  return place.isHere(rank) ? text + " (" + hostName() + ")" : text;
}

static void wakeAgent(tessera_rt_context *ctx) {
  uint64_t one = 1;
  if (ctx->agentWake >= 0 && write(ctx->agentWake, &one, sizeof(one)) < 0)
    return;
}

/// Takes what rank 0 has decided, or what other nodes ask it for.
static void applyDecisions(tessera_rt_context *ctx, const MeetFacts &facts) {
  ControlBlock &control = *ctx->memory.control;
  if (facts.isDamaged)
    control.checkpointIsDamaged.store(1);
  if (ctx->rank != 0) {
    control.stopDecided.store(facts.stopDecided);
    control.exitCode.store(facts.exitCode);
    control.checkpointBegins.store(facts.checkpointBegins);
    control.checkpointTried.store(facts.checkpointTried);
    control.committed.store(facts.committed);
    control.checkpointFolder.store(facts.checkpointFolder);
    return;
  }
  int32_t none = 0;
  if (facts.stopSignal)
    control.stopSignal.compare_exchange_strong(none, facts.stopSignal);
  if (facts.asksCheckpoint)
    control.checkpointAsked.store(1);
}

/// The facts of this node, but for those of a step.
static MeetFacts gatherFacts(tessera_rt_context *ctx) {
  ControlBlock &control = *ctx->memory.control;
  MeetFacts facts;
  facts.stopSignal = control.stopSignal.load();
  // Rank 0 clears its own when it has decided; another node asks once.
  facts.asksCheckpoint =
      ctx->rank == 0 ? 0 : control.checkpointAsked.exchange(0);
  facts.isDamaged = int32_t(control.checkpointIsDamaged.load());
  facts.stopDecided = control.stopDecided.load();
  facts.exitCode = control.exitCode.load();
  facts.checkpointBegins = control.checkpointBegins.load();
  facts.checkpointTried = control.checkpointTried.load();
  facts.committed = control.committed.load();
  facts.checkpointFolder = control.checkpointFolder.load();
  return facts;
}

Status tessera::rt::meetNodes(tessera_rt_context *ctx, BarrierId id,
                              const StepExchange *exchange) {
  NodeBlock &node = ctx->memory.control->node;
  MeetFacts facts = gatherFacts(ctx);
  if (exchange)
    (*exchange)(facts.step);
  node.facts = facts;
  uint64_t number = node.meetsAsked.load() + 1;
  node.meetsAsked.store(number);
  wakeAgent(ctx);
  ctx->block().waitingFor.store(waitsForNodes);
  Status status = waitForNodes(
      ctx, format("the barrier \"%s\" of all nodes", barrierName(id)),
      [&] { return node.meetsOver.load() >= number; });
  ctx->block().waitingFor.store(-1);
  if (status != TESSERA_RT_OK)
    return status;
  applyDecisions(ctx, node.facts);
  return TESSERA_RT_OK;
}

Status tessera::rt::complain(tessera_rt_context *ctx, int32_t missing,
                             double waited, const std::string &what) {
  NodeBlock &node = ctx->memory.control->node;
  int32_t nobody = 0;
  if (node.complainer.compare_exchange_strong(nobody, ctx->rank + 1)) {
    node.missing = missing;
    node.waited = waited;
    snprintf(node.waitsIn, sizeof(node.waitsIn), "%s", what.c_str());
    node.isComplaint.store(1);
    wakeAgent(ctx);
  }
  auto isAborted = [&](double seconds) {
    double end = monotonicSeconds() + seconds;
    while (!ctx->memory.control->aborted.load() && monotonicSeconds() < end)
      usleep(10000);
    return ctx->memory.control->aborted.load() != 0;
  };
  if (isAborted(agentPatience))
    return TESSERA_RT_ABORTED;
  if (node.isComplaintSent.load())
    return isAborted(verdictPatience) ? TESSERA_RT_ABORTED : TESSERA_RT_OK;
  StandIn standIn(ctx->memory, ctx->rank);
  standIn.send(encode(LateMessage{ctx->rank, missing, waited, what}));
  Verdict verdict;
  return standIn.await(verdictPatience, verdict) ? TESSERA_RT_ABORTED
                                                 : TESSERA_RT_OK;
}

Status tessera::rt::openNodes(tessera_rt_context *ctx, double patience) {
  const Placement &place = ctx->memory.place;
  if (!place.isAcrossNodes())
    return TESSERA_RT_OK;
  NodeBlock &node = ctx->memory.control->node;
  // The agent ends the wait if it does not find the others in time.
  double lastLook = monotonicSeconds(),
         end = lastLook + patience + verdictPatience;
  while (!node.isJoined.load()) {
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    double now = monotonicSeconds();
    if (now > end)
      return fail(ctx, TESSERA_RT_LOST_RANK,
                  "the agent of this node does not answer");
    // The agent may be a thread of a rank that is dead.
    if (now - lastLook >= lookInterval) {
      lastLook = now;
      if (Status status = checkRanksLive(ctx))
        return status;
    }
    usleep(1000);
  }
  ctx->mirror = std::make_unique<Mirror>(ctx);
  std::string error = ctx->mirror->open(node.address, node.token);
  RankBlock &block = ctx->block();
  if (error.empty() && ctx->mirror->address().size() >= sizeof(block.address))
    error = "expects a shorter address than '" + ctx->mirror->address() + "'";
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  snprintf(block.address, sizeof(block.address), "%s",
           ctx->mirror->address().c_str());
  // The first meet exchanges the addresses.
  if (Status status = barrier(ctx, BarrierAgreed))
    return status;
  error = ctx->mirror->connect();
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  // A rank that is sent something must be able to answer.
  return barrier(ctx, BarrierAgreed);
}
