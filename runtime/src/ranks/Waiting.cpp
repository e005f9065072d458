//===- Waiting.cpp - Completing collectives -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waiting. A wait drives *all* operations in flight, not only its own, so ranks
// may wait in different orders. Every wait has a timeout, after which it finds
// and names the rank that delays the others.
//
// Protocol. A rank publishes an operation with a ticket (see Control.h). A peer
// that needs its data looks for the ticket, compares headers, reads, and
// increments `acknowledged`. The operation is complete at a rank when it has
// read all the data that it needs and all readers of its own source have
// acknowledged. A rank that changes something that a peer may wait for rings
// that peer's doorbell.
//
//===----------------------------------------------------------------------===//

#include "host/HostTarget.h"
#include "nodes/Meeting.h"
#include "nodes/Mirror.h"
#include "nodes/NodeSums.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <signal.h>
#include <unistd.h>

using namespace tessera::rt;

/// Returns the slot in which `block` published `ticket`, or -1. SPMD programs
/// use the same slot on all ranks, so that slot is tried first.
static int findTicket(RankBlock &block, uint64_t ticket, int hint) {
  if (block.tickets[hint].load() == ticket)
    return hint;
  for (int slot = 0; slot < numSlots; ++slot)
    if (block.tickets[slot].load() == ticket)
      return slot;
  return -1;
}

static Status reportMismatch(tessera_rt_context *ctx, const Header &mine,
                             int peer, const Header &theirs) {
  return fail(
      ctx, TESSERA_RT_MISMATCH,
      format("collective mismatch: rank %d runs %s, but rank %d runs %s",
             ctx->rank, mine.describe().c_str(), peer,
             theirs.describe().c_str()));
}

/// Looks for an operation of `peer` that is the same operation of the program
/// as `op`, but over other axes: the two would never match.
static Status checkSameSequence(tessera_rt_context *ctx, const Operation &op,
                                int peer) {
  if (isPointToPoint(op.kind) || op.kind == OpKind::Barrier)
    return TESSERA_RT_OK;
  RankBlock &block = ctx->memory.blocks[peer];
  for (int slot = 0; slot < barrierSlot; ++slot) {
    uint64_t ticket = block.tickets[slot].load();
    if (ticket == 0)
      continue;
    Header theirs = block.entries[slot].header;
    // The entry may have been reused while it was read.
    if (block.tickets[slot].load() != ticket ||
        theirs.sequenceId != op.header.sequenceId ||
        theirs.groupHash == op.header.groupHash ||
        isPointToPoint(OpKind(theirs.op)))
      continue;
    return reportMismatch(ctx, op.header, peer, theirs);
  }
  return TESSERA_RT_OK;
}

/// True if this rank reads from the member with that index (itself included).
static bool readsFrom(const Operation &op, int index) {
  return op.readsFrom == -2 || op.readsFrom == index;
}

/// Finds the peers' entries. Sets `missing` to the first member that has not
/// posted yet, or -1.
static Status matchPeers(tessera_rt_context *ctx, int32_t slot, Operation &op,
                         int &missing) {
  missing = -1;
  for (int index = 0; index < op.group->size(); ++index) {
    int member = op.group->members[size_t(index)];
    if (member == ctx->rank || !readsFrom(op, index) ||
        op.peerSlot[size_t(index)] >= 0)
      continue;
    RankBlock &block = ctx->memory.blocks[member];
    int found = findTicket(block, op.ticket, slot);
    if (found < 0) {
      if (Status status = checkSameSequence(ctx, op, member))
        return status;
      missing = missing < 0 ? member : missing;
      continue;
    }
    const Header &theirs = block.entries[found].header;
    if (!op.header.matches(theirs, isPointToPoint(op.kind)))
      return reportMismatch(ctx, op.header, member, theirs);
    op.peerSlot[size_t(index)] = int16_t(found);
  }
  return TESSERA_RT_OK;
}

/// Pointers to the operands: the peers' sources, or in the second half of an
/// all_reduce their destinations.
static std::vector<const uint8_t *>
peerOperands(tessera_rt_context *ctx, const Operation &op, bool destinations) {
  std::vector<const uint8_t *> operands(size_t(op.group->size()), nullptr);
  for (int index = 0; index < op.group->size(); ++index) {
    if (!readsFrom(op, index))
      continue;
    int member = op.group->members[size_t(index)];
    int64_t offset = destinations ? op.destinationOffset : op.sourceOffset;
    operands[size_t(index)] = ctx->memory.arena(member) + offset;
    if (member == ctx->rank)
      continue;
    int slot = op.peerSlot[size_t(index)];
    const Entry &entry = ctx->memory.blocks[member].entries[slot];
    offset = destinations ? entry.destinationOffset : entry.sourceOffset;
    operands[size_t(index)] = entry.isInInbox
                                  ? ctx->memory.inbox(member, slot)
                                  : ctx->memory.arena(member) + offset;
  }
  return operands;
}

/// Tells every peer from which this rank has read that its source is free.
static Status acknowledge(tessera_rt_context *ctx, const Operation &op) {
  for (int index = 0; index < op.group->size(); ++index) {
    int slot = op.peerSlot[size_t(index)];
    if (slot < 0)
      continue;
    int member = op.group->members[size_t(index)];
    RankBlock &block = ctx->memory.blocks[member];
    Entry &entry = block.entries[slot];
    uint32_t readers = entry.readers;
    if (entry.acknowledged.fetch_add(1) + 1 != readers)
      continue;
    if (ctx->memory.place.isHere(member))
      ringDoorbell(block);
    else if (Status status = ctx->mirror->release(member, slot))
      return status;
  }
  return TESSERA_RT_OK;
}

/// The first member whose reduced part is not ready, or -1.
static int missingPhase(tessera_rt_context *ctx, const Operation &op) {
  int first, count = findChunkOwners(op, first);
  for (int index = first; index < first + count; ++index) {
    int slot = op.peerSlot[size_t(index)];
    int member = op.group->members[size_t(index)];
    if (slot >= 0 && ctx->memory.blocks[member].entries[slot].phase.load() == 0)
      return member;
  }
  return -1;
}

/// Goes on after the data of `op` has been moved, or this rank's share of an
/// all_reduce is at its destination.
static Status leaveData(tessera_rt_context *ctx, int32_t slot, Operation &op) {
  bool isInHalves =
      !ctx->mover && op.kind == OpKind::AllReduce && isLargeReduce(op);
  if (!isInHalves) {
    op.stage = Stage::Draining;
    return acknowledge(ctx, op);
  }
  op.stage = Stage::Gathering;
  ctx->block().entries[slot].phase.store(1);
  for (int member : op.group->members)
    if (member != ctx->rank && ctx->memory.place.isHere(member))
      ringDoorbell(ctx->memory.blocks[member]);
  return ctx->mirror && !op.nodeSum.isUsed()
             ? ctx->mirror->postReduced(slot, op)
             : TESSERA_RT_OK;
}

/// Advances `op`. If it cannot, sets `missing` to a rank that it waits for.
static Status advance(tessera_rt_context *ctx, int32_t slot, Operation &op,
                      int &missing) {
  missing = -1;
  Entry &entry = ctx->block().entries[slot];
  DataMover *mover = op.kind == OpKind::Barrier ? nullptr : ctx->mover;
  if (op.stage == Stage::Matching) {
    if (Status status = matchPeers(ctx, slot, op, missing))
      return status;
    if (missing >= 0)
      return TESSERA_RT_OK;
    if (mover) {
      double ready = mover->readyAt(slot, op);
      if (ready > 0 && ready > monotonicSeconds()) {
        ctx->readyAt = std::min(ctx->readyAt, ready);
        missing = op.group->members[size_t(op.peer)];
        return TESSERA_RT_OK;
      }
      if (Status status = mover->move(slot, op))
        return status;
    } else if (!op.nodeSum.isUsed()) {
      moveData(ctx, op, peerOperands(ctx, op, false).data());
    }
    if (op.nodeSum.isUsed())
      op.stage = Stage::Summing;
    else if (Status status = leaveData(ctx, slot, op))
      return status;
  }
  if (op.stage == Stage::Summing) {
    if (Status status = advanceNodeSum(
            ctx, slot, op, peerOperands(ctx, op, false).data(), missing))
      return status;
    if (missing >= 0)
      return TESSERA_RT_OK;
    countTraffic(ctx, op, 1, bytesToReduce(op));
    if (Status status = leaveData(ctx, slot, op))
      return status;
  }
  if (op.stage == Stage::Gathering) {
    missing = missingPhase(ctx, op);
    if (missing >= 0)
      return TESSERA_RT_OK;
    gatherReduced(ctx, op, peerOperands(ctx, op, true).data());
    if (Status status = acknowledge(ctx, op))
      return status;
    op.stage = Stage::Draining;
  }
  if (op.stage == Stage::Draining) {
    if (entry.acknowledged.load() < op.readers) {
      // The count does not tell which members have acknowledged, so this names
      // a member that is not known to have finished. With two members it is
      // exact.
      for (int index = 0; index < op.group->size(); ++index)
        if (op.group->members[size_t(index)] != ctx->rank) {
          missing = op.group->members[size_t(index)];
          if (findTicket(ctx->memory.blocks[missing], op.ticket, slot) < 0)
            break;
        }
      if (isPointToPoint(op.kind))
        missing = op.group->members[size_t(op.peer)];
      return TESSERA_RT_OK;
    }
    if (mover)
      if (Status status = mover->release(slot, op))
        return status;
    if (!op.held.empty())
      memcpy(ctx->arena() + op.destinationOffset, op.held.data(),
             op.held.size());
    ctx->block().tickets[slot].store(0);
    op.stage = Stage::Complete;
  }
  return TESSERA_RT_OK;
}

//===----------------------------------------------------------------------===//
// Naming the rank that delays the others
//===----------------------------------------------------------------------===//

/// State letter of a rank's process, or 0 when there is no such process.
static char processState(const RankBlock &block) {
  return block.findProcess().state;
}

static bool processIsGone(const RankBlock &block) {
  if (block.pid.load() == 0)
    return false;
  char state = processState(block);
  return state == 0 || state == 'Z' || state == 'X';
}

/// Records that a rank this one needs is dead.
static Status reportDead(tessera_rt_context *ctx, int member) {
  return fail(ctx, TESSERA_RT_LOST_RANK,
              nameRank(ctx->memory, member) + " is dead; " +
                  ctx->memory.blocks[member].describeWork());
}

/// Records that the wait for `missing` in `op` has timed out.
static Status reportLate(tessera_rt_context *ctx, const Operation &op,
                         int missing, double waited) {
  // The root sees all nodes; this rank sees its own alone.
  if (ctx->memory.place.isAcrossNodes())
    if (Status status = complain(ctx, missing, waited, op.header.describe()))
      return status;
  // A rank that itself waits is not the culprit. The search follows the chain
  // of waits to a rank that does not wait, or around a cycle.
  std::vector<int> chain;
  int culprit = missing;
  while (culprit >= 0 && culprit < ctx->ranks &&
         std::find(chain.begin(), chain.end(), culprit) == chain.end()) {
    chain.push_back(culprit);
    RankBlock &block = ctx->memory.blocks[culprit];
    int next = block.waitingFor.load();
    if (next < 0 || processIsGone(block) || processState(block) == 'T')
      break;
    culprit = next;
  }
  RankBlock &block = ctx->memory.blocks[culprit];
  std::string waits =
      format("; rank %d has waited %.0f s in ", ctx->rank, waited) +
      op.header.describe();
  if (!ctx->memory.place.isHere(culprit))
    return fail(ctx, TESSERA_RT_LOST_RANK,
                nameRank(ctx->memory, culprit) +
                    " does not arrive, and the root of the job, on node 0, "
                    "does not answer" +
                    waits);
  char state = processState(block);
  bool isGone = processIsGone(block);
  std::string what;
  if (culprit == ctx->rank || block.waitingFor.load() >= 0)
    what = format("waits for rank %d: ranks wait for each other",
                  block.waitingFor.load());
  if (block.pid.load() == 0)
    what = "has not started";
  else if (block.state.load() == RankState::Finished)
    what = "has finished already";
  else if (state == 'T' || state == 't')
    what = "is stopped";
  else if (isGone)
    what = "is dead";
  else if (what.empty())
    what = "is running, but does not arrive";
  return fail(ctx, TESSERA_RT_LOST_RANK,
              nameRank(ctx->memory, culprit) + " " + what + "; " +
                  block.describeWork() + waits);
}

/// Records that a member of a group is dead. An operation does not always know
/// the rank that it waits for, so all members are checked.
static Status checkGroupLive(tessera_rt_context *ctx, const Group &group) {
  for (int member : group.members) {
    RankBlock &block = ctx->memory.blocks[member];
    // A finished rank may exit.
    if (member != ctx->rank && block.state.load() != RankState::Finished &&
        processIsGone(block))
      return reportDead(ctx, member);
  }
  return TESSERA_RT_OK;
}

Status tessera::rt::checkRanksLive(tessera_rt_context *ctx) {
  // Those of other nodes are watched there.
  const Placement &place = ctx->memory.place;
  for (int rank = place.firstRank(); rank < place.endRank(); ++rank) {
    RankBlock &block = ctx->memory.blocks[rank];
    // A finished rank may exit.
    if (rank != ctx->rank && block.state.load() != RankState::Finished &&
        processIsGone(block))
      return reportDead(ctx, rank);
  }
  return TESSERA_RT_OK;
}

Status tessera::rt::reportLateDevices(tessera_rt_context *ctx,
                                      const std::string &what, double waited) {
  const Placement &place = ctx->memory.place;
  // The root sees all nodes; this rank sees its own alone.
  if (place.isAcrossNodes())
    if (Status status = complain(ctx, waitsForDevices, waited, what))
      return status;
  int64_t step = ctx->block().stepsBegun.load();
  std::string who;
  for (int rank = place.firstRank(); rank < place.endRank() && who.empty();
       ++rank) {
    RankBlock &block = ctx->memory.blocks[rank];
    char state = processState(block);
    if (state == 'T' || state == 't')
      who = format("rank %d is stopped", rank);
    else if (block.stepsBegun.load() < step)
      who = format("rank %d is running, but has not begun it; ", rank) +
            block.describeWork();
  }
  return fail(ctx, TESSERA_RT_LOST_RANK,
              what + format(" is not over after %.0f s: ", waited) +
                  (who.empty() ? devicesAreLate : who));
}

Status tessera::rt::failUnlessRankLost(tessera_rt_context *ctx, Status status,
                                       const std::string &text) {
  // A launcher knows more of a rank that has died, and says it at once.
  constexpr double patience = 2, interval = 0.5;
  double begin = monotonicSeconds();
  for (double look = interval; look <= patience; look += interval) {
    while (monotonicSeconds() < begin + look) {
      if (ctx->memory.control->aborted.load())
        return TESSERA_RT_ABORTED;
      usleep(10000);
    }
    if (Status lost = checkRanksLive(ctx))
      return lost;
  }
  return fail(ctx, status, text);
}

Status tessera::rt::awaitStateReader(tessera_rt_context *ctx) {
  if (!ctx->stateReader)
    return TESSERA_RT_OK;
  double begin = monotonicSeconds();
  while (!ctx->stateReader->waitFor(0.1)) {
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    if (Status status = checkRanksLive(ctx))
      return status;
    double waited = monotonicSeconds() - begin;
    if (waited > ctx->stateReader->patience())
      return fail(ctx, TESSERA_RT_SYSTEM,
                  format("the step waits for a checkpoint to copy the state of "
                         "the step before, which is not over after %.0f s: the "
                         "disk or the device does not answer",
                         waited));
  }
  return TESSERA_RT_OK;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Advances all operations in flight except `slot`'s.
static Status advanceOthers(tessera_rt_context *ctx, int32_t slot) {
  for (int other = 0; other < numSlots; ++other) {
    Operation &op = ctx->operations[other];
    int ignored;
    if (other == slot || op.stage == Stage::Free || op.stage == Stage::Complete)
      continue;
    if (Status status = advance(ctx, other, op, ignored))
      return status;
  }
  return TESSERA_RT_OK;
}

/// Advances all operations in flight; `missing` is the rank that `slot` waits
/// for.
static Status advanceAll(tessera_rt_context *ctx, int32_t slot, int &missing) {
  if (Status status = advance(ctx, slot, ctx->operations[slot], missing))
    return status;
  if (ctx->operations[slot].stage == Stage::Complete)
    return TESSERA_RT_OK;
  return advanceOthers(ctx, slot);
}

/// Sleeps until something changes after `seen`, or for `seconds`.
static void sleepOnDoorbell(tessera_rt_context *ctx, uint32_t seen,
                            double seconds) {
  RankBlock &block = ctx->block();
  for (int i = 0; i < ctx->spinIterations; ++i) {
    if (block.doorbell.load(std::memory_order_relaxed) != seen)
      return;
    spinPause();
  }
  block.sleeping.store(1);
  futexWait(block.doorbell, seen, seconds);
  block.sleeping.store(0);
}

static Status waitLoop(tessera_rt_context *ctx, int32_t slot) {
  Operation &op = ctx->operations[slot];
  RankBlock &block = ctx->block();
  double begin = 0, lastLook = 0;
  for (;;) {
    uint32_t seen = block.doorbell.load();
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    int missing;
    ctx->readyAt = std::numeric_limits<double>::infinity();
    if (Status status = advanceAll(ctx, slot, missing))
      return status;
    if (op.stage == Stage::Complete) {
      ctx->waitSeconds += begin == 0 ? 0 : monotonicSeconds() - begin;
      return TESSERA_RT_OK;
    }
    block.waitingFor.store(missing);
    double now = monotonicSeconds();
    if (begin == 0)
      begin = lastLook = now;
    double rest = begin + ctx->timeout - now;
    if (rest <= 0)
      return reportLate(ctx, op, missing, now - begin);
    if (ctx->looksNow.exchange(false) || now - lastLook >= 0.5) {
      lastLook = now;
      if (Status status = checkGroupLive(ctx, *op.group))
        return status;
    }
    sleepOnDoorbell(ctx, seen, std::min({rest, 0.5, ctx->readyAt - now}));
  }
}

Status tessera::rt::waitForNodes(tessera_rt_context *ctx,
                                 const std::string &what,
                                 const std::function<bool()> &isOver) {
  RankBlock &block = ctx->block();
  double begin = monotonicSeconds(), lastLook = begin;
  for (;;) {
    uint32_t seen = block.doorbell.load();
    if (isOver()) {
      ctx->waitSeconds += monotonicSeconds() - begin;
      return TESSERA_RT_OK;
    }
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    ctx->readyAt = std::numeric_limits<double>::infinity();
    if (Status status = advanceOthers(ctx, /*slot=*/-1))
      return status;
    double now = monotonicSeconds(), rest = begin + ctx->timeout - now;
    if (rest <= 0) {
      Status status = complain(ctx, waitsForNodes, now - begin, what);
      return status ? status
                    : fail(ctx, TESSERA_RT_LOST_RANK,
                           format("has waited %.0f s in ", now - begin) + what +
                               ", and the root of the job does not answer");
    }
    if (ctx->looksNow.exchange(false) || now - lastLook >= 0.5) {
      lastLook = now;
      if (Status status = checkRanksLive(ctx))
        return status;
    }
    sleepOnDoorbell(ctx, seen, std::min({rest, 0.5, ctx->readyAt - now}));
  }
}

Status tessera::rt::awaitRequest(tessera_rt_context *ctx, uint64_t served) {
  for (;;) {
    uint32_t seen = ctx->block().doorbell.load();
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    if (ctx->memory.control->requests.load() > served)
      return TESSERA_RT_OK;
    sleepOnDoorbell(ctx, seen, /*seconds=*/3600);
  }
}

Status tessera::rt::host::idle(tessera_rt_context *ctx, double until) {
  for (;;) {
    uint32_t seen = ctx->block().doorbell.load();
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    ctx->readyAt = until;
    if (Status status = advanceOthers(ctx, /*slot=*/-1))
      return status;
    double now = monotonicSeconds();
    if (now >= until)
      return TESSERA_RT_OK;
    sleepOnDoorbell(ctx, seen, std::min(0.5, ctx->readyAt - now));
  }
}

extern "C" int32_t tessera_rt_wait(tessera_rt_context *ctx, int32_t slot) {
  if (slot < 0 || slot >= TESSERA_RT_MAX_SLOTS ||
      ctx->operations[slot].stage == Stage::Free)
    return fail(ctx, TESSERA_RT_INVALID,
                format("wait expects a slot in flight, but got %d", slot));
  return ctx->target->finish(slot);
}

Status tessera::rt::host::finish(tessera_rt_context *ctx, int32_t slot) {
  Status status = waitLoop(ctx, slot);
  ctx->block().waitingFor.store(-1);
  ctx->operations[slot].stage = Stage::Free;
  if (status != TESSERA_RT_OK)
    ctx->block().tickets[slot].store(0);
  return status;
}
