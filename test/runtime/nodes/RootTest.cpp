//===- RootTest.cpp - The decisions of a job on several nodes -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The root without sockets: who is let in, what a meet gives, and which rank is
// at fault.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/nodes/Root.h"

#include <gtest/gtest.h>
#include <random>

using namespace tessera::rt;

namespace {
/// A root, and the messages that its nodes got, and ranks that stand in.
struct Job {
  explicit Job(int nodes, int perNode)
      : place{0, nodes, perNode}, got(size_t(nodes + nodes * perNode)),
        root(
            place, {}, "token",
            [this](int node, const std::string &message) {
              got[size_t(node)].push_back(message);
            },
            0) {}

  Hello hello(int node) const {
    Hello hello;
    hello.abiVersion = 1;
    hello.node = node;
    hello.nodes = place.nodes;
    hello.perNode = place.perNode;
    hello.host = "host" + std::to_string(node);
    hello.program = "step 123";
    hello.facts = {{"--seed", "0"}};
    hello.successor = node == 1 ? "tcp://host1:1" : "";
    return hello;
  }
  void join() {
    for (int node = place.nodes; node-- > 0;)
      root.receive(node, encode(hello(node)), 0);
  }
  /// Says what the ranks of a node do.
  void say(int node, std::vector<RankSnapshot> ranks, double now) {
    root.receive(node, encode(States{std::move(ranks)}), now);
  }
  /// The verdict that a node got; empty: none.
  std::string verdict(int node) const {
    Verdict verdict;
    MessageKind kind;
    for (const std::string &message : got[size_t(node)])
      if (readKind(message, kind) && kind == MessageKind::Verdict)
        EXPECT_TRUE(decode(message, verdict));
    return verdict.text;
  }
  /// Expects one verdict on all nodes.
  void expectVerdict(const std::string &text) const {
    for (int node = 0; node < place.nodes; ++node)
      EXPECT_EQ(verdict(node), text) << node;
  }

  Placement place;
  std::vector<std::vector<std::string>> got;
  Root root;
};

RankSnapshot snapshot(int rank, int waitingFor, char process = 'S') {
  RankSnapshot s;
  s.rank = rank;
  s.process = process;
  s.hasStarted = 1;
  s.waitingFor = waitingFor;
  s.work = "its last collective is all_reduce #7";
  return s;
}

MeetMessage meet(uint64_t number) {
  MeetMessage message;
  message.number = number;
  return message;
}
} // namespace

TEST(root, welcomes_nodes_once_all_are_there) {
  Job job(3, 2);
  job.root.receive(2, encode(job.hello(2)), 0);
  job.root.receive(0, encode(job.hello(0)), 0);
  EXPECT_FALSE(job.root.isComplete());
  EXPECT_TRUE(job.got[0].empty());
  // A hello that is sent again changes nothing.
  job.root.receive(2, encode(job.hello(2)), 0);
  job.root.receive(1, encode(job.hello(1)), 0);
  EXPECT_TRUE(job.root.isComplete());
  for (int node = 0; node < 3; ++node) {
    Welcome welcome;
    ASSERT_EQ(job.got[size_t(node)].size(), 1u);
    ASSERT_TRUE(decode(job.got[size_t(node)][0], welcome));
    EXPECT_EQ(welcome.token, "token");
    EXPECT_EQ(welcome.hosts,
              (std::vector<std::string>{"host0", "host1", "host2"}));
    EXPECT_EQ(welcome.successor, "tcp://host1:1");
  }
}

TEST(root, refuses_nodes_that_differ) {
  struct Case {
    void (*change)(Hello &hello);
    const char *expected;
  };
  for (const Case &c : std::initializer_list<Case>{
           {[](Hello &h) { h.abiVersion = 2; },
            "all nodes expect the same version of the runtime, but node 0 "
            "(host0) has 1 and node 1 (host1) has 2"},
           {[](Hello &h) { h.perNode = 4; },
            "all nodes expect the same number of ranks per node, but node 0 "
            "(host0) has 2 and node 1 (host1) has 4"},
           {[](Hello &h) { h.program = "other 1"; },
            "all nodes expect the same program, but node 0 (host0) has step "
            "123 and node 1 (host1) has other 1"},
           {[](Hello &h) { h.facts[0].value = "3"; },
            "all nodes expect the same --seed, but node 0 (host0) has 0 and "
            "node 1 (host1) has 3"}}) {
    Job job(2, 2);
    Hello other = job.hello(1);
    c.change(other);
    job.root.receive(1, encode(other), 0);
    job.root.receive(0, encode(job.hello(0)), 0);
    job.expectVerdict(c.expected);
    EXPECT_FALSE(job.root.isComplete());
  }
}

TEST(root, names_nodes_that_do_not_come) {
  Job job(4, 1);
  job.root.receive(0, encode(job.hello(0)), 0);
  job.root.receive(2, encode(job.hello(2)), 0);
  job.root.tick(59);
  EXPECT_EQ(job.verdict(0), "");
  job.root.tick(61);
  EXPECT_EQ(job.verdict(0), "expects 4 nodes, but after 61 s these are "
                            "missing: 1, 3");
  EXPECT_EQ(job.verdict(2), job.verdict(0));
  // They are not awaited any longer.
  for (int node : {0, 2})
    job.root.receive(node, encode(MessageKind::Bye), 62);
  EXPECT_TRUE(job.root.isOver());
}

TEST(root, nodes_that_come_after_the_decision_get_it) {
  Job job(4, 1);
  Hello other = job.hello(2);
  other.program = "other 1";
  job.root.receive(0, encode(job.hello(0)), 0);
  job.root.receive(2, encode(other), 0);
  job.root.receive(0, encode(MessageKind::Bye), 1);
  job.root.receive(2, encode(MessageKind::Bye), 1);
  EXPECT_FALSE(job.root.isOver());
  for (int node : {1, 3}) {
    job.root.receive(node, encode(job.hello(node)), 2);
    job.root.receive(node, encode(MessageKind::Bye), 2);
  }
  job.expectVerdict("all nodes expect the same program, but node 0 (host0) has "
                    "step 123 and node 2 (host2) has other 1");
  EXPECT_TRUE(job.root.isOver());
}

TEST(root, a_meet_combines_the_facts_of_all_nodes) {
  Job job(3, 2);
  job.join();
  for (int node = 2; node >= 0; --node) {
    MeetMessage message = meet(1);
    message.parts = {"part" + std::to_string(node)};
    MeetFacts &facts = message.facts;
    facts.stopDecided = node == 0 ? 15 : 0;
    facts.asksCheckpoint = node == 2;
    facts.step.cpuSeconds = 1;
    facts.step.memoryBytes = 100 + node;
    facts.step.slowestRank = 2 * node;
    facts.step.busySeconds = node == 1 ? 3 : 2;
    if (node == 2) {
      float loss = 1.5;
      facts.step.hasScalar[0] = 1;
      memcpy(facts.step.scalars[0], &loss, sizeof(loss));
    }
    job.root.receive(node, encode(message, /*isOver=*/false), 1);
  }
  for (int node = 0; node < 3; ++node) {
    MeetMessage result;
    ASSERT_TRUE(decode(job.got[size_t(node)].back(), result));
    EXPECT_EQ(result.number, 1u);
    EXPECT_EQ(result.parts,
              (std::vector<std::string>{"part0", "part1", "part2"}));
    EXPECT_EQ(result.facts.stopDecided, 15);
    EXPECT_EQ(result.facts.asksCheckpoint, 1);
    EXPECT_EQ(result.facts.step.cpuSeconds, 3);
    EXPECT_EQ(result.facts.step.memoryBytes, 102);
    EXPECT_EQ(result.facts.step.slowestRank, 2);
    float loss;
    memcpy(&loss, result.facts.step.scalars[0], sizeof(loss));
    EXPECT_EQ(result.facts.step.hasScalar[0], 1);
    EXPECT_EQ(loss, 1.5f);
  }
}

TEST(root, the_first_layer_without_room_counts) {
  StepFacts a, b;
  b.roomNeeded = 1.5;
  b.layer = 3;
  snprintf(b.overflow, sizeof(b.overflow), "layer 3");
  a.add(b);
  EXPECT_STREQ(a.overflow, "layer 3");
  b.layer = 1;
  b.roomNeeded = 1.1;
  snprintf(b.overflow, sizeof(b.overflow), "layer 1");
  a.add(b);
  EXPECT_STREQ(a.overflow, "layer 1");
  b.layer = 2;
  b.roomNeeded = 9;
  a.add(b);
  EXPECT_STREQ(a.overflow, "layer 1");
}

TEST(root, the_first_failure_is_the_verdict_of_all) {
  Job job(3, 1);
  job.join();
  job.root.receive(
      2, encode(Verdict{TESSERA_RT_INVALID, "rank 2: a", 0}, false), 1);
  job.root.receive(
      1, encode(Verdict{TESSERA_RT_INVALID, "rank 1: b", 0}, false), 1);
  job.expectVerdict("rank 2: a");
}

TEST(root, a_complaint_names_the_rank_that_others_wait_for) {
  Job job(2, 2);
  job.join();
  job.say(1, {snapshot(2, -1), snapshot(3, 2)}, 1);
  job.root.receive(0, encode(LateMessage{0, 1, 60, "all_reduce #9"}), 60);
  job.say(0, {snapshot(0, 1), snapshot(1, 3)}, 60.1);
  job.root.tick(60.2);
  EXPECT_EQ(job.verdict(0), "");
  job.say(1, {snapshot(2, -1, 'T'), snapshot(3, 2)}, 60.3);
  job.root.tick(60.4);
  job.expectVerdict("rank 2 on node 1 (host1) is stopped; its last collective "
                    "is all_reduce #7; rank 0 has waited 60 s in all_reduce "
                    "#9");
}

TEST(root, a_node_that_does_not_answer_is_named_with_its_rank) {
  Job job(2, 1);
  job.join();
  job.say(1, {snapshot(1, -1)}, 58);
  job.root.receive(0, encode(LateMessage{0, 1, 60, "all_reduce #9"}), 60);
  job.say(0, {snapshot(0, 1)}, 60.1);
  job.root.tick(61);
  EXPECT_EQ(job.verdict(0), "");
  job.root.tick(63.5);
  job.expectVerdict("rank 1 on node 1 (host1) does not answer, nor does its "
                    "node; its last collective is all_reduce #7; rank 0 has "
                    "waited 60 s in all_reduce #9");
}

TEST(root, a_meet_that_a_node_misses_names_its_rank) {
  Job job(3, 2);
  job.join();
  job.root.receive(0, encode(meet(4), false), 1);
  job.root.receive(2, encode(meet(4), false), 1);
  job.root.receive(0, encode(LateMessage{0, waitsForNodes, 60, "the barrier"}),
                   61);
  job.say(0, {snapshot(0, waitsForNodes), snapshot(1, 0)}, 61.1);
  // The first rank of node 1 waits for the second, which runs.
  job.say(1, {snapshot(2, 3), snapshot(3, -1, 'R')}, 61.1);
  job.say(2, {snapshot(4, waitsForNodes), snapshot(5, 4)}, 61.1);
  job.root.tick(61.2);
  job.expectVerdict("rank 3 on node 1 (host1) is running, but does not arrive; "
                    "its last collective is all_reduce #7; rank 0 has waited "
                    "60 s in the barrier");
}

TEST(root, late_devices_name_the_rank_that_delays_them) {
  auto judge = [](RankSnapshot other, bool answers) {
    Job job(2, 1);
    job.join();
    RankSnapshot complainer = snapshot(0, -1);
    complainer.stepsBegun = 3;
    job.root.receive(
        0, encode(LateMessage{0, waitsForDevices, 60, "run 3 of the step"}),
        60);
    job.say(0, {complainer}, 60.1);
    if (answers)
      job.say(1, {other}, 60.1);
    job.root.tick(64);
    return job.verdict(0);
  };
  const std::string tail = "; its last collective is all_reduce #7; rank 0 has "
                           "waited 60 s in run 3 of the step";
  RankSnapshot other = snapshot(1, -1);
  other.stepsBegun = 2;
  EXPECT_EQ(judge(other, true),
            "rank 1 on node 1 (host1) is running, but does not arrive" + tail);
  other.stepsBegun = 3;
  EXPECT_EQ(judge(other, true),
            "run 3 of the step is not over after 60 s: all ranks have begun "
            "it; their devices wait for each other or do not answer");
  other.process = 'T';
  EXPECT_EQ(judge(other, true), "rank 1 on node 1 (host1) is stopped" + tail);
  // The first state of a node that has never answered.
  EXPECT_EQ(judge(other, false), "rank 1 on node 1 (host1) does not answer, "
                                 "nor does its node; it has not reached any "
                                 "collective; rank 0 has waited 60 s in run 3 "
                                 "of the step");
}

TEST(root, nodes_that_are_lost_or_silent_are_named) {
  {
    Job job(2, 2);
    job.join();
    job.say(1, {snapshot(2, -1), snapshot(3, -1)}, 1);
    job.root.lose(1, 2);
    // A rank there may know more.
    job.root.tick(3);
    EXPECT_EQ(job.verdict(0), "");
    job.root.tick(3.6);
    EXPECT_EQ(job.verdict(0),
              "node 1 (host1) has ended its connection without a word; rank 2 "
              "there: its last collective is all_reduce #7");
  }
  {
    Job job(2, 1);
    job.join();
    job.root.lose(1, 2);
    job.say(0, {snapshot(0, 1)}, 2.1);
    job.root.tick(2.2);
    EXPECT_EQ(job.verdict(0),
              "node 1 (host1) has ended its connection without a word; rank 1 "
              "there: it has not reached any collective");
  }
  {
    Job job(2, 2);
    job.join();
    job.root.lose(1, 2);
    // Rank 3 speaks for node 1.
    job.root.receive(2 + 3, encode(States{{snapshot(2, -1, 'Z')}}), 2.9);
    job.root.receive(2 + 3,
                     encode(Verdict{TESSERA_RT_LOST_RANK, "rank 2", 0},
                            /*isFinal=*/false),
                     2.9);
    EXPECT_EQ(job.verdict(0), "rank 2");
  }
  Job job(2, 2);
  job.join();
  for (double now = 0; now < 16; ++now)
    job.say(0, {snapshot(0, -1), snapshot(1, -1)}, now);
  job.root.tick(14);
  EXPECT_EQ(job.verdict(0), "");
  job.root.tick(16);
  EXPECT_EQ(job.verdict(0),
            "node 1 (host1) has not been heard of for 16 s; rank 2 there: it "
            "has not reached any collective");
}

namespace {
/// Node 1 of three as the successor of a root that it has lost.
struct Succession : Job {
  explicit Succession(int perNode) : Job(3, perNode) {
    root.succeed({"host0", "host1", "host2"}, snapshot(0, -1), "is away", 10);
    say(1, {snapshot(perNode, waitsForNodes)}, 10);
  }
  /// Expects one verdict on the nodes that are left.
  void expectVerdict(const std::string &text) const {
    EXPECT_EQ(verdict(1), text);
    EXPECT_EQ(verdict(2), text);
  }
};
const std::string lost = "node 0 (host0) is away; rank 0 there: its last "
                         "collective is all_reduce #7";
} // namespace

TEST(root, a_successor_says_how_the_root_was_lost) {
  Succession job(2);
  job.say(2, {snapshot(4, waitsForNodes)}, 10.5);
  job.root.tick(11);
  EXPECT_EQ(job.verdict(1), "");
  job.root.tick(11.6);
  job.expectVerdict(lost);
  // One that comes late gets it, too.
  job.got[2].clear();
  job.say(2, {}, 12);
  EXPECT_EQ(job.verdict(2), lost);
}

TEST(root, a_successor_waits_for_nobody_on_a_node_of_one_rank) {
  Succession job(1);
  job.say(2, {snapshot(2, waitsForNodes)}, 10.1);
  job.root.tick(10.2);
  job.expectVerdict(lost);
}

TEST(root, a_successor_hears_what_is_left_of_the_root_s_node) {
  {
    Succession job(2);
    // Rank 1 speaks for node 0.
    job.root.receive(4, encode(States{{snapshot(0, -1, 'T'), snapshot(1, 0)}}),
                     10.4);
    job.root.receive(4, encode(LateMessage{1, 0, 2, "all_reduce #8"}), 10.4);
    job.say(2, {snapshot(4, waitsForNodes)}, 10.5);
    job.root.tick(10.6);
    job.expectVerdict("rank 0 on node 0 (host0) is stopped; its last "
                      "collective is all_reduce #7; rank 1 has waited 2 s in "
                      "all_reduce #8");
  }
  Succession job(2);
  job.root.receive(4,
                   encode(Verdict{TESSERA_RT_LOST_RANK, "rank 0 is dead", 0},
                          /*isFinal=*/false),
                   10.4);
  job.expectVerdict("rank 0 is dead");
}

TEST(root, is_over_when_all_have_said_good_bye) {
  Job job(2, 1);
  job.join();
  EXPECT_FALSE(job.root.isOver());
  job.root.receive(1, encode(MessageKind::Bye), 1);
  // A connection that ends afterwards is no loss.
  job.root.lose(1, 2);
  EXPECT_EQ(job.verdict(0), "");
  job.root.receive(0, encode(MessageKind::Bye), 2);
  EXPECT_TRUE(job.root.isOver());
}

TEST(root, finds_the_end_of_every_chain_of_waits) {
  // In random waits with one rank that waits for nobody, every rank's complaint
  // leads to it.
  std::mt19937 random(7);
  Placement place{0, 256, 8};
  std::vector<RankSnapshot> ranks;
  for (int rank = 0; rank < place.ranks(); ++rank)
    ranks.push_back(snapshot(rank, -1));
  for (int round = 0; round < 100; ++round) {
    int victim = int(random() % ranks.size());
    std::vector<int> order(ranks.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = int(i);
    std::shuffle(order.begin(), order.end(), random);
    std::swap(order[0], *std::find(order.begin(), order.end(), victim));
    // Each waits for one before it in the order.
    for (size_t i = 0; i < order.size(); ++i)
      ranks[size_t(order[i])].waitingFor = i == 0 ? -1 : order[random() % i];
    int complainer = order[1 + random() % (order.size() - 1)];
    LateMessage late{complainer, ranks[size_t(complainer)].waitingFor, 60, ""};
    EXPECT_EQ(findCulprit(ranks, late, place, {}), victim);
  }
}

TEST(root, a_cycle_of_waits_ends) {
  std::vector<RankSnapshot> ranks = {snapshot(0, 1), snapshot(1, 2),
                                     snapshot(2, 1)};
  EXPECT_EQ(findCulprit(ranks, {0, 1, 1, ""}, {0, 3, 1}, {}), 1);
}

TEST(root, messages_that_are_cut_or_changed_are_refused) {
  Hello hello;
  hello.host = "a";
  hello.facts = {{"--seed", "0"}, {"--data", "text"}};
  std::string whole = encode(hello);
  for (size_t size = 0; size < whole.size(); ++size) {
    Hello read;
    EXPECT_FALSE(decode(whole.substr(0, size), read)) << size;
  }
  Hello read;
  EXPECT_FALSE(decode(whole + "x", read));
  Hello again;
  ASSERT_TRUE(decode(whole, again));
  EXPECT_EQ(again.facts[1].value, "text");
  MessageKind kind;
  EXPECT_FALSE(readKind("", kind));
  EXPECT_FALSE(readKind(std::string(1, char(200)), kind));
  // Any bytes are read or refused; a root lives on.
  Job job(2, 1);
  job.join();
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 80, 0);
    for (char &byte : bytes)
      byte = char(random());
    if (!bytes.empty() && random() % 2)
      bytes[0] = char(random() % 10);
    Root another = Root({0, 2, 1}, {}, "", [](int, const std::string &) {}, 0);
    another.receive(int(random() % 4) - 1, bytes, 0);
    another.receive(1, encode(job.hello(1)), 0);
    another.receive(1, bytes, 0);
    another.tick(1);
  }
}
