//===- DoorsTest.cpp - Tests of control messages between nodes ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Strangers.h"

#include "runtime/src/nodes/Doors.h"
#include "runtime/src/nodes/ZeroMq.h"
#include "runtime/src/support/Support.h"

#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

using namespace tessera::rt;

namespace {
class Doors : public testing::Test {
protected:
  void SetUp() override {
    if (Library library = findZeroMq(); !library.isUsable())
      GTEST_SKIP() << library.error;
    ASSERT_EQ(drawKey(key), "");
    openRoot(0);
  }

  void openRoot(int port) {
    std::string error;
    root = RootDoor::open("127.0.0.1", port, key, error);
    ASSERT_TRUE(root) << error;
    address = {root->endpoint(), key};
  }

  std::unique_ptr<AgentDoor> connect(int node) const {
    return connect(node, address);
  }
  static std::unique_ptr<AgentDoor> connect(int node,
                                            const RootAddress &address) {
    std::string error;
    auto agent = AgentDoor::connect(address, node, error);
    EXPECT_TRUE(agent) << error;
    return agent;
  }

  /// The next event at a door, or None after `seconds`.
  static DoorEvent await(RootDoor *root, AgentDoor *agent, double seconds) {
    double end = monotonicSeconds() + seconds;
    for (;;) {
      DoorEvent event = root ? root->receive() : agent->receive();
      double left = end - monotonicSeconds();
      if (event.kind != DoorEvent::None || left <= 0)
        return event;
      waitForDoors(root, agent, -1, left);
    }
  }
  DoorEvent awaitRoot(double seconds = 5) {
    return await(root.get(), nullptr, seconds);
  }
  static DoorEvent awaitAgent(AgentDoor &agent, double seconds = 5) {
    return await(nullptr, &agent, seconds);
  }

  static void expectMessage(const DoorEvent &event, int node,
                            const std::string &message) {
    EXPECT_EQ(event.kind, DoorEvent::Message);
    EXPECT_EQ(event.node, node);
    EXPECT_EQ(event.message.size(), message.size());
    EXPECT_TRUE(event.message == message);
  }
  static void expectGone(const DoorEvent &event, int node) {
    EXPECT_EQ(event.kind, DoorEvent::Gone);
    EXPECT_EQ(event.node, node);
  }
  /// Expects that what is sent on both ways arrives. Others may be gone.
  void exchange(AgentDoor &agent, int node, const std::string &text) {
    agent.send(text);
    DoorEvent event;
    do
      event = awaitRoot();
    while (event.kind == DoorEvent::Gone && event.node != node);
    expectMessage(event, node, text);
    root->send(node, text);
    expectMessage(awaitAgent(agent), -1, text);
  }

  /// Runs an agent in a process of its own, which sends a message, and then all
  /// that it receives.
  pid_t forkAgent(int node) {
    pid_t child = fork();
    if (child != 0)
      return child;
    std::string error;
    auto agent = AgentDoor::connect(address, node, error);
    agent->send("child");
    for (;;) {
      DoorEvent event = agent->receive();
      if (event.kind == DoorEvent::Message)
        agent->send(event.message);
      waitForDoors(nullptr, agent.get(), -1, 1);
    }
  }
  static void endChild(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  JobKey key;
  RootAddress address;
  std::unique_ptr<RootDoor> root;
};

std::string makeText(size_t bytes) {
  std::string text(bytes, 0);
  for (size_t i = 0; i < bytes; ++i)
    text[i] = char(i * 2654435761u >> 13);
  return text;
}
} // namespace

TEST_F(Doors, pass_messages_of_all_sizes_both_ways) {
  auto first = connect(0), third = connect(2);
  for (size_t bytes :
       {size_t(0), size_t(1), size_t(100), size_t(64511), size_t(64512),
        size_t(64513), size_t(65536), size_t(129024), size_t(1) << 20}) {
    exchange(*first, 0, makeText(bytes));
    exchange(*third, 2, makeText(bytes));
  }
  for (int i = 0; i < 1000; ++i)
    first->send(std::to_string(i));
  for (int i = 0; i < 1000; ++i)
    expectMessage(awaitRoot(), 0, std::to_string(i));
  // A message to nobody is dropped.
  root->send(1, "lost");
  EXPECT_EQ(awaitRoot(0.1).kind, DoorEvent::None);
}

TEST_F(Doors, of_an_agent_that_only_listens_get_messages) {
  auto agent = connect(5);
  double end = monotonicSeconds() + 5;
  DoorEvent event;
  while (event.kind == DoorEvent::None && monotonicSeconds() < end) {
    root->receive();
    root->send(5, "here");
    event = awaitAgent(*agent, 0.02);
  }
  expectMessage(event, -1, "here");
}

TEST_F(Doors, of_agents_may_come_first) {
  // A port below those that the system draws, so that nobody else takes it.
  std::string error;
  int port = 20000 + getpid() % 5000;
  do
    root = RootDoor::open("127.0.0.1", ++port, key, error);
  while (!root && port < 30000);
  ASSERT_TRUE(root) << error;
  address.endpoint = root->endpoint();
  root.reset();
  auto agent = connect(3);
  agent->send("early");
  EXPECT_EQ(awaitAgent(*agent, 0.3).kind, DoorEvent::None);
  openRoot(port);
  ASSERT_TRUE(root);
  expectMessage(awaitRoot(1), 3, "early");
  // A root that comes back within half a second is not gone.
  root.reset();
  EXPECT_EQ(awaitAgent(*agent, 0.05).kind, DoorEvent::None);
  openRoot(port);
  ASSERT_TRUE(root);
  double end = monotonicSeconds() + 1.2;
  while (monotonicSeconds() < end) {
    root->receive();
    EXPECT_EQ(awaitAgent(*agent, 0.1).kind, DoorEvent::None);
  }
  exchange(*agent, 3, "again");
}

TEST_F(Doors, send_what_they_have_before_they_close) {
  std::string text = makeText(1 << 20);
  auto agent = connect(1);
  exchange(*agent, 1, "first");
  agent->send(text);
  agent.reset();
  expectMessage(awaitRoot(), 1, text);
  agent = connect(2);
  exchange(*agent, 2, "second");
  root->send(2, text);
  root.reset();
  expectMessage(awaitAgent(*agent), -1, text);
  expectGone(awaitAgent(*agent), -1);
}

TEST_F(Doors, with_another_key_stay_closed) {
  RootAddress others[] = {address, address, address};
  others[0].key.root[3] ^= 0x10;
  others[1].key.member[3] ^= 0x10;
  ASSERT_EQ(drawKey(others[2].key), "");
  for (const RootAddress &other : others) {
    auto agent = connect(1, other);
    if (&other == others)
      agent->send("let me in");
    double end = monotonicSeconds() + 5;
    while (!agent->isRefused() && monotonicSeconds() < end) {
      EXPECT_EQ(root->receive().kind, DoorEvent::None);
      EXPECT_EQ(awaitAgent(*agent, 0.02).kind, DoorEvent::None);
    }
    EXPECT_TRUE(agent->isRefused());
  }
  EXPECT_EQ(awaitRoot(0.1).kind, DoorEvent::None);
  auto agent = connect(1);
  exchange(*agent, 1, "proper");
  EXPECT_FALSE(agent->isRefused());
}

TEST_F(Doors, have_one_agent_of_a_node) {
  auto first = connect(1);
  exchange(*first, 1, "first");
  auto second = connect(1);
  second->send("second");
  EXPECT_EQ(awaitRoot(0.3).kind, DoorEvent::None);
  expectGone(awaitAgent(*second), -1);
  exchange(*first, 1, "still");
  // It is the node's when the first one is gone.
  first.reset();
  expectGone(awaitRoot(), 1);
  exchange(*second, 1, "second");
}

TEST_F(Doors, tell_of_a_killed_agent) {
  auto other = connect(2);
  exchange(*other, 2, "other");
  pid_t child = forkAgent(1);
  expectMessage(awaitRoot(), 1, "child");
  endChild(child);
  double begin = monotonicSeconds();
  expectGone(awaitRoot(3), 1);
  EXPECT_LT(monotonicSeconds() - begin, 2);
  // Another process takes its place.
  child = forkAgent(1);
  expectMessage(awaitRoot(), 1, "child");
  exchange(*other, 2, "other");
  endChild(child);
}

TEST_F(Doors, tell_of_a_killed_root) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    std::string error;
    auto own = RootDoor::open("127.0.0.1", 0, key, error);
    std::string text = own->endpoint();
    if (write(ends[1], text.data(), text.size()) < 0)
      _exit(1);
    for (;;) {
      own->receive();
      own->send(4, "root");
      waitForDoors(own.get(), nullptr, -1, 0.05);
    }
  }
  char text[100] = "";
  ASSERT_GT(read(ends[0], text, sizeof(text) - 1), 0);
  auto agent = connect(4, {text, key});
  expectMessage(awaitAgent(*agent), -1, "root");
  endChild(child);
  double begin = monotonicSeconds();
  DoorEvent event;
  do
    event = awaitAgent(*agent, 3);
  while (event.kind == DoorEvent::Message);
  expectGone(event, -1);
  EXPECT_LT(monotonicSeconds() - begin, 2);
  EXPECT_EQ(awaitAgent(*agent, 0.3).kind, DoorEvent::None);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Doors, do_not_take_a_stopped_agent_for_gone) {
  pid_t child = forkAgent(1);
  expectMessage(awaitRoot(), 1, "child");
  int status;
  kill(child, SIGSTOP);
  waitpid(child, &status, WUNTRACED);
  root->send(1, "awake");
  EXPECT_EQ(awaitRoot(1.6).kind, DoorEvent::None);
  kill(child, SIGCONT);
  expectMessage(awaitRoot(), 1, "awake");
  endChild(child);
}

TEST_F(Doors, wake_up) {
  int wake = eventfd(0, EFD_CLOEXEC);
  auto agent = connect(1);
  exchange(*agent, 1, "settled");
  double begin = monotonicSeconds();
  waitForDoors(root.get(), agent.get(), wake, 0.2);
  waitForDoors(root.get(), agent.get(), wake, 0.2);
  EXPECT_EQ(eventfd_write(wake, 1), 0);
  waitForDoors(nullptr, nullptr, wake, 60);
  waitForDoors(root.get(), nullptr, wake, 60);
  agent->send("message");
  waitForDoors(root.get(), agent.get(), -1, 60);
  EXPECT_LT(monotonicSeconds() - begin, 10);
  close(wake);
}

TEST_F(Doors, listen_on_their_address_alone) {
  int port = portOf(root->endpoint());
  EXPECT_EQ(connectTo(port, "127.0.0.2"), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  std::string error;
  EXPECT_FALSE(RootDoor::open("127.0.0.1", port, key, error));
  EXPECT_EQ(error, "cannot listen on tcp://127.0.0.1:" + std::to_string(port) +
                       ": Address already in use");
  for (const char *none : {"0.0.0.0", "::", "*", "", "localhost", "lo"}) {
    EXPECT_FALSE(RootDoor::open(none, 0, key, error));
    EXPECT_EQ(error, "expects the numeric address of an interface but got '" +
                         std::string(none) + "'");
  }
  EXPECT_FALSE(RootDoor::open("192.0.2.1", 0, key, error));
  EXPECT_EQ(error, "cannot listen on tcp://192.0.2.1:*: Cannot assign "
                   "requested address");
}

TEST_F(Doors, listen_on_addresses_of_ipv6) {
  std::string error;
  root = RootDoor::open("::1", 0, key, error);
  if (!root)
    GTEST_SKIP() << error;
  address.endpoint = root->endpoint();
  EXPECT_EQ(address.endpoint.rfind("tcp://[::1]:", 0), 0u);
  auto agent = connect(1);
  exchange(*agent, 1, "text");
}

TEST_F(Doors, keep_strangers_out) {
  // The bytes of a proper agent, for strangers to send again.
  Recorder recorder(portOf(root->endpoint()));
  auto recorded = connect(7, {recorder.endpoint(), key});
  exchange(*recorded, 7, "recorded");
  recorded.reset();
  std::string proper = recorder.finish();
  ASSERT_GT(proper.size(), 300u);
  expectGone(awaitRoot(), 7);

  int least = getenv("TESSERA_CHECK") ? 100000 : 1000;
  Strangers strangers(portOf(root->endpoint()), proper, 200, 1);
  RootAddress other = address;
  other.key.member[3] ^= 1;
  auto wrong = connect(8, other);
  wrong->send("wrong");
  std::vector<std::unique_ptr<AgentDoor>> agents;
  int node = 0;
  do {
    double begin = monotonicSeconds();
    agents.push_back(connect(++node));
    exchange(*agents.back(), node, "proper");
    EXPECT_LT(monotonicSeconds() - begin, 2);
    // A few agents stay, and the others make room.
    if (agents.size() > 20)
      agents.clear();
  } while (strangers.tried() < least && !HasFailure());
  for (DoorEvent event = awaitRoot(0.3); event.kind != DoorEvent::None;
       event = awaitRoot(0.3))
    EXPECT_EQ(event.kind, DoorEvent::Gone) << event.node << event.message;
}
