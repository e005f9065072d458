//===- BucketsTest.cpp - Buckets of merged collectives --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Collectives/Buckets.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace tessera;

namespace {

/// 3 us per collective and 10 ns per byte.
double linearTime(int64_t bytes) {
  return 3e-6 + static_cast<double>(bytes) * 1e-8;
}

BucketProblem makeProblem(std::vector<BucketMember> members,
                          int64_t maxBytes = 1 << 20) {
  BucketProblem problem;
  problem.members = std::move(members);
  problem.maxBytes = maxBytes;
  problem.getTime = linearTime;
  return problem;
}

using Sizes = std::vector<size_t>;

TEST(Buckets, what_is_ready_at_once_is_one_bucket) {
  BucketProblem problem = makeProblem({{100}, {200}, {300}});
  BucketPlan plan = planBuckets(problem);
  EXPECT_EQ(plan.sizes, Sizes({3}));
  EXPECT_DOUBLE_EQ(plan.finish, 9e-6);
  EXPECT_EQ(llvm::toString(plan.verify(problem)), "");
}

TEST(Buckets, no_members_need_no_buckets) {
  BucketPlan plan = planBuckets(makeProblem({}));
  EXPECT_TRUE(plan.sizes.empty());
  EXPECT_EQ(plan.finish, 0);
}

// The last one is ready 100 us after the others, which are done by then.
TEST(Buckets, nobody_waits_for_one_that_is_late) {
  BucketPlan plan = planBuckets(makeProblem({{100, 0}, {100, 0}, {100, 1e-4}}));
  EXPECT_EQ(plan.sizes, Sizes({2, 1}));
}

// All are ready at once, but waiting for the third would keep 300 bytes alive.
TEST(Buckets, waiting_keeps_no_more_alive_than_it_may) {
  BucketProblem problem = makeProblem({{100}, {200}, {300}, {100}});
  problem.getKeptBytes = [](size_t begin, size_t end) {
    return int64_t(100 * (end - begin));
  };
  problem.maxKeptBytes = 200;
  BucketPlan plan = planBuckets(problem);
  EXPECT_EQ(plan.sizes, Sizes({2, 2}));
  EXPECT_EQ(llvm::toString(plan.verify(problem)), "");
  EXPECT_EQ(llvm::toString(problem.checkBucket(0, 3)),
            "what waits for the last one would keep 300 bytes alive, at most "
            "200 may be");
}

// A latency of 3 us is more than waiting for 1 us.
TEST(Buckets, waiting_less_than_a_latency_pays) {
  BucketPlan plan = planBuckets(makeProblem({{100, 0}, {100, 1e-6}}));
  EXPECT_EQ(plan.sizes, Sizes({2}));
}

TEST(Buckets, copies_longer_than_the_latency_do_not_pay) {
  EXPECT_EQ(planBuckets(makeProblem({{9, 0, 2e-6}, {9, 0, 2e-6}})).sizes,
            Sizes({1, 1}));
  EXPECT_EQ(planBuckets(makeProblem({{9, 0, 1e-6}, {9, 0, 1e-6}})).sizes,
            Sizes({2}));
}

TEST(Buckets, never_across_a_dependence) {
  BucketPlan plan =
      planBuckets(makeProblem({{8}, {8, 0, 0, 0}, {8, 0, 0, 0}, {8, 0, 0, 2}}));
  EXPECT_EQ(plan.sizes, Sizes({1, 2, 1}));
}

TEST(Buckets, no_more_bytes_than_may_be_in_one) {
  BucketProblem problem =
      makeProblem({{60}, {40}, {50}, {70}, {500}, {10}}, /*maxBytes=*/100);
  BucketPlan plan = planBuckets(problem);
  EXPECT_EQ(llvm::toString(plan.verify(problem)), "");
  EXPECT_EQ(plan.sizes, Sizes({2, 1, 1, 1, 1}));
  EXPECT_EQ(llvm::toString(problem.checkBucket(0, 3)),
            "a bucket would have 150 bytes, at most 100 may be in one");
}

TEST(Buckets, problems_are_checked) {
  EXPECT_EQ(llvm::toString(makeProblem({{8, 1e-6}, {8, 0}}).check()),
            "expects members by the time at which they are ready but member 1 "
            "is ready before the one in front of it");
  EXPECT_EQ(llvm::toString(makeProblem({{8, 0, 0, 0}}).check()),
            "expects member 0 to need only members before it but got 0");
  EXPECT_EQ(llvm::toString(makeProblem({{-1}}).check()),
            "expects member 0 to have bytes and times of at least 0");
  EXPECT_EQ(llvm::toString(BucketProblem().check()),
            "expects the time of a collective");
}

TEST(Buckets, plans_are_verified) {
  BucketProblem problem = makeProblem({{8}, {8, 0, 0, 0}});
  BucketPlan plan = planBuckets(problem);
  plan.sizes = {2};
  EXPECT_EQ(llvm::toString(plan.verify(problem)),
            "one needs the result of another");
  plan.sizes = {1};
  EXPECT_EQ(llvm::toString(plan.verify(problem)), "a member is in no bucket");
  plan.sizes = {1, 2};
  EXPECT_EQ(llvm::toString(plan.verify(problem)),
            "a bucket has no members, or those of another");
  plan.sizes = {1, 1};
  plan.finish = 0;
  EXPECT_EQ(llvm::toString(plan.verify(problem)),
            "the times are not those of the buckets");
}

/// The earliest end, then the shortest time, over all splits.
std::pair<double, double> bruteForce(const BucketProblem &problem) {
  size_t count = problem.members.size();
  std::pair<double, double> best{1e9, 1e9};
  for (unsigned splits = 0; splits < 1u << (count - 1); ++splits) {
    double finish = 0, busy = 0;
    bool isLegal = true;
    for (size_t begin = 0, end; begin < count && isLegal; begin = end) {
      for (end = begin + 1; end < count && !(splits >> (end - 1) & 1); ++end) {
      }
      isLegal = !llvm::errorToBool(problem.checkBucket(begin, end));
      double time = problem.getBucketTime(begin, end);
      finish = std::max(finish, problem.members[end - 1].ready) + time;
      busy += time;
    }
    if (!isLegal)
      continue;
    bool isEqual = std::abs(finish - best.first) <= 1e-9 * finish;
    if (isEqual ? busy < best.second : finish < best.first)
      best = {isEqual ? std::min(finish, best.first) : finish, busy};
  }
  return best;
}

TEST(Buckets, as_good_as_brute_force) {
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 400; ++round) {
    std::vector<BucketMember> members(1 + pick(11));
    double ready = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      ready += pick(3) * pick(10) * 1e-6;
      members[i] = {pick(1000), ready, pick(3) * 0.7e-6,
                    pick(3) || i == 0 ? -1 : pick(static_cast<int>(i))};
    }
    BucketProblem problem = makeProblem(members, 200 + pick(3000));
    ASSERT_EQ(llvm::toString(problem.check()), "");
    BucketPlan plan = planBuckets(problem);
    ASSERT_EQ(llvm::toString(plan.verify(problem)), "");
    auto [finish, busy] = bruteForce(problem);
    EXPECT_NEAR(plan.finish, finish, 1e-8 * finish) << "round " << round;
    EXPECT_NEAR(plan.busy, busy, 1e-8 * busy) << "round " << round;
  }
}

/// The most seconds that any choice of members saves.
double mostSaved(const BucketProblem &problem) {
  double most = 0;
  for (unsigned chosen = 0; chosen < 1u << problem.members.size(); ++chosen) {
    int64_t bytes = 0;
    double saved = 0;
    unsigned count = 0;
    for (size_t i = 0; i < problem.members.size(); ++i) {
      if (!(chosen >> i & 1))
        continue;
      const BucketMember &member = problem.members[i];
      bytes += member.bytes;
      saved += problem.getTime(member.bytes) - member.copyTime;
      ++count;
    }
    if (count > 1)
      most = std::max(most, saved - problem.getTime(bytes));
  }
  return most;
}

TEST(Buckets, together_is_what_saves_most) {
  std::mt19937 random(5);
  unsigned some = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<BucketMember> members(1 + random() % 8);
    for (BucketMember &member : members) {
      member.bytes = random() % 1000;
      member.copyTime = double(random() % 50) * 1e-7;
    }
    BucketProblem problem = makeProblem(std::move(members));
    std::vector<size_t> chosen = chooseTogether(problem);
    EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
    EXPECT_NE(chosen.size(), 1u);
    some += !chosen.empty();
    int64_t bytes = 0;
    double saved = 0;
    for (size_t i : chosen) {
      bytes += problem.members[i].bytes;
      saved +=
          linearTime(problem.members[i].bytes) - problem.members[i].copyTime;
    }
    if (!chosen.empty())
      saved -= linearTime(bytes);
    EXPECT_NEAR(saved, mostSaved(problem), 1e-12);
  }
  EXPECT_GT(some, 100u);
  EXPECT_LT(some, 300u);
}

TEST(Buckets, together_stays_below_the_limit) {
  BucketProblem problem =
      makeProblem({{60, 0, 2e-7}, {50, 0, 1e-7}, {40, 0, 3e-7}, {9, 0, 4e-7}},
                  /*maxBytes=*/120);
  EXPECT_EQ(chooseTogether(problem), std::vector<size_t>({0, 1}));
  problem.maxBytes = 100;
  EXPECT_TRUE(chooseTogether(problem).empty());
}

} // namespace
