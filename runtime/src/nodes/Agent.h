//===- Agent.h - The voice of a node ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread per node that talks to the root of the job, and at node 0 is the
// root: in the launcher where it forks the ranks, else in the process of the
// node's first rank. It never waits for a rank.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_AGENT_H
#define TESSERA_RT_SRC_AGENT_H

#include "Doors.h"
#include "Root.h"
#include "RootPlace.h"
#include "data/Manifest.h"
#include "ranks/Control.h"
#include "run/Options.h"

#include <memory>
#include <thread>

namespace tessera::rt {

class Agent {
public:
  /// `job` is the same on all nodes. The memory is that of this node's ranks.
  Agent(SharedMemory &memory, const Manifest &manifest, const Options &options,
        std::string job);
  ~Agent();

  /// The descriptor that ranks write to when they want something.
  int wake() const { return wakeFd; }
  /// Starts the thread. If `prints`, it prints the line about a failure: the
  /// main thread of its process may be the one that does not go on.
  void start(bool prints);
  /// Says good-bye, and ends the thread. If ranks have failed, waits for the
  /// root's verdict first.
  void finish();
  /// The line about the failure of the job, the same on all nodes; empty: there
  /// was none. Valid after `finish`.
  const std::string &failure() const { return verdict.text; }

private:
  void run();
  std::string open();
  std::string openRoot();
  /// Connects with the root that its file names, if it is another one.
  void seekRoot(double now);
  void handle(const std::string &message, double now);
  void takeWelcome(const Welcome &welcome);
  void takeMeet(const MeetMessage &message);
  void takeVerdict(const Verdict &decided);
  /// Turns to the root's successor, or takes its place. Without one, decides
  /// for this node alone.
  void loseRoot(const std::string &how, double now);
  /// Becomes the root of a job whose root is lost.
  void succeed(const std::string &how, double now);
  /// Decides for this node alone that the root is lost.
  void judgeAlone();
  /// Opens the door of the root's successor, if this node has it.
  std::string openSuccessor();
  /// Makes the root of this agent; `token` opens the links of ranks.
  void openRootWith(std::string token);
  /// Says again what the root has not answered.
  void repeat(double now);
  /// Sends what ranks ask for.
  void speak(double now);
  void sendStates(double now);
  void toRoot(const std::string &message, double now);
  /// Takes what has come.
  void listen(double now);
  void takeEvent(const DoorEvent &event, double now);
  /// Looks whether nodes, or the root, are silent.
  void watchNodes(double now);
  /// Says good-bye once ranks have ended.
  void leave(double now);
  /// Waits until there may be something to do.
  void sleep(bool isSeeking);
  bool isDone(double now) const;

  SharedMemory &memory;
  const Manifest &manifest;
  const Options &options;
  const std::string job;
  int wakeFd = -1;
  std::thread thread;
  std::atomic<bool> isEnding{false};
  bool prints = false;

  RootPlace rootPlace;
  RootAddress rootAddress;
  std::string address;
  std::unique_ptr<RootDoor> rootDoor;
  std::unique_ptr<Root> root;
  std::unique_ptr<AgentDoor> door;
  /// The address that all turn to if the root is lost. At node 1 its door, and
  /// what has come there while the root lives, as far as is known.
  RootAddress successor;
  std::unique_ptr<RootDoor> successorDoor;
  std::vector<DoorEvent> early;
  std::vector<std::string> hosts;

  bool isWelcome = false, isJudged = false;
  bool hasFailed = false, hasComplained = false, hasLeft = false;
  uint64_t meetsSent = 0;
  double begin = 0, soughtAt = 0, helloAt = 0, statesAt = 0, rootHeardAt = 0,
         failedAt = 0, leftAt = 0, complainedAt = 0, rootLostAt = 0;
  /// Manner of the loss of the root; empty: it lives, as far as is known.
  std::string rootLoss;
  /// The last known state of rank 0.
  RankSnapshot firstRank;
  Verdict verdict;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_AGENT_H
