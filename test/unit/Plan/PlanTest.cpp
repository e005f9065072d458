//===- PlanTest.cpp - Training plans of a model on a cluster --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomPlan.h"
#include "gtest/gtest.h"
#include <set>

using namespace tessera;

namespace {

/// The published plan of Llama-3-405B on 16,384 GPUs.
Plan llama405b() {
  Plan l;
  l.dp = 128;
  l.tp = 8;
  l.pp = 16;
  l.seq = 8192;
  l.microBatch = 1;
  llvm::cantFail(l.setGlobalBatch(2048));
  l.schedule = ScheduleKind::Interleaved;
  l.vpp = 8;
  l.zero = 2;
  return l;
}

/// The errors of a plan, one per line.
std::string error(const Plan &plan) { return llvm::toString(plan.check()); }

TEST(Plan, valid) {
  Plan l = llama405b();
  EXPECT_EQ(llvm::toString(l.check()), "");
  EXPECT_EQ(llvm::toString(l.checkModel(128, 8, 53248, 128)), "");
  EXPECT_EQ(l.gpus(), 16384);
  EXPECT_EQ(l.microBatches, 16);
  EXPECT_EQ(l.tokens(), 16777216.0);
  EXPECT_EQ(l.summary(), "dp128 tp8 pp16 vpp8 mb1 zero2");
}

TEST(Plan, axes_multiply_to_the_gpus) {
  EXPECT_EQ(llvm::toString(llama405b().checkDevices(16384)), "");
  EXPECT_EQ(llvm::toString(llama405b().checkDevices(8192)),
            "ranks: expects dp x tp x pp x cp = 128 x 8 x 16 x 1 = 16384 but "
            "got 8192; change dp to 64");
  Plan l;
  l.dp = 4;
  l.tp = 2;
  l.pp = 4;
  EXPECT_EQ(llvm::toString(l.checkDevices(33)),
            "ranks: expects dp x tp x pp x cp = 4 x 2 x 4 x 1 = 32 but got 33; "
            "change ranks to 32, or tp, pp and cp to divisors of ranks");
}

TEST(Plan, batches_divide) {
  Plan l = llama405b();
  EXPECT_EQ(
      llvm::toString(l.setGlobalBatch(2000)),
      "global-batch: expects a multiple of dp x micro-batch = 128 x 1 but "
      "got 2000");
  EXPECT_EQ(llvm::toString(l.setGlobalBatch(1024)), "");
  EXPECT_EQ(error(l), "");
}

/// A round of the interleaved schedule has at least pp micro-batches.
TEST(Plan, gradients_are_scattered_after_each_round) {
  Plan l = llama405b();
  l.scatter = Scatter::Round;
  for (auto [microBatches, rounds] :
       {std::pair(8, 1), {16, 1}, {31, 1}, {32, 2}, {100, 6}}) {
    l.microBatches = microBatches;
    EXPECT_EQ(l.scatters(), rounds) << microBatches;
  }
}

/// A file replaces a schedule's kind; its chunks become the plan's.
TEST(Plan, schedule_of_a_file) {
  GivenPlan given;
  EXPECT_EQ(llvm::toString(given.set("schedule", "lists/a.csv")), "");
  given.plan.pp = 4;
  given.plan.vpp = 2;
  EXPECT_EQ(llvm::toString(given.plan.check()), "");
  EXPECT_EQ(given.plan.chunks(), 8);
  EXPECT_EQ(findField<Plan>("schedule")->print(given.plan), "lists/a.csv");
  Plan read = llvm::cantFail(planFromJson(toJson(given.plan)));
  EXPECT_EQ(read.scheduleFile, "lists/a.csv");
  EXPECT_EQ(read, given.plan);
  EXPECT_EQ(llvm::toString(given.set("schedule", "zb-h1")), "");
  EXPECT_EQ(given.plan.scheduleFile, "");
  EXPECT_FALSE(read == given.plan);
}

TEST(Plan, sizes) {
  Plan l = llama405b();
  l.tp = 0;
  EXPECT_EQ(error(l), "tp: expects an integer from 1 to 2147483647 but got 0");
  l = llama405b();
  l.zero = 4;
  EXPECT_EQ(error(l), "zero: expects an integer from 0 to 3 but got 4");
  l = llama405b();
  l.dp = l.tp = l.pp = l.cp = 1 << 30;
  EXPECT_EQ(error(l).rfind("ranks: expects at most 2147483647", 0), 0u);
  l = llama405b();
  l.documentTokens = l.seq + 1;
  EXPECT_EQ(error(l),
            "document-tokens: expects at most seq = 8192 but got 8193");
  l = llama405b();
  l.beta2 = 1;
  EXPECT_EQ(error(l),
            "beta2: expects a number of at least 0 and below 1 but got 1");
  l = llama405b();
  l.lrSchedule = LearningRateKind::Cosine;
  l.warmup = l.totalSteps = 10;
  EXPECT_EQ(error(l), "total-steps: expects more than warmup = 10 with cosine "
                      "but got 10");
  l = llama405b();
  l.recompute = Recompute::Auto;
  l.recomputeBytes = 1;
  EXPECT_EQ(error(l), "recompute: expects none, selective, full or matmuls "
                      "for a price but got auto");
}

TEST(Plan, schedules) {
  Plan l = llama405b();
  l.schedule = ScheduleKind::OneFOneB;
  EXPECT_EQ(error(l), "vpp: expects 1 with schedule 1f1b but got 8");
  l.schedule = ScheduleKind::ZeroBubbleV;
  l.vpp = 1;
  EXPECT_EQ(error(l), "schedule: zb-v expects at least 2 pp = 32 micro-batches "
                      "but got 16");
  l.microBatches *= 2;
  EXPECT_EQ(llvm::toString(l.check()), "");
  EXPECT_EQ(l.chunks(), 32);
  l.schedule = ScheduleKind::DualPipeV;
  EXPECT_EQ(llvm::toString(l.check()), "");
  EXPECT_EQ(l.chunks(), 32);
  l.microBatches = 31;
  EXPECT_EQ(error(l), "schedule: dualpipe-v expects at least 2 pp = 32 "
                      "micro-batches but got 31");
  l.microBatches = 32;
  l.stageLayers.assign(16, 8);
  EXPECT_EQ(error(l), "stage-layers: expects time, even or 32 numbers, one for "
                      "each chunk of a stage, but got 16");
}

TEST(Plan, model) {
  Plan l = llama405b();
  EXPECT_EQ(llvm::toString(l.checkModel(25, 25, 6400, 48)),
            "tp: expects a divisor of the 25 heads but got 8\n"
            "tp: expects a divisor or a multiple of the 25 KV heads but got 8\n"
            "pp: expects chunks of stages of at most the 48 layers, embedding "
            "and head but got 16 x 8");
  // 128 chunks: the first is the embedding, the last is the head.
  EXPECT_EQ(llvm::toString(llama405b().checkModel(128, 8, 53248, 126)), "");
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

// Every field has a unique name and a text.
TEST(PlanFields, are_described) {
  std::set<std::string> names;
  for (const PlanField &field : getFields<Plan>()) {
    EXPECT_TRUE(names.insert(field.name.str()).second) << field.name.str();
    EXPECT_FALSE(field.help.empty());
    EXPECT_EQ(field.value.empty(),
              std::holds_alternative<PlanField::Flag>(field.type));
    EXPECT_TRUE(field.isInRange(Plan())) << field.name.str();
  }
  EXPECT_EQ(findField<Plan>("overlap")->getOption(), "--overlap");
  EXPECT_EQ(findField<Plan>("overlap")->getPlaceholder(), "on|off");
  EXPECT_EQ(findField<Plan>("overlap")->getOldOption(), "--no-overlap");
  EXPECT_EQ(findField<Plan>("gpus"), findField<Plan>("ranks"));
  EXPECT_EQ(findField<Plan>("ranks")->getOldOption(), "--gpus");
  EXPECT_EQ(findField<Plan>("micro-batch")->getOption(), "--micro-batch");
  EXPECT_EQ(findField<Plan>("micro-batch")->getParameter(), "micro_batch");
  EXPECT_EQ(findField<Plan>("offload")->getHelp(),
            "where optimizer state is kept: none, host, nvme; default: none");
}

TEST(PlanFields, json_there_and_back) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Plan plan = draw(seed);
    llvm::json::Object object = toJson(plan);
    llvm::Expected<Plan> again = planFromJson(object);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(*again, plan);
    EXPECT_EQ(hash_value(*again), hash_value(plan));
    EXPECT_EQ(llvm::json::Value(toJson(*again)),
              llvm::json::Value(toJson(plan)));
  }
  EXPECT_EQ(draw(0), draw(0));
  EXPECT_NE(draw(0), draw(1));
}

std::string readError(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  llvm::Expected<Plan> plan = planFromJson(*value->getAsObject());
  return plan ? "none" : llvm::toString(plan.takeError());
}

TEST(PlanFields, json_errors) {
  EXPECT_EQ(readError(R"({"tp": "8"})"),
            "tp: expects an integer from 1 to 2147483647 but got \"8\"");
  EXPECT_EQ(readError(R"({"recompute": "some"})"),
            "recompute: expects none, selective, full, matmuls or auto=BYTES "
            "but got \"some\"");
  EXPECT_EQ(readError(R"({"sp": 1})"), "sp: expects true or false but got 1");
  EXPECT_EQ(readError(R"({"stage-layers": "1,2.25"})"),
            "stage-layers: expects time, even or blocks of each chunk, as "
            "7,8.5,8,6.5 but got \"1,2.25\"");
  EXPECT_EQ(readError(R"({"tpp": 8})"),
            "tpp: expects a known field; did you mean 'tp'?");
  EXPECT_EQ(readError(R"({"global-batch": 8, "micro-batches": 8})"),
            "micro-batches: expects no global-batch beside it");
  EXPECT_EQ(readError(R"({"ranks": 8, "gpus": 8})"),
            "ranks: expects no gpus beside it");
  // Older plans have this name.
  EXPECT_EQ(readError(R"({"gpus": 8, "tp": 4, "dp": 4})"),
            "ranks: expects dp x tp x pp x cp = 4 x 4 x 1 x 1 = 16 but got 8; "
            "change dp to 2");
}

TEST(PlanFields, what_is_not_given_follows) {
  GivenPlan given;
  EXPECT_TRUE(given.isEmpty());
  ASSERT_FALSE(bool(given.parse("ranks=64,tp=8,global-batch=32,micro-batch=2,"
                                "stage-layers=7,8,lr=1e-4")));
  ASSERT_FALSE(bool(given.complete()));
  EXPECT_EQ(given.plan.dp, 8);
  EXPECT_EQ(given.plan.microBatches, 2);
  EXPECT_EQ(given.plan.stageLayers, (std::vector<double>{7, 8}));
  EXPECT_EQ(given.plan.lr, 1e-4);
  EXPECT_TRUE(given.has("ranks") && given.has("lr"));
  EXPECT_FALSE(given.has("dp") || given.has("clip") || given.isEmpty());
  // The later of the two ways to give the batch applies.
  ASSERT_FALSE(bool(given.set("micro-batches", "3")));
  ASSERT_FALSE(bool(given.complete()));
  EXPECT_EQ(given.plan.globalBatch(), 48);
}

std::string setError(llvm::StringRef name, llvm::StringRef text) {
  GivenPlan given;
  std::string message = llvm::toString(given.set(name, text));
  EXPECT_EQ(given.plan, Plan());
  return message;
}

TEST(PlanFields, errors_name_the_field) {
  EXPECT_EQ(setError("micro-batches", "two"),
            "micro-batches: expects an integer from 1 to 2147483647 but got "
            "'two'");
  EXPECT_EQ(setError("recompute", "auto=0"),
            "recompute: expects none, selective, full, matmuls or auto=BYTES "
            "but got 'auto=0'");
  EXPECT_EQ(setError("groups", "w"), "groups: expects PATTERN:lr=FACTOR:decay="
                                     "X, separated by ';' but got 'w'");
  EXPECT_EQ(setError("beta1", "1"),
            "beta1: expects a number of at least 0 and below 1 but got '1'");
  EXPECT_EQ(setError("schedule", "interleave"),
            "schedule: expects one of gpipe, 1f1b, interleaved, zb-h1, zb-h2, "
            "zb-1p, zb-2p, zb-v, dualpipe, dualpipe-v or FILE.csv but got "
            "'interleave'; did you mean 'interleaved'?");
  EXPECT_EQ(setError("speed", "1"), "speed: expects a known field");
}

} // namespace
