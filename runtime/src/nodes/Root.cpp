//===- Root.cpp - The decisions of a job on several nodes -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Root.h.
//
//===----------------------------------------------------------------------===//

#include "Root.h"

#include <algorithm>

using namespace tessera::rt;

std::string tessera::rt::nameRank(const Placement &place,
                                  const std::vector<std::string> &hosts,
                                  int rank) {
  if (!place.isAcrossNodes())
    return format("rank %d", rank);
  int node = place.nodeOf(rank);
  std::string text = format("rank %d on node %d", rank, node);
  return size_t(node) < hosts.size() ? text + " (" + hosts[size_t(node)] + ")"
                                     : text;
}

static std::string describeWork(const RankSnapshot &rank) {
  return rank.work.empty() ? "it has not reached any collective" : rank.work;
}

std::string tessera::rt::describeLoss(int node, const std::string &host,
                                      const std::string &how,
                                      const RankSnapshot &first) {
  return format("node %d (", node) + host + ") " + how +
         format("; rank %d there: ", first.rank) + describeWork(first);
}

/// True if a rank can make no progress by itself.
static bool isStuck(const RankSnapshot &rank) {
  bool isStopped = rank.process == 'T' || rank.process == 't';
  bool isGone = rank.hasStarted && (rank.process == 0 || rank.process == 'Z' ||
                                    rank.process == 'X');
  return isStopped || (isGone && !rank.hasFinished);
}

/// The rank of missing nodes that the others wait for in a meet: the first that
/// does not wait there itself.
static int findAbsent(const std::vector<RankSnapshot> &ranks,
                      const Placement &place, const std::set<int> &missing) {
  int first = -1;
  for (const RankSnapshot &rank : ranks) {
    if (!missing.count(place.nodeOf(rank.rank)))
      continue;
    if (isStuck(rank))
      return rank.rank;
    if (first < 0 && rank.waitingFor != waitsForNodes)
      first = rank.rank;
  }
  return first;
}

/// The rank that devices of others wait for: one that can make no progress, or
/// that has not begun the step of the rank that complains; -1: there is none.
static int findBehind(const std::vector<RankSnapshot> &ranks,
                      const RankSnapshot &complainer) {
  auto it = std::find_if(ranks.begin(), ranks.end(), isStuck);
  if (it == ranks.end())
    it = std::find_if(ranks.begin(), ranks.end(), [&](const RankSnapshot &r) {
      return r.stepsBegun < complainer.stepsBegun;
    });
  return it == ranks.end() ? -1 : it->rank;
}

int tessera::rt::findCulprit(const std::vector<RankSnapshot> &ranks,
                             const LateMessage &complaint,
                             const Placement &place,
                             const std::set<int> &missing) {
  std::set<int> chain;
  int culprit = complaint.missing;
  if (culprit == waitsForDevices) {
    culprit = findBehind(ranks, ranks[size_t(complaint.rank)]);
    if (culprit < 0)
      return culprit;
  }
  for (;;) {
    if (culprit == waitsForNodes)
      culprit = findAbsent(ranks, place, missing);
    if (culprit < 0 || size_t(culprit) >= ranks.size())
      return complaint.rank;
    const RankSnapshot &rank = ranks[size_t(culprit)];
    if (!chain.insert(culprit).second || isStuck(rank) || rank.waitingFor == -1)
      return culprit;
    culprit = rank.waitingFor;
  }
}

Root::Root(const Placement &place, const Patience &patience, std::string token,
           Send send, double now)
    : place(place), patience(patience), token(std::move(token)),
      send(std::move(send)), begin(now), members(size_t(place.nodes)),
      hosts(size_t(place.nodes)), ranks(size_t(place.ranks())) {
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    ranks[rank].rank = int32_t(rank);
}

std::string Root::name(int rank) const { return nameRank(place, hosts, rank); }

std::string Root::nameNode(int node) const {
  return format("node %d (%s)", node, hosts[size_t(node)].c_str());
}

std::string Root::describeLossOf(int node, const std::string &how) const {
  return describeLoss(node, hosts[size_t(node)], how,
                      ranks[size_t(node * place.perNode)]);
}

void Root::sendAll(const std::string &message) {
  for (int node = 0; node < place.nodes; ++node)
    if (members[size_t(node)].isHere && !members[size_t(node)].isGone)
      send(node, message);
  for (int number : standIns)
    send(number, message);
}

void Root::decide(Status status, const std::string &text) {
  if (isDecided)
    return;
  isDecided = true;
  decision = encode(Verdict{status, text, committed}, /*isFinal=*/true);
  sendAll(decision);
}

bool Root::isOver() const {
  return std::all_of(members.begin(), members.end(),
                     [this](const Member &member) {
                       // A node that comes late gets the decision.
                       bool isAwaited = member.isHere || isDecided;
                       return member.isGone || member.isLost || !isAwaited;
                     });
}

void Root::receive(int node, const std::string &message, double now) {
  MessageKind kind;
  if (node < 0 || !readKind(message, kind))
    return;
  if (node >= place.nodes)
    return receiveStandIn(node, kind, message, now);
  Member &member = members[size_t(node)];
  member.heardAt = now;
  // A node that has come late to the successor.
  if (isSuccessor && isDecided && kind != MessageKind::Bye)
    return send(node, decision);
  if (kind == MessageKind::Hello)
    return greet(node, message);
  if (!member.isHere)
    return;
  if (kind == MessageKind::Meet)
    return meet(node, message);
  if (kind == MessageKind::States) {
    member.statesAt = now;
    return hear(node, message);
  }
  if (kind == MessageKind::Late)
    return complain(message, now);
  if (kind == MessageKind::Bye)
    member.isGone = true;
  Verdict verdict;
  if (kind == MessageKind::Failure && decode(message, verdict))
    decide(verdict.status, verdict.text);
}

void Root::receiveStandIn(int number, MessageKind kind,
                          const std::string &message, double now) {
  int rank = number - place.nodes;
  if (rank >= place.ranks() || !isWelcome)
    return;
  standIns.insert(number);
  int node = place.nodeOf(rank);
  if (isDecided) {
    members[size_t(node)].isGone |= isSuccessor;
    return send(number, decision);
  }
  Verdict verdict;
  if (kind == MessageKind::States) {
    members[size_t(node)].statesAt = now;
    hear(node, message);
  } else if (kind == MessageKind::Late) {
    complain(message, now);
    members[size_t(node)].statesAt = now;
  } else if (kind == MessageKind::Failure && decode(message, verdict)) {
    decide(verdict.status, verdict.text);
  }
}

//===----------------------------------------------------------------------===//
// The start
//===----------------------------------------------------------------------===//

/// Describes how a node differs from node 0; empty: it does not.
static std::string compareHellos(const Hello &first, const Hello &other) {
  auto differ = [&](const std::string &what, const std::string &a,
                    const std::string &b) {
    return "all nodes expect the same " + what + ", but node 0 (" + first.host +
           ") has " + a + format(" and node %d (", other.node) + other.host +
           ") has " + b;
  };
  auto number = [](int32_t value) { return std::to_string(value); };
  if (first.abiVersion != other.abiVersion)
    return differ("version of the runtime", number(first.abiVersion),
                  number(other.abiVersion));
  if (first.nodes != other.nodes)
    return differ("number of nodes", number(first.nodes), number(other.nodes));
  if (first.perNode != other.perNode)
    return differ("number of ranks per node", number(first.perNode),
                  number(other.perNode));
  if (first.program != other.program)
    return differ("program", first.program, other.program);
  for (size_t i = 0; i < first.facts.size(); ++i) {
    if (i >= other.facts.size() || first.facts[i].name != other.facts[i].name)
      return differ("options", "others", "others");
    if (first.facts[i].value != other.facts[i].value)
      return differ(first.facts[i].name, first.facts[i].value,
                    other.facts[i].value);
  }
  return std::string();
}

void Root::greet(int node, const std::string &message) {
  Member &member = members[size_t(node)];
  Hello hello;
  if (member.isHere)
    return;
  if (!decode(message, hello) || hello.node != node) {
    member.isHere = true;
    return decide(TESSERA_RT_MISMATCH,
                  format("expects the hello of node %d as this version of the "
                         "runtime sends it, but got another",
                         node));
  }
  hosts[size_t(node)] = hello.host;
  member.hello = hello;
  member.isHere = true;
  if (isDecided)
    return send(node, decision);
  std::string difference = compareWithFirst(node);
  if (!difference.empty())
    return decide(TESSERA_RT_MISMATCH, difference);
  bool isWhole = std::all_of(members.begin(), members.end(),
                             [](const Member &m) { return m.isHere; });
  if (isWhole)
    welcome();
}

std::string Root::compareWithFirst(int node) const {
  const Member &first = members[0];
  if (!first.isHere)
    return std::string();
  if (node != 0)
    return compareHellos(first.hello, members[size_t(node)].hello);
  // Node 0 comes after others.
  std::string difference;
  for (const Member &other : members)
    if (other.isHere && difference.empty())
      difference = compareHellos(first.hello, other.hello);
  return difference;
}

void Root::welcome() {
  isWelcome = true;
  sendAll(encode(Welcome{token, hosts, members[1].hello.successor}));
}

//===----------------------------------------------------------------------===//
// Meets
//===----------------------------------------------------------------------===//

void Root::meet(int node, const std::string &bytes) {
  MeetMessage message;
  if (!decode(bytes, message))
    return decide(TESSERA_RT_MISMATCH,
                  nameNode(node) + " sends a meet that is none");
  members[size_t(node)].meet = message.number;
  arrived[node] = std::move(message);
  if (int(arrived.size()) < place.nodes)
    return;
  // In the order of nodes, so that sums have one value.
  MeetMessage result = arrived[0];
  for (auto &[other, part] : arrived) {
    if (part.number != result.number)
      return decide(TESSERA_RT_MISMATCH,
                    format("node 0 is at meet %llu, but %s at meet %llu",
                           (unsigned long long)result.number,
                           nameNode(other).c_str(),
                           (unsigned long long)part.number));
    if (other == 0)
      continue;
    result.facts.add(part.facts);
    result.parts.insert(result.parts.end(), part.parts.begin(),
                        part.parts.end());
  }
  arrived.clear();
  sendAll(encode(result, /*isOver=*/true));
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void Root::hear(int node, const std::string &message) {
  States states;
  if (!decode(message, states))
    return;
  for (RankSnapshot &rank : states.ranks)
    if (rank.rank >= 0 && rank.rank < place.ranks() &&
        place.nodeOf(rank.rank) == node)
      ranks[size_t(rank.rank)] = std::move(rank);
}

void Root::succeed(const std::vector<std::string> &names,
                   const RankSnapshot &first, const std::string &how,
                   double now) {
  isSuccessor = isWelcome = true;
  hosts = names;
  ranks[0] = first;
  for (Member &member : members)
    member.isHere = true;
  awaitStandIn(0, how, now);
}

void Root::awaitStandIn(int node, const std::string &how, double now) {
  lostNode = node;
  loss = how;
  // Nobody speaks for a node of one rank.
  members[size_t(node)].isGone = place.perNode == 1;
  examine({-1, node * place.perNode, 0, how}, now);
}

void Root::complain(const std::string &message, double now) {
  LateMessage late;
  if (decode(message, late) && late.rank >= 0 && late.rank < place.ranks())
    examine(late, now);
}

void Root::examine(const LateMessage &late, double now) {
  // A rank that complains says more than that a node is lost.
  if (!isDecided && (askedAt == 0 || complaint.rank < 0))
    complaint = late;
  if (isDecided || askedAt != 0)
    return;
  askedAt = now;
  sendAll(encode(MessageKind::AskStates));
}

/// Says why a rank does not arrive.
static std::string describeState(const RankSnapshot &rank, bool isSilent) {
  if (isSilent)
    return "does not answer, nor does its node";
  if (!rank.hasStarted)
    return "has not started";
  if (rank.hasFinished)
    return "has finished already";
  if (rank.process == 'T' || rank.process == 't')
    return "is stopped";
  if (isStuck(rank))
    return "is dead";
  if (rank.waitingFor >= 0)
    return format("waits for rank %d: ranks wait for each other",
                  rank.waitingFor);
  return "is running, but does not arrive";
}

void Root::judge(double now) {
  bool isWhole = true;
  std::set<int> missing;
  for (int node = 0; node < place.nodes; ++node) {
    isWhole &= !isSilent(node);
    if (!arrived.empty() && !arrived.count(node))
      missing.insert(node);
  }
  bool isLoss = lostNode >= 0;
  if (!isWhole && now < askedAt + (isLoss ? patience.standIn : patience.states))
    return;
  if (isLoss)
    missing.insert(lostNode);
  int culprit = findCulprit(ranks, complaint, place, missing);
  bool isHeard = isLoss && members[size_t(lostNode)].statesAt >= askedAt;
  if (isLoss &&
      (culprit < 0 || (!isHeard && place.nodeOf(culprit) == lostNode)))
    return decide(TESSERA_RT_LOST_RANK, describeLossOf(lostNode, loss));
  for (int node = 0; node < place.nodes && culprit < 0; ++node)
    if (isSilent(node))
      culprit = node * place.perNode;
  if (culprit >= 0)
    return blame(culprit);
  decide(TESSERA_RT_LOST_RANK,
         complaint.what +
             format(" is not over after %.0f s: ", complaint.waited) +
             devicesAreLate);
}

void Root::blame(int culprit) {
  const RankSnapshot &rank = ranks[size_t(culprit)];
  std::string waits;
  if (complaint.rank >= 0)
    waits = format("; rank %d has waited %.0f s in ", complaint.rank,
                   complaint.waited) +
            complaint.what;
  decide(TESSERA_RT_LOST_RANK,
         name(culprit) + " " +
             describeState(rank, isSilent(place.nodeOf(culprit))) + "; " +
             describeWork(rank) + waits);
}

void Root::lose(int node, double now) {
  if (node < 0 || node >= place.nodes)
    return;
  Member &member = members[size_t(node)];
  if (!member.isHere || member.isGone || member.isLost)
    return;
  member.isLost = true;
  if (!isDecided && lostNode < 0)
    awaitStandIn(node, "has ended its connection without a word", now);
}

void Root::tick(double now) {
  if (isDecided)
    return;
  if (!isWelcome) {
    if (now - begin <= patience.join)
      return;
    std::string absent;
    for (int node = 0; node < place.nodes; ++node) {
      Member &member = members[size_t(node)];
      if (!member.isHere)
        absent += format(absent.empty() ? "%d" : ", %d", node);
      member.isLost = !member.isHere;
    }
    return decide(TESSERA_RT_LOST_RANK,
                  format("expects %d nodes, but after %.0f s these are "
                         "missing: ",
                         place.nodes, now - begin) +
                      absent);
  }
  if (askedAt != 0)
    return judge(now);
  for (int node = 0; node < place.nodes; ++node) {
    Member &member = members[size_t(node)];
    if (member.isGone || member.isLost ||
        now - member.heardAt <= patience.silence)
      continue;
    member.isLost = true;
    return decide(
        TESSERA_RT_LOST_RANK,
        describeLossOf(node, format("has not been heard of for %.0f s",
                                    now - member.heardAt)));
  }
}
