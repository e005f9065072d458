//===- LinkTest.cpp - Tests of data between nodes -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Strangers.h"

#include "runtime/src/nodes/Link.h"
#include "runtime/src/nodes/ZeroMq.h"
#include "runtime/src/support/Support.h"

#include <condition_variable>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <sys/resource.h>

using namespace tessera::rt;

namespace {
/// A link that keeps what it receives.
class Keeper {
public:
  struct Message {
    std::string header, data;
  };

  Keeper(int node, int nodes, const std::string &token = "secret") {
    LinkSetup setup;
    setup.address = "127.0.0.1";
    setup.token = token;
    setup.node = node;
    setup.nodes = nodes;
    std::string error;
    link = openLink(
        setup,
        [this](const void *header, size_t headerBytes, const void *data,
               size_t bytes) { keep(header, headerBytes, data, bytes); },
        [this] {
          ++idleCalls;
          return idleSeconds.load();
        },
        error);
    EXPECT_TRUE(link) << error;
  }

  std::string send(int node, const std::string &header, const std::string &data,
                   bool copies = true) {
    return link->send(node, header.data(), header.size(), data.data(),
                      data.size(), copies);
  }

  /// Waits for `count` messages in all, and takes them.
  std::vector<Message> take(size_t count, double seconds = 5) {
    std::unique_lock<std::mutex> lock(mutex);
    arrived.wait_for(lock, std::chrono::duration<double>(seconds),
                     [&] { return kept.size() >= count; });
    return std::exchange(kept, {});
  }

  std::atomic<double> idleSeconds{std::numeric_limits<double>::infinity()};
  std::atomic<int> idleCalls{0};
  std::unique_ptr<Link> link;

private:
  void keep(const void *header, size_t headerBytes, const void *data,
            size_t bytes) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(header) % 8, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 8, 0u);
    std::lock_guard<std::mutex> lock(mutex);
    kept.push_back({{static_cast<const char *>(header), headerBytes},
                    {static_cast<const char *>(data), bytes}});
    arrived.notify_all();
  }

  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<Message> kept;
};

class Links : public testing::Test {
protected:
  void SetUp() override {
    if (Library library = findZeroMq(); !library.isUsable())
      GTEST_SKIP() << library.error;
  }
  /// Makes links of so many nodes, and connects them.
  void open(int nodes) {
    std::vector<std::string> addresses;
    for (int node = 0; node < nodes; ++node) {
      keepers.push_back(std::make_unique<Keeper>(node, nodes));
      addresses.push_back(keepers.back()->link->address());
    }
    for (auto &keeper : keepers)
      EXPECT_EQ(keeper->link->connect(addresses), "");
  }

  std::vector<std::unique_ptr<Keeper>> keepers;
};

std::string makeData(size_t bytes, unsigned seed) {
  std::string data(bytes, 0);
  for (size_t i = 0; i < bytes; ++i)
    data[i] = char((i + seed) * 2654435761u >> 13);
  return data;
}

constexpr size_t sizes[] = {
    0,    1,    7,     8,     33,    100,    4095,   4096,
    4097, 8000, 16384, 65536, 65537, 100001, 262143, Link::longestData};
} // namespace

TEST_F(Links, carry_all_sizes_in_order) {
  open(3);
  std::vector<std::string> data;
  for (size_t bytes : sizes)
    data.push_back(makeData(bytes, unsigned(bytes)));
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) {
      if (from == to)
        continue;
      for (bool copies : {true, false})
        for (size_t i = 0; i < data.size(); ++i)
          EXPECT_EQ(
              keepers[size_t(from)]->send(to, makeData(i, 1), data[i], copies),
              "");
      auto got = keepers[size_t(to)]->take(2 * data.size());
      ASSERT_EQ(got.size(), 2 * data.size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(got[i].header == makeData(i % data.size(), 1));
        EXPECT_TRUE(got[i].data == data[i % data.size()]) << i;
      }
    }
}

TEST_F(Links, copy_what_may_change) {
  open(2);
  std::string first = makeData(100000, 1), second = makeData(100000, 2);
  for (int i = 0; i < 20; ++i) {
    std::string data = first;
    EXPECT_EQ(keepers[0]->send(1, "header", data), "");
    data.assign(second);
  }
  auto got = keepers[1]->take(20);
  ASSERT_EQ(got.size(), 20u);
  for (const Keeper::Message &message : got)
    EXPECT_TRUE(message.data == first);
}

TEST_F(Links, are_sent_by_from_all_threads) {
  open(2);
  constexpr int count = 500;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      for (int i = 0; i < count; ++i)
        keepers[0]->send(1, std::to_string(number), std::to_string(i));
    });
  for (std::thread &thread : threads)
    thread.join();
  auto got = keepers[1]->take(4 * count);
  ASSERT_EQ(got.size(), size_t(4 * count));
  int next[4] = {};
  for (const Keeper::Message &message : got)
    EXPECT_EQ(message.data, std::to_string(next[stoi(message.header)]++));
}

TEST_F(Links, send_before_the_other_side_listens) {
  keepers.push_back(std::make_unique<Keeper>(0, 2));
  std::string own = keepers[0]->link->address();
  {
    // The address of a link that has ended.
    Keeper former(1, 2);
    EXPECT_EQ(keepers[0]->link->connect({own, former.link->address()}), "");
    keepers[0]->send(1, "first", "");
    EXPECT_EQ(former.take(1).size(), 1u);
  }
  EXPECT_EQ(keepers[0]->send(1, "into the void", makeData(50000, 0)), "");
}

TEST_F(Links, have_the_files_that_they_need) {
  // Each of 12 links has three for each other one; a shell allows 1024.
  rlimit before, low;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 1024)
    GTEST_SKIP() << "expects 1024 open files to be allowed";
  low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  open(12);
  for (auto &keeper : keepers)
    if (keeper != keepers[0]) {
      EXPECT_EQ(keeper->send(0, "header", "data"), "");
    }
  EXPECT_EQ(keepers[0]->take(11).size(), 11u);
  keepers.clear();
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(Links, refuse_what_is_too_long) {
  open(2);
  std::string data(Link::longestData + 1, 'x');
  EXPECT_EQ(keepers[0]->send(1, "h", data),
            "expects a header of at most 1024 bytes and data of at most 262144 "
            "but got 1 and 262145");
  EXPECT_NE(keepers[0]->send(1, std::string(1025, 'h'), ""), "");
  EXPECT_EQ(keepers[0]->send(1, std::string(1024, 'h'), data.substr(1)), "");
  EXPECT_EQ(keepers[1]->take(1).size(), 1u);
  for (int node : {0, 2, -1})
    EXPECT_EQ(keepers[0]->send(node, "h", ""),
              "expects a node that the link is connected with but got " +
                  std::to_string(node));
  EXPECT_EQ(keepers[0]->link->connect({"tcp://127.0.0.1:1"}),
            "expects 2 addresses of links but got 1");
}

TEST_F(Links, call_idle) {
  Keeper keeper(0, 1);
  int before = keeper.idleCalls;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(keeper.idleCalls, std::max(before, 1));
  open(2);
  keepers[0]->idleSeconds = 0.005;
  keepers[1]->send(0, "one", "");
  keepers[0]->take(1);
  before = keepers[0]->idleCalls;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_GE(keepers[0]->idleCalls, before + 5);
}

TEST_F(Links, with_another_token_get_nothing) {
  Keeper proper(0, 2), wrong(1, 2, "secreT"), longer(1, 2, "secrets");
  std::string address = proper.link->address();
  for (Keeper *other : {&wrong, &longer}) {
    EXPECT_EQ(other->link->connect({address, other->link->address()}), "");
    EXPECT_EQ(other->send(0, "wrong", "data"), "");
  }
  EXPECT_EQ(proper.take(1, 0.5).size(), 0u);
}

TEST_F(Links, listen_on_one_address_with_a_token) {
  Keeper keeper(0, 1);
  EXPECT_EQ(connectTo(portOf(keeper.link->address()), "127.0.0.2"), -1);
  std::string error;
  LinkSetup setup;
  setup.address = "0.0.0.0";
  setup.token = "token";
  EXPECT_FALSE(openLink(
      setup, [](const void *, size_t, const void *, size_t) {},
      [] { return 1.0; }, error));
  EXPECT_EQ(error,
            "expects the numeric address of an interface but got '0.0.0.0'");
  for (size_t bytes : {0, 256}) {
    setup.token = std::string(bytes, 't');
    EXPECT_FALSE(openLink(
        setup, [](const void *, size_t, const void *, size_t) {},
        [] { return 1.0; }, error));
    EXPECT_EQ(error, "expects a token of 1 to 255 bytes but got " +
                         std::to_string(bytes));
  }
}

TEST_F(Links, keep_strangers_out) {
  std::string proper;
  {
    Keeper listener(0, 2), other(1, 2);
    Recorder recorder(portOf(listener.link->address()));
    EXPECT_EQ(other.link->connect({recorder.endpoint(), other.link->address()}),
              "");
    other.send(0, "header", makeData(200, 0));
    EXPECT_EQ(listener.take(1).size(), 1u);
    other.link.reset();
    proper = recorder.finish();
  }
  // The token does not encrypt: who has heard it gets in. These have not.
  size_t token = proper.find("secret");
  ASSERT_NE(token, std::string::npos);
  proper.replace(token, 6, "guess!");

  open(2);
  Keeper late(1, 2);
  int least = getenv("TESSERA_CHECK") ? 100000 : 1000;
  Strangers strangers(portOf(keepers[0]->link->address()), proper, 200, 2);
  size_t sent = 0;
  do {
    double begin = monotonicSeconds();
    Keeper client(1, 2);
    EXPECT_EQ(client.link->connect(
                  {keepers[0]->link->address(), client.link->address()}),
              "");
    std::string data = makeData(100000, unsigned(++sent));
    EXPECT_EQ(client.send(0, "proper", data), "");
    auto got = keepers[0]->take(1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_TRUE(got[0].data == data);
    EXPECT_LT(monotonicSeconds() - begin, 2);
  } while (strangers.tried() < least);
  EXPECT_EQ(keepers[0]->take(1, 0.3).size(), 0u);
}
