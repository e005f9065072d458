//===- ReplicaCheckTest.cpp - Tests of the comparison of replicas ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "runtime/src/checkpoint/ReplicaCheck.h"
#include "runtime/src/data/ShardRuns.h"
#include "runtime/src/support/Support.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tessera::rt;

namespace {
Value makeValue(const char *name, int64_t count, int64_t offset, int64_t shards,
                int64_t stride) {
  Value value;
  value.name = name;
  value.role = Role::Param;
  value.dtype = TESSERA_RT_F32;
  value.shape = value.logicalShape = value.paddedShape = {count * shards};
  value.localShape = {count};
  value.sharding = {{}};
  if (shards > 1)
    value.sharding[0].push_back({stride, shards});
  value.offsets = {offset};
  value.bytes = count * 4;
  return value;
}

/// On 6 ranks: `a` is on all, `b` has two blocks on three ranks each, `c` has
/// three blocks on two ranks each, and of `d` each rank has its own.
std::vector<Value> makeValues() {
  return {makeValue("a", 3, 0, 1, 1), makeValue("b", 5, 64, 2, 1),
          makeValue("c", 7, 128, 3, 2), makeValue("d", 2, 192, 6, 1)};
}

/// Results that all ranks have, of one number.
std::vector<Value> makeResults() {
  return {makeValue("loss", 1, 256, 1, 1),
          makeValue("grad_norm", 1, 320, 1, 1)};
}

struct Flip {
  int rank = -1;
  /// Counts arguments, then results.
  int64_t value = 0, bit = 0;
};

/// Runs two checks with a flip between them; returns what the launcher says.
std::string check(const Flip &flip, int &status) {
  RankSetup setup;
  setup.ranks = 6;
  setup.arguments = makeValues();
  testing::internal::CaptureStderr();
  status = runRanks(setup, [&](tessera_rt_context *ctx) -> std::string {
    Manifest manifest;
    manifest.ranks = 6;
    manifest.arguments = setup.arguments;
    manifest.results = makeResults();
    std::vector<Value> values = makeValues();
    for (const Value &result : manifest.results)
      values.push_back(result);
    for (const Value &value : values) {
      float number = float(1 + blockIndices(value, ctx->rank)[0]);
      auto *block =
          reinterpret_cast<float *>(ctx->arena() + value.offsetOn(ctx->rank));
      std::fill_n(block, value.localElements(), number);
    }
    ReplicaCheck replicas(ctx, manifest);
    if (replicas.run(1))
      return "the first check fails";
    if (ctx->rank == flip.rank) {
      const Value &value = values[size_t(flip.value)];
      ctx->arena()[value.offsetOn(ctx->rank) + flip.bit / 8] ^=
          uint8_t(1 << flip.bit % 8);
    }
    replicas.run(2);
    return std::string();
  });
  return testing::internal::GetCapturedStderr();
}
} // namespace

TEST(replica_check, odd_ones_are_in_the_minority) {
  using List = std::vector<size_t>;
  EXPECT_EQ(findOdd({5, 5, 5}), List{});
  EXPECT_EQ(findOdd({5, 6, 5}), List{1});
  EXPECT_EQ(findOdd({6, 5, 5}), List{0});
  EXPECT_EQ(findOdd({5, 6, 7, 5, 5}), (List{1, 2}));
  EXPECT_EQ(findOdd({5, 6}), (List{0, 1}));
  EXPECT_EQ(findOdd({5, 5, 6, 6}), (List{0, 1, 2, 3}));
}

TEST(replica_check, nothing_is_wrong_with_equal_replicas) {
  int status;
  EXPECT_EQ(check({}, status), "");
  EXPECT_EQ(status, 0);
}

TEST(replica_check, each_flip_is_named) {
  std::mt19937 random(1);
  std::vector<Value> values = makeValues();
  for (const Value &result : makeResults())
    values.push_back(result);
  int flips = getenv("TESSERA_CHECK") ? 1000 : 60;
  for (int i = 0; i < flips; ++i) {
    Flip flip;
    flip.rank = int(random() % 6);
    flip.value = int64_t(random() % 6);
    flip.bit = int64_t(random()) % (values[size_t(flip.value)].bytes * 8);
    int status;
    std::string said = check(flip, status);
    std::string name = "'" + values[size_t(flip.value)].name + "' ";
    if (flip.value == 3) {
      // No other rank has its block.
      EXPECT_EQ(status, 0) << said;
      continue;
    }
    EXPECT_EQ(status, 1) << said;
    // Of two that differ, none is known to be right.
    std::string where =
        name + (flip.value == 2 ? "differs between ranks "
                                : format("on rank %d is not", flip.rank));
    EXPECT_NE(said.find(where), std::string::npos) << said;
    EXPECT_NE(said.find(std::to_string(flip.rank)), std::string::npos) << said;
  }
}
