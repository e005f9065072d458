//===- StandIn.cpp - A rank that speaks for its node ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See StandIn.h.
//
//===----------------------------------------------------------------------===//

#include "StandIn.h"

#include <cstring>

using namespace tessera::rt;

States tessera::rt::findStates(const SharedMemory &memory) {
  States states;
  for (int rank = memory.place.firstRank(); rank < memory.place.endRank();
       ++rank) {
    const RankBlock &block = memory.blocks[rank];
    RankSnapshot snapshot;
    snapshot.rank = rank;
    snapshot.process = block.findProcess().state;
    snapshot.hasStarted = block.pid.load() != 0;
    snapshot.hasFinished = block.state.load() == RankState::Finished;
    snapshot.waitingFor = block.waitingFor.load();
    snapshot.stepsBegun = block.stepsBegun.load();
    snapshot.work = block.describeWork();
    states.ranks.push_back(snapshot);
  }
  return states;
}

void tessera::rt::recordVerdict(SharedMemory &memory, const Verdict &verdict) {
  NodeBlock &node = memory.control->node;
  node.verdictStatus.store(verdict.status);
  memory.control->committed.store(verdict.committed);
  recordFailure(memory, memory.place.ranks(), verdict.status, verdict.text);
  node.isJudged.store(1);
}

StandIn::StandIn(SharedMemory &memory, int rank) : memory(memory) {
  NodeBlock &node = memory.control->node;
  node.hasStandIn.store(1);
  RootAddress address;
  address.endpoint = node.rootEndpoint;
  memcpy(&address.key, node.rootKey, sizeof(address.key));
  std::string ignored;
  if (!address.endpoint.empty())
    door =
        AgentDoor::connect(address, standInNumber(memory.place, rank), ignored);
}

StandIn::~StandIn() = default;

void StandIn::send(const std::string &message) {
  if (!door)
    return;
  door->send(encode(findStates(memory)));
  door->send(message);
}

bool StandIn::await(double seconds, Verdict &verdict) {
  double end = monotonicSeconds() + seconds;
  while (door && monotonicSeconds() < end) {
    DoorEvent event = door->receive();
    MessageKind kind;
    bool isVerdict =
        event.kind == DoorEvent::Message && readKind(event.message, kind) &&
        kind == MessageKind::Verdict && decode(event.message, verdict);
    if (isVerdict) {
      recordVerdict(memory, verdict);
      return true;
    }
    if (event.kind == DoorEvent::Gone)
      return false;
    if (event.kind == DoorEvent::None)
      waitForDoors(nullptr, door.get(), -1, 0.05);
  }
  return false;
}
