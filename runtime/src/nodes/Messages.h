//===- Messages.h - Messages between agents and the root --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages of the nodes of a job, and their bytes: fields in the order of
// the struct, numbers as the processor has them, texts with their length first.
// A node of another byte order or version is refused by its hello.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_MESSAGES_H
#define TESSERA_RT_SRC_MESSAGES_H

#include "Meet.h"
#include "ranks/Agreement.h"
#include "ranks/Control.h"
#include "support/Support.h"

#include <string>
#include <vector>

namespace tessera::rt {

enum class MessageKind : uint8_t {
  Hello,
  Welcome,
  Meet,
  MeetOver,
  States,
  AskStates,
  Failure,
  Late,
  Verdict,
  Bye
};

/// The first message of a node: what must be equal on all, or fit together.
struct Hello {
  int32_t abiVersion = 0;
  int32_t node = 0, nodes = 1, perNode = 1;
  std::string host, program;
  /// The address at which this node would take the root's place, or empty.
  std::string successor;
  std::vector<Fact> facts;
};

/// The root's answer once all nodes are there.
struct Welcome {
  /// The secret that opens ranks' links.
  std::string token;
  /// Names of the nodes' hosts.
  std::vector<std::string> hosts;
  /// The address of the root's successor.
  std::string successor;
};

/// A node's part of a meet, or its result.
struct MeetMessage {
  /// Counts the meets of a job from 1.
  uint64_t number = 0;
  MeetFacts facts;
  /// Bytes of each node in turn; in a node's message its own.
  std::vector<std::string> parts;
};

/// A rank as its node sees it.
struct RankSnapshot {
  int32_t rank = 0;
  /// State letter of its process; 0: there is none.
  char process = 0;
  uint8_t hasStarted = 0, hasFinished = 0;
  /// The rank that it waits for; -1: none; waitsForNodes: other nodes.
  int32_t waitingFor = -1;
  /// RankBlock::stepsBegun.
  int64_t stepsBegun = 0;
  /// RankBlock::describeWork.
  std::string work;
};

struct States {
  std::vector<RankSnapshot> ranks;
};

/// The reason why the job stops, as a node sees it or as the root has decided.
struct Verdict {
  Status status = TESSERA_RT_OK;
  std::string text;
  /// Checkpoints that were committed since the ranks started, as the root
  /// knows.
  int64_t committed = 0;
};

/// A rank's complaint that it has waited too long.
struct LateMessage {
  /// The rank; in the root -1 for the loss of a node, of which `what` says how.
  int32_t rank = 0;
  /// The rank that it waits for, waitsForNodes or waitsForDevices.
  int32_t missing = 0;
  double waited = 0;
  /// The operation, barrier or step that it waits in.
  std::string what;
};

std::string encode(const Hello &message);
std::string encode(const Welcome &message);
std::string encode(const MeetMessage &message, bool isOver);
std::string encode(const States &message);
std::string encode(const Verdict &message, bool isFinal);
std::string encode(const LateMessage &message);
/// A message without fields.
std::string encode(MessageKind kind);

/// The kind of a message. Returns false if it is empty or of no kind.
bool readKind(const std::string &bytes, MessageKind &kind);
/// Read a message of its kind. Return false if bytes are missing or left over.
bool decode(const std::string &bytes, Hello &message);
bool decode(const std::string &bytes, Welcome &message);
bool decode(const std::string &bytes, MeetMessage &message);
bool decode(const std::string &bytes, States &message);
bool decode(const std::string &bytes, Verdict &message);
bool decode(const std::string &bytes, LateMessage &message);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_MESSAGES_H
