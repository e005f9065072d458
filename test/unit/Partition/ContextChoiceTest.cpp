//===- ContextChoiceTest.cpp - Methods of context parallelism -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/ContextChoice.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

/// tiny-llama's attention, batch 2 x 32 in f32, with its backward.
ContextProblem makeProblem(int64_t devices) {
  ContextProblem problem;
  problem.mesh.names = {"cp"};
  problem.mesh.sizes = {devices};
  problem.links = MeshLinks::uniform(problem.mesh);
  problem.axis = problem.mesh.fullAxis(0);
  problem.batch = 2;
  problem.queries = problem.keys = 32;
  problem.groups = problem.heads = 2;
  problem.dim = problem.valueDim = 16;
  problem.causal = problem.hasBackward = true;
  return problem;
}

int64_t getBytes(const ContextProblem &problem, llvm::StringRef method) {
  ContextCost cost = getContextCost(problem, *parseContextMethod(method));
  return cost.forwardBytes + cost.backwardBytes;
}

std::string print(const ContextProblem &problem, llvm::StringRef method) {
  ContextAxes axes = getContextAxes(problem, *parseContextMethod(method));
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const AxisList &list : {axes.query, axes.head, axes.group})
    problem.mesh.print(os, list);
  return text;
}

TEST(ContextChoice, names) {
  for (llvm::StringRef name :
       {"auto", "all_gather", "ring", "all_to_all", "all_to_all:4", "latent"})
    EXPECT_EQ(parseContextMethod(name)->getName(), name);
  for (llvm::StringRef name : {"", "gather", "ring:2", "all_to_all:",
                               "all_to_all:0", "all_to_all:x", "all_to_all:-1"})
    EXPECT_FALSE(parseContextMethod(name)) << name.str();
}

TEST(ContextChoice, heads_over_devices) {
  using Parts = std::pair<int64_t, int64_t>;
  // There are enough KV heads to shard only them; padded if they do not divide.
  EXPECT_EQ(splitHeads(2, 8, 4), Parts(2, 1));
  EXPECT_EQ(splitHeads(8, 8, 16), Parts(8, 1));
  EXPECT_EQ(splitHeads(8, 12, 1), Parts(8, 1));
  // Groups of one head are never split.
  EXPECT_EQ(splitHeads(8, 4, 1), Parts(8, 1));
  // More devices than KV heads.
  EXPECT_EQ(splitHeads(16, 8, 16), Parts(8, 2));
  EXPECT_EQ(splitHeads(6, 2, 2), Parts(2, 3));
  EXPECT_EQ(splitHeads(8, 2, 2), Parts(2, 4));
  // Splitting 8 groups by 6 would leave 2 of 8 heads on a device.
  EXPECT_EQ(splitHeads(6, 8, 8), Parts(2, 3));
}

// Bytes for one of tiny-llama's two layers.
TEST(ContextChoice, bytes) {
  ContextProblem two = makeProblem(2), four = makeProblem(4);
  EXPECT_EQ(getBytes(four, "all_gather"), 49152 / 2);
  EXPECT_EQ(getBytes(four, "all_to_all"), 57344 / 2);
  EXPECT_EQ(getBytes(two, "all_gather"), 32768 / 2);
  EXPECT_EQ(getBytes(two, "all_to_all"), 49152 / 2);
  EXPECT_EQ(getBytes(two, "all_to_all:2"), 49152 / 2);
  EXPECT_EQ(getBytes(four, "ring"), 73728 / 2);
  EXPECT_EQ(getBytes(two, "ring"), 49152 / 2);
  EXPECT_EQ(getBytes(four, "all_to_all:2"), 49152 / 2);
  four.gathersAgain = two.gathersAgain = true;
  EXPECT_EQ(getBytes(four, "all_gather"), 73728 / 2);
  EXPECT_EQ(getBytes(two, "all_gather"), 49152 / 2);
  EXPECT_EQ(getBytes(four, "all_to_all"), 57344 / 2);
  EXPECT_EQ(getBytes(four, "ring"), 73728 / 2);
  // The ring's gradient sums are in f32: 3 t (K + K + 2 K), K in bf16.
  four.elementBytes = 2;
  EXPECT_EQ(getBytes(four, "ring"), 3 * 16 * 128 * 4);
}

// The groups get the minor part of the axis, the queries the major one.
// Latents of 24 numbers of a token: these move, and their gradients, or in 8
// bits gradients of keys and values. Computing them again takes time.
TEST(ContextChoice, latents) {
  ContextProblem problem = makeProblem(4);
  int64_t keys = getBytes(problem, "all_gather") / 2;
  problem.latentBytes = 2 * 32 * 24 * 4;
  int64_t latents = 2 * 32 * 24 * 4 / 4 * 3;
  EXPECT_EQ(getBytes(problem, "latent"), 2 * latents);
  problem.sumsLatents = false;
  EXPECT_EQ(getBytes(problem, "latent"), latents + keys);
  problem.gathersAgain = true;
  EXPECT_EQ(getBytes(problem, "latent"), 2 * latents + keys);
  EXPECT_EQ(print(problem, "latent"), print(problem, "all_gather"));
  ContextMethod latent = *parseContextMethod("latent");
  double seconds = getContextCost(problem, latent).seconds;
  problem.latentFlops = 1e6;
  EXPECT_GT(getContextCost(problem, latent).seconds, seconds);
}

TEST(ContextChoice, axes) {
  ContextProblem four = makeProblem(4);
  EXPECT_EQ(print(four, "all_gather"), R"({"cp"}{}{})");
  EXPECT_EQ(print(four, "all_to_all"), R"({}{"cp":(1)2}{"cp":(2)2})");
  EXPECT_EQ(print(four, "all_to_all:2"), R"({"cp":(1)2}{}{"cp":(2)2})");
  four.groups = 1;
  four.heads = 4;
  EXPECT_EQ(print(four, "all_to_all"), R"({}{"cp"}{})");
}

// 32 queries and keys: the shards of four devices have 36 to 228 pairs.
TEST(ContextChoice, pairs) {
  EXPECT_EQ(countPairs(0, 8, 32, true), 36);
  EXPECT_EQ(countPairs(24, 8, 32, true), 228);
  EXPECT_EQ(countPairs(0, 32, 32, true), 528);
  EXPECT_EQ(countPairs(24, 8, 32, false), 256);
  // A window of 3 gives 1, 2, 3, 3, ...; a window as long as the keys has no
  // effect.
  EXPECT_EQ(countPairs(0, 8, 32, true, 3), 1 + 2 + 6 * 3);
  EXPECT_EQ(countPairs(24, 8, 32, true, 3), 8 * 3);
  EXPECT_EQ(countPairs(24, 8, 32, true, 32), 228);
  // Queries after the last key see fewer.
  EXPECT_EQ(countPairs(3, 3, 4, true, 3), 3 + 2 + 1);
  // Queries after the last key see all keys.
  EXPECT_EQ(countPairs(0, 6, 4, true), 1 + 2 + 3 + 4 + 4 + 4);
}

// Chunks of 32: a window of 16 reaches into the previous chunk, and one of 34
// into the one before that.
TEST(ContextChoice, steps_of_a_ring) {
  EXPECT_EQ(getLastStep(4, 32, true, std::nullopt), 3);
  EXPECT_EQ(getLastStep(4, 32, true, 1), 0);
  EXPECT_EQ(getLastStep(4, 32, true, 2), 1);
  EXPECT_EQ(getLastStep(4, 32, true, 16), 1);
  EXPECT_EQ(getLastStep(4, 32, true, 33), 1);
  EXPECT_EQ(getLastStep(4, 32, true, 34), 2);
  EXPECT_EQ(getLastStep(4, 32, true, 1000), 3);
  EXPECT_EQ(getLastStep(4, 32, false, std::nullopt), 3);
}

// Gathering one KV head's keys moves less than all queries and results.
TEST(ContextChoice, the_fastest_is_chosen) {
  ContextProblem problem = makeProblem(4);
  problem.links = MeshLinks::uniform(problem.mesh, 0, 1);
  problem.groups = 1;
  problem.heads = 4;
  ContextChoice choice = llvm::cantFail(chooseContext(problem, {}));
  EXPECT_EQ(choice.get().method.getName(), "all_gather");
  problem.groups = 4;
  problem.heads = 1;
  choice = llvm::cantFail(chooseContext(problem, {}));
  EXPECT_EQ(choice.get().method.getName(), "all_to_all");
  for (const ContextCost &cost : choice.costs)
    EXPECT_GE(cost.seconds, choice.get().seconds);
  // A requested method is chosen at any cost.
  EXPECT_EQ(choice.costs.size(), 4u);
  choice =
      llvm::cantFail(chooseContext(problem, *parseContextMethod("all_gather")));
  EXPECT_EQ(choice.get().method.getName(), "all_gather");
}

TEST(ContextChoice, more_devices_than_heads) {
  ContextProblem problem = makeProblem(8);
  llvm::Expected<ContextChoice> choice =
      chooseContext(problem, *parseContextMethod("all_to_all"));
  ASSERT_FALSE(choice);
  EXPECT_EQ(llvm::toString(choice.takeError()),
            "strategy 'cp=all_to_all' expects at most the 4 query heads of a "
            "device but got 8 devices that share them");
  EXPECT_TRUE(bool(chooseContext(problem, {})));
  problem.dim = 0;
  EXPECT_EQ(llvm::toString(problem.check()),
            "expects dim of at least 1 but got 0");
}

} // namespace
