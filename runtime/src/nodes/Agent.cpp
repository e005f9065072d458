//===- Agent.cpp - The voice of a node ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Agent.h.
//
//===----------------------------------------------------------------------===//

#include "Agent.h"

#include "Interfaces.h"
#include "StandIn.h"

#include <csignal>
#include <cstring>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace tessera::rt;

/// Seconds between two messages about the states of ranks, and between two
/// looks at the root's file.
static constexpr double statesInterval = 1, seekInterval = 0.2;
/// Seconds between two hellos of a node that has not been let in.
static constexpr double helloInterval = 1;
/// Seconds that an agent waits for the verdict about its ranks' failure, and
/// the root for the good-byes of all nodes.
static constexpr double verdictPatience = 5, farewellPatience = 10;
/// Seconds without a word from the root after which it counts as lost if a rank
/// has complained, and seconds that its successor has for a verdict.
static constexpr double rootPatience = 2.5, successorPatience = 4;

Agent::Agent(SharedMemory &memory, const Manifest &manifest,
             const Options &options, std::string job)
    : memory(memory), manifest(manifest), options(options),
      job(std::move(job)) {
  wakeFd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

Agent::~Agent() {
  finish();
  close(wakeFd);
}

void Agent::start(bool printsFailure) {
  prints = printsFailure;
  // Signals are for other threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Agent::finish() {
  isEnding.store(true);
  uint64_t one = 1;
  if (thread.joinable() && write(wakeFd, &one, sizeof(one)) >= 0)
    thread.join();
}

//===----------------------------------------------------------------------===//
// The start
//===----------------------------------------------------------------------===//

std::string Agent::openRoot() {
  std::string error;
  if (rootPlace.isFolder()) {
    error = findOwnAddress(options.interface, address);
    if (error.empty())
      error = drawKey(rootAddress.key);
  } else {
    error = resolveHost(rootPlace.hostName(), address);
    if (error.empty() && findInterface(address).empty())
      error = "--rendezvous expects an address of node 0, where the root "
              "listens, but '" +
              rootPlace.hostName() + "' is " + address;
    rootAddress.key = rootPlace.givenKey();
  }
  if (!error.empty())
    return error;
  rootDoor =
      RootDoor::open(address, rootPlace.portNumber(), rootAddress.key, error);
  JobKey token;
  if (error.empty())
    error = drawKey(token);
  if (!error.empty())
    return error;
  rootAddress.endpoint = rootDoor->endpoint();
  openRootWith(describeKey(token).substr(0, 64));
  return rootPlace.publish(rootAddress);
}

void Agent::openRootWith(std::string token) {
  Root::Patience patience;
  patience.join = options.timeouts.join;
  root = std::make_unique<Root>(
      memory.place, patience, std::move(token),
      [this](int node, const std::string &message) {
        if (node == memory.place.node)
          handle(message, monotonicSeconds());
        else
          rootDoor->send(node, message);
      },
      begin);
}

std::string Agent::openSuccessor() {
  std::string error;
  if (memory.place.node == 1)
    successorDoor = RootDoor::open(address, /*port=*/0, rootAddress.key, error);
  return error;
}

std::string Agent::open() {
  std::string error = rootPlace.read(options, job);
  if (error.empty() && memory.place.node == 0)
    error = openRoot();
  return error;
}

/// The begin of a message about this node.
static std::string describeNode(const SharedMemory &memory) {
  return format("node %d (", memory.place.node) + hostName() + "): ";
}

/// The first message of this node.
static std::string makeHello(const SharedMemory &memory,
                             const Manifest &manifest, const Options &options,
                             const RootDoor *successor) {
  const Placement &place = memory.place;
  Hello hello;
  hello.abiVersion = TESSERA_RT_ABI_VERSION;
  hello.node = place.node;
  hello.nodes = place.nodes;
  hello.perNode = place.perNode;
  hello.host = hostName();
  hello.program = manifest.program + " " + manifest.hash;
  hello.successor = successor ? successor->endpoint() : std::string();
  hello.facts = comparedOptions(options);
  return encode(hello);
}

/// The message about a rank that has waited too long.
static std::string makeComplaint(const NodeBlock &node) {
  return encode(LateMessage{node.complainer.load() - 1, node.missing,
                            node.waited, node.waitsIn});
}

/// The message about the failure that this node's ranks have recorded.
static std::string makeFailure(const ControlBlock &control) {
  return encode(Verdict{control.failureStatus, control.failure, 0},
                /*isFinal=*/false);
}

void Agent::seekRoot(double now) {
  if (now - soughtAt < seekInterval)
    return;
  soughtAt = now;
  RootAddress found;
  bool isThere = false;
  std::string error = rootPlace.find(found, isThere);
  if (error.empty() && isThere &&
      (!door || found.endpoint != rootAddress.endpoint)) {
    rootAddress = found;
    door.reset();
    std::string host = found.endpoint.substr(strlen("tcp://"));
    error = findAddressTowards(host.substr(0, host.rfind(':')),
                               options.interface, address);
    if (error.empty())
      error = openSuccessor();
    if (error.empty())
      door = AgentDoor::connect(rootAddress, memory.place.node, error);
    helloAt = 0;
  }
  // The root of an attempt before this one may have taken a hello.
  if (door && now - helloAt >= helloInterval) {
    helloAt = now;
    door->send(makeHello(memory, manifest, options, successorDoor.get()));
  }
  Status status = statusOfFailure(error);
  if (error.empty() && now - begin > options.timeouts.join) {
    bool isRefused = door && door->isRefused();
    std::string why = "it is not there";
    if (isRefused)
      why = "what is at " + rootAddress.endpoint +
            " does not accept the key of this job";
    else if (isThere)
      why = "it has not let this node in at " + rootAddress.endpoint;
    error = "expects the root of the job, node 0, " + rootPlace.describe() +
            format(", but after %.0f s ", now - begin) + why;
    // A node that comes late may come in time to the next attempt.
    status = isRefused ? TESSERA_RT_INVALID : TESSERA_RT_LOST_RANK;
  }
  if (!error.empty())
    recordFailure(memory, memory.place.ranks(), status,
                  describeNode(memory) + error);
}

void Agent::takeWelcome(const Welcome &welcome) {
  NodeBlock &node = memory.control->node;
  hosts = welcome.hosts;
  isWelcome = true;
  snprintf(node.address, sizeof(node.address), "%s", address.c_str());
  snprintf(node.token, sizeof(node.token), "%s", welcome.token.c_str());
  successor = {welcome.successor, rootAddress.key};
  // Ranks of node 0 that are without an agent are without the root, too.
  snprintf(node.rootEndpoint, sizeof(node.rootEndpoint), "%s",
           (root ? successor : rootAddress).endpoint.c_str());
  static_assert(sizeof(node.rootKey) == sizeof(JobKey));
  memcpy(node.rootKey, &rootAddress.key, sizeof(node.rootKey));
  node.isJoined.store(1);
  // All nodes have come.
  rootPlace.remove();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void Agent::toRoot(const std::string &message, double now) {
  if (root)
    root->receive(memory.place.node, message, now);
  else if (door)
    door->send(message);
}

void Agent::handle(const std::string &message, double now) {
  MessageKind kind;
  if (!readKind(message, kind))
    return;
  rootHeardAt = now;
  Welcome welcome;
  MeetMessage meet;
  Verdict decided;
  States states;
  if (kind == MessageKind::Welcome && decode(message, welcome))
    takeWelcome(welcome);
  else if (kind == MessageKind::MeetOver && decode(message, meet))
    takeMeet(meet);
  else if (kind == MessageKind::Verdict && decode(message, decided))
    takeVerdict(decided);
  else if (kind == MessageKind::AskStates)
    toRoot(encode(findStates(memory)), now);
  else if (kind == MessageKind::States && decode(message, states) &&
           !states.ranks.empty())
    firstRank = states.ranks.front();
}

/// The addresses of a node's ranks, each in 64 bytes.
static std::string readAddresses(const SharedMemory &memory) {
  std::string text;
  for (int rank = memory.place.firstRank(); rank < memory.place.endRank();
       ++rank)
    text.append(memory.blocks[rank].address,
                sizeof(memory.blocks[rank].address));
  return text;
}

/// Writes the addresses of all nodes' ranks into their blocks.
static void writeAddresses(SharedMemory &memory,
                           const std::vector<std::string> &nodes) {
  constexpr size_t size = sizeof(RankBlock::address);
  for (size_t node = 0; node < nodes.size(); ++node)
    for (int i = 0; i < memory.place.perNode; ++i) {
      int rank = int(node) * memory.place.perNode + i;
      if (!memory.place.isHere(rank) &&
          nodes[node].size() == size * size_t(memory.place.perNode))
        memcpy(memory.blocks[rank].address,
               nodes[node].data() + size_t(i) * size, size);
    }
}

void Agent::takeMeet(const MeetMessage &message) {
  NodeBlock &node = memory.control->node;
  if (message.number != node.meetsAsked.load())
    return;
  writeAddresses(memory, message.parts);
  node.facts = message.facts;
  node.meetsOver.store(message.number);
  ringDoorbell(memory.blocks[memory.place.firstRank()]);
}

void Agent::takeVerdict(const Verdict &decided) {
  if (isJudged)
    return;
  isJudged = true;
  verdict = decided;
  recordVerdict(memory, decided);
  // A rank that stood in for this agent may have.
  if (prints && memory.control->node.hasPrinted.exchange(1) == 0)
    fprintf(stderr, "tessera: error: %s\n", decided.text.c_str());
}

void Agent::loseRoot(const std::string &how, double now) {
  if (isJudged)
    return;
  bool isSecond = !rootLoss.empty();
  if (!isSecond) {
    rootLoss = how;
    rootLostAt = now;
  }
  door.reset();
  if (isSecond || successor.endpoint.empty())
    return judgeAlone();
  if (successorDoor)
    return succeed(how, now);
  std::string error;
  door = AgentDoor::connect(successor, memory.place.node, error);
  if (!door)
    return judgeAlone();
  repeat(now);
}

void Agent::succeed(const std::string &how, double now) {
  rootDoor = std::move(successorDoor);
  openRootWith(/*token=*/{});
  root->countCommitted(memory.control->committed.load());
  root->succeed(hosts, firstRank, how, now);
  repeat(now);
  for (const DoorEvent &event : early)
    takeEvent(event, now);
  early.clear();
}

void Agent::repeat(double now) {
  toRoot(encode(findStates(memory)), now);
  const NodeBlock &node = memory.control->node;
  if (hasFailed)
    toRoot(makeFailure(*memory.control), now);
  else if (hasComplained)
    toRoot(makeComplaint(node), now);
}

void Agent::judgeAlone() {
  takeVerdict({TESSERA_RT_LOST_RANK,
               describeLoss(0, hosts.empty() ? "?" : hosts.front(), rootLoss,
                            firstRank),
               memory.control->committed.load()});
}

void Agent::sendStates(double now) {
  if (now - statesAt < statesInterval || !isWelcome)
    return;
  statesAt = now;
  std::string message = encode(findStates(memory));
  toRoot(message, now);
  // The others learn that the root lives, and what its first rank does.
  for (int node = 1; root && node < memory.place.nodes; ++node)
    rootDoor->send(node, message);
}

void Agent::speak(double now) {
  NodeBlock &node = memory.control->node;
  uint64_t asked = node.meetsAsked.load();
  if (isWelcome && asked > meetsSent) {
    meetsSent = asked;
    MeetMessage meet;
    meet.number = asked;
    meet.facts = node.facts;
    if (asked == 1)
      meet.parts = {readAddresses(memory)};
    toRoot(encode(meet, /*isOver=*/false), now);
  }
  if (node.isComplaint.load() && !hasComplained) {
    hasComplained = true;
    complainedAt = now;
    toRoot(makeComplaint(node), now);
    node.isComplaintSent.store(1);
  }
  if (memory.control->aborted.load() && !isJudged && !hasFailed) {
    hasFailed = true;
    failedAt = now;
    toRoot(makeFailure(*memory.control), now);
  }
  // Nobody may be left who could decide.
  bool isAlone = !root && !door;
  if (hasFailed && !isJudged && (isAlone || now - failedAt > verdictPatience))
    takeVerdict({memory.control->failureStatus, memory.control->failure,
                 memory.control->committed.load()});
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

bool Agent::isDone(double now) const {
  if (!hasLeft)
    return false;
  double patience = rootLoss.empty() ? farewellPatience : successorPatience;
  return !root || root->isOver() || now - leftAt > patience;
}

void Agent::takeEvent(const DoorEvent &event, double now) {
  if (event.kind == DoorEvent::Message)
    root->receive(event.node, event.message, now);
  else
    root->lose(event.node, now);
}

void Agent::listen(double now) {
  DoorEvent event;
  while (rootDoor && (event = rootDoor->receive()).kind != DoorEvent::None)
    takeEvent(event, now);
  while (successorDoor &&
         (event = successorDoor->receive()).kind != DoorEvent::None)
    early.push_back(event);
  while (door && (event = door->receive()).kind != DoorEvent::None) {
    if (event.kind == DoorEvent::Message)
      handle(event.message, now);
    else if (isWelcome && !hasLeft)
      loseRoot("has ended its connection without a word", now);
  }
}

void Agent::watchNodes(double now) {
  if (root) {
    root->countCommitted(memory.control->committed.load());
    return root->tick(now);
  }
  if (!isWelcome || hasLeft || isJudged)
    return;
  if (!rootLoss.empty()) {
    if (now - rootLostAt > successorPatience)
      judgeAlone();
    return;
  }
  // A rank has complained here, or others have turned to this node.
  double silence = now - rootHeardAt;
  bool isMissed = hasComplained && now - complainedAt > rootPatience;
  isMissed |= !early.empty();
  if (silence > (isMissed ? rootPatience : Root::Patience().silence))
    loseRoot(format("has not been heard of for %.0f s", silence), now);
}

void Agent::leave(double now) {
  bool mayLeave =
      isEnding.load() && (isJudged || !memory.control->aborted.load());
  if (!mayLeave || hasLeft)
    return;
  hasLeft = true;
  leftAt = now;
  toRoot(encode(MessageKind::Bye), now);
}

void Agent::sleep(bool isSeeking) {
  bool isUrgent = isSeeking || hasFailed || hasLeft;
  waitForDoors(rootDoor.get(), door.get(), wakeFd, isUrgent ? 0.02 : 0.1);
  uint64_t count;
  while (read(wakeFd, &count, sizeof(count)) > 0)
    ;
}

void Agent::run() {
  begin = monotonicSeconds();
  std::string error = open();
  if (!error.empty()) {
    recordFailure(memory, memory.place.ranks(), statusOfFailure(error),
                  describeNode(memory) + error);
    // No node finds it.
    root.reset();
    rootDoor.reset();
  } else if (root) {
    root->receive(0, makeHello(memory, manifest, options, nullptr), begin);
  }
  for (;;) {
    double now = monotonicSeconds();
    bool isSeeking =
        !root && !isWelcome && !isJudged && !memory.control->aborted.load();
    if (isSeeking)
      seekRoot(now);
    listen(now);
    watchNodes(now);
    speak(now);
    sendStates(now);
    leave(now);
    if (isDone(now))
      break;
    sleep(isSeeking);
  }
  rootPlace.remove();
  door.reset();
  rootDoor.reset();
  successorDoor.reset();
}
