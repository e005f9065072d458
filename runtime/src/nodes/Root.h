//===- Root.h - The decisions of a job on several nodes ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The root, at node 0, lets the nodes in, combines their meets, and says why a
// job stops: it alone, so that all nodes give the same reason. It knows neither
// sockets nor the memory of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_ROOT_H
#define TESSERA_RT_SRC_ROOT_H

#include "Messages.h"
#include "ranks/Placement.h"

#include <functional>
#include <map>
#include <set>

namespace tessera::rt {

/// "rank 3", or on several nodes "rank 3 on node 1 (host)".
std::string nameRank(const Placement &place,
                     const std::vector<std::string> &hosts, int rank);

/// The rank at fault when `complaint` was made: the one at the end of the chain
/// of waits, or one of a cycle; -1 if devices wait for each other though all
/// ranks have begun the step. `missing` are the nodes that other nodes wait for
/// in a meet. `ranks` are all ranks of the job.
int findCulprit(const std::vector<RankSnapshot> &ranks,
                const LateMessage &complaint, const Placement &place,
                const std::set<int> &missing);

/// "node 1 (host) has ended its connection without a word; rank 2 there: its
/// last collective is ...", of a node that is lost in the manner `how`, and the
/// last known state of its first rank.
std::string describeLoss(int node, const std::string &host,
                         const std::string &how, const RankSnapshot &first);

/// The decisions of the job. They are made by the agent of node 0, and if that
/// is lost by its successor, the agent of node 1: it has nothing to decide but
/// why the job stops, so that all nodes that are left say the same.
class Root {
public:
  /// Sends a message to a node.
  using Send = std::function<void(int node, const std::string &message)>;

  /// Waits of the root, in seconds.
  struct Patience {
    /// Time until all nodes are there.
    double join = 60;
    /// Time without a word from a node, or at a node from the root, after which
    /// it is lost.
    double silence = 15;
    /// Time for nodes to say what their ranks do.
    double states = 3;
    /// The same after the loss of a node's agent: its ranks have to notice
    /// first that they are without one.
    double standIn = 1.5;
  };

  Root(const Placement &place, const Patience &patience, std::string token,
       Send send, double now);

  /// Takes a message of a node, or of a rank that stands in for the agent of
  /// its node; see StandIn.h. `now` are seconds of the monotonic clock.
  void receive(int node, const std::string &message, double now);
  /// Takes note that the connection of a node has ended.
  void lose(int node, double now);
  /// Does what is due.
  void tick(double now);
  /// Takes the place of the root, which is lost: `how` is what follows its
  /// node's name, "has not been heard of for 15 s". `first` is the last known
  /// state of rank 0.
  void succeed(const std::vector<std::string> &hosts, const RankSnapshot &first,
               const std::string &how, double now);
  /// Takes note of the checkpoints that were committed so far. All nodes learn
  /// the same number with the verdict.
  void countCommitted(int64_t count) { committed = count; }

  /// True once all nodes are there.
  bool isComplete() const { return isWelcome; }
  /// True once there is nothing to do: all nodes have said good-bye. After a
  /// decision those that have not come yet are awaited, too.
  bool isOver() const;

private:
  void greet(int node, const std::string &message);
  /// Describes how a node that has come differs from node 0, or, of node 0, how
  /// the first of the others does; empty: they do not, as far as they are here.
  std::string compareWithFirst(int node) const;
  void welcome();
  void meet(int node, const std::string &message);
  void hear(int node, const std::string &message);
  void complain(const std::string &message, double now);
  /// Asks all nodes what their ranks do, to judge then.
  void examine(const LateMessage &late, double now);
  /// Gives the ranks of a node without an agent time to speak for it.
  void awaitStandIn(int node, const std::string &how, double now);
  void receiveStandIn(int number, MessageKind kind, const std::string &message,
                      double now);
  void judge(double now);
  /// Names the rank that delays the others.
  void blame(int rank);
  void decide(Status status, const std::string &text);
  void sendAll(const std::string &message);
  std::string name(int rank) const;
  std::string nameNode(int node) const;
  std::string describeLossOf(int node, const std::string &how) const;

  bool isSilent(int node) const {
    const Member &member = members[size_t(node)];
    return !member.isGone && member.statesAt < askedAt;
  }

  /// A node as the root knows it.
  struct Member {
    bool isHere = false, isLost = false, isGone = false;
    Hello hello;
    double heardAt = 0, statesAt = 0;
    /// The number of the last meet that it came to.
    uint64_t meet = 0;
  };

  const Placement place;
  const Patience patience;
  const std::string token;
  const Send send;
  const double begin;
  std::vector<Member> members;
  std::vector<std::string> hosts;
  std::vector<RankSnapshot> ranks;
  bool isWelcome = false, isDecided = false, isSuccessor = false;
  /// The node whose agent is lost, and the manner of its loss; -1: none is.
  int lostNode = -1;
  std::string loss;
  int64_t committed = 0;
  /// The message of the decision.
  std::string decision;
  /// Ranks that stand in for their node's agent, by their numbers.
  std::set<int> standIns;
  /// The parts of the nodes that have come to the next meet.
  std::map<int, MeetMessage> arrived;
  /// The complaint that is looked into, and since when; none if 0.
  LateMessage complaint;
  double askedAt = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_ROOT_H
