//===- CommunicationOrderTest.cpp - Deadlocks between ranks ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Collectives/CommunicationOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace tessera;

namespace {

Communication communication(const char *name, llvm::ArrayRef<unsigned> members,
                            unsigned communicator) {
  return {name, llvm::SmallVector<unsigned, 4>(members), communicator};
}

/// 2 x 2 ranks: rows {0,1}, {2,3}, columns {0,2}, {1,3}.
TEST(CommunicationOrder, rows_then_columns) {
  CommunicationOrder order;
  order.communications = {
      communication("a", {0, 1}, 0), communication("b", {2, 3}, 1),
      communication("c", {0, 2}, 2), communication("d", {1, 3}, 3)};
  order.ranks = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
  EXPECT_FALSE(findDeadlock(order));
  // Each communicator has one order, but there is a cycle: a, c, b, d.
  order.ranks = {{0, 2}, {3, 0}, {2, 1}, {1, 3}};
  auto deadlock = findDeadlock(order);
  ASSERT_TRUE(deadlock);
  EXPECT_EQ(deadlock->communications.size(), 4u);
  EXPECT_EQ(deadlock->message.rfind("ranks wait for each other: ", 0), 0u);
}

TEST(CommunicationOrder, one_order_a_communicator) {
  CommunicationOrder order;
  order.communications = {communication("gather", {0, 1}, 0),
                          communication("scatter", {0, 1}, 0)};
  order.ranks = {{0, 1}, {1, 0}};
  auto deadlock = findDeadlock(order);
  ASSERT_TRUE(deadlock);
  EXPECT_EQ(deadlock->message,
            "rank 1 posts scatter where rank 0 posts gather on the same "
            "communicator");
  order.communications[1].communicator = 1;
  deadlock = findDeadlock(order);
  ASSERT_TRUE(deadlock);
  EXPECT_EQ(deadlock->message,
            "ranks wait for each other: rank 0 posts gather before scatter, "
            "rank 1 posts scatter before gather");
}

TEST(CommunicationOrder, posts_that_are_missing_or_too_many) {
  CommunicationOrder order;
  order.communications = {communication("gather", {0, 1}, 0)};
  order.ranks = {{0}, {}};
  EXPECT_EQ(findDeadlock(order)->message,
            "expects rank 1 to post gather once but got 0 times");
  order.ranks = {{0}, {0, 0}};
  EXPECT_EQ(findDeadlock(order)->message,
            "expects rank 1 to post gather once but got 2 times");
  order.ranks = {{0}, {0}, {0}};
  EXPECT_EQ(findDeadlock(order)->message,
            "rank 2 posts gather but is no member of it");
}

/// Two neighbors that both send first.
TEST(CommunicationOrder, sends_that_block) {
  CommunicationOrder order;
  order.communications = {communication("forward", {0, 1}, 0),
                          communication("back", {0, 1}, 1)};
  order.ranks = {{0, 1}, {1, 0}};
  EXPECT_TRUE(findDeadlock(order));
  order.ranks = {{0, 1}, {0, 1}};
  EXPECT_FALSE(findDeadlock(order));
}

/// Runs the ranks with one operation in flight each; true if all finish.
bool comesToAnEnd(const CommunicationOrder &order) {
  std::vector<size_t> at(order.ranks.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (auto [i, communication] : llvm::enumerate(order.communications)) {
      bool isReady =
          llvm::all_of(communication.members, [&, i = i](unsigned rank) {
            return at[rank] < order.ranks[rank].size() &&
                   order.ranks[rank][at[rank]] == i;
          });
      if (!isReady)
        continue;
      for (unsigned rank : communication.members)
        ++at[rank];
      moved = true;
    }
  }
  for (size_t rank = 0; rank < at.size(); ++rank)
    if (at[rank] < order.ranks[rank].size())
      return false;
  return true;
}

/// Random orders: a deadlock is found exactly if blocking ranks get stuck. Each
/// communication has its own communicator, so the third rule decides.
TEST(CommunicationOrder, random_orders_against_a_simulation) {
  std::mt19937 random(3);
  unsigned stuck = 0;
  for (unsigned round = 0; round < 5000; ++round) {
    CommunicationOrder order;
    unsigned ranks = 2 + random() % 4, count = 1 + random() % 6;
    order.ranks.resize(ranks);
    for (unsigned i = 0; i < count; ++i) {
      std::set<unsigned> members;
      while (members.size() < 2)
        members.insert(random() % ranks);
      if (random() % 3 == 0)
        members.insert(random() % ranks);
      order.communications.push_back(
          {"m" + std::to_string(i), {members.begin(), members.end()}, i});
      for (unsigned rank : members)
        order.ranks[rank].push_back(i);
    }
    for (std::vector<unsigned> &posts : order.ranks)
      if (posts.size() > 1 && random() % 2)
        std::swap(posts[random() % posts.size()],
                  posts[random() % posts.size()]);
    bool ends = comesToAnEnd(order);
    stuck += !ends;
    ASSERT_EQ(findDeadlock(order).has_value(), !ends) << "round " << round;
  }
  EXPECT_GT(stuck, 500u);
}

} // namespace
