//===- PlanPricerTest.cpp - Many layouts of one model ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanPricer.h"
#include "../Plan/FieldValues.h"
#include "TestModels.h"
#include "tessera/Cost/PlanReport.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

std::vector<cost::ExecutedPlan> layouts() {
  std::vector<cost::ExecutedPlan> list;
  cost::ExecutedPlan l;
  l.precision = Precision::BF16;
  l.seq = 2048;
  for (int64_t tp : {1, 4})
    for (int64_t cp : {1, 2})
      for (int64_t pp : {1, 4})
        for (int zero : {1, 3})
          for (Recompute recompute : {Recompute::None, Recompute::Full}) {
            l.tp = tp;
            l.cp = cp;
            l.pp = pp;
            l.dp = 64 / (tp * cp * pp);
            llvm::cantFail(l.setGlobalBatch(256));
            l.zero = zero;
            l.sp = tp > 1;
            l.recompute = recompute;
            list.push_back(l);
          }
  return list;
}

template <typename StructT> void compareWithCache(PlanPricer &cached) {
  for (const Field<StructT> &field : getFields<StructT>()) {
    SCOPED_TRACE(field.name.str());
    cost::ExecutedPlan plan = layouts().back();
    // Parameters in 8 bits expect it.
    plan.precision = Precision::FP8;
    plan.recompute = Recompute::None;
    ASSERT_TRUE(field.parse(findOtherValue(field), plan));
    auto price = cached.price(plan),
         fresh = PlanPricer(llama(), cluster()).price(plan);
    ASSERT_TRUE(bool(price)) << llvm::toString(price.takeError());
    ASSERT_TRUE(bool(fresh)) << llvm::toString(fresh.takeError());
    EXPECT_EQ(price->step.total, fresh->step.total);
    EXPECT_EQ(price->peakBytes, fresh->peakBytes);
  }
}

/// No field of an execution or of numerics takes the layers of another value.
TEST(PlanPricer, layers_depend_on_each_field) {
  PlanPricer cached(llama(), cluster());
  compareWithCache<cost::Execution>(cached);
  compareWithCache<Numerics>(cached);
}

/// Cached results of other layouts must not change a result.
TEST(PlanPricer, gives_the_numbers_of_a_report) {
  PlanPricer pricer(llama(), cluster());
  for (int round = 0; round < 2; ++round)
    for (const cost::ExecutedPlan &plan : layouts()) {
      SCOPED_TRACE(plan.summary());
      cost::ExecutedPlan chosen;
      auto price = pricer.price(plan, &chosen);
      ASSERT_TRUE(bool(price)) << llvm::toString(price.takeError());
      auto work = WorkReader().read(llama(), chosen);
      ASSERT_TRUE(bool(work)) << llvm::toString(work.takeError());
      schedule::PipelinePricer pipelines;
      auto report =
          makePlanReport(*work, chosen, chosen, cluster(), {}, pipelines);
      ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
      EXPECT_EQ(price->step.total, report->stepSeconds);
      EXPECT_EQ(price->peakBytes, report->peakMemory().total());
      EXPECT_EQ(price->fits, report->fits());
    }
}

/// Reports on kept layers are those of a plan alone, whatever was priced
/// before.
TEST(PlanPricer, reports_on_kept_layers) {
  PlanPricer pricer(llama(), cluster());
  PlanQuestion question;
  question.model = "llama";
  question.tokens = 1e12;
  for (int round = 0; round < 2; ++round)
    for (const cost::ExecutedPlan &plan : layouts()) {
      SCOPED_TRACE(plan.summary());
      if (round == 0 && plan.tp == 1)
        ASSERT_TRUE(bool(pricer.price(plan)));
      auto report = pricer.report(plan, question);
      ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
      cost::ExecutedPlan chosen = plan;
      if (plan.cp > 1) {
        cost::ExecutedPlan priced;
        ASSERT_TRUE(bool(pricer.price(plan, &priced)));
        chosen.cpMethod = priced.cpMethod;
      }
      Subject subject{llama(), {}, {}};
      WorkReader reader;
      auto work = subject.read(reader, chosen);
      ASSERT_TRUE(bool(work)) << llvm::toString(work.takeError());
      schedule::PipelinePricer pipelines;
      auto alone =
          makePlanReport(*work, chosen, chosen, cluster(), question, pipelines);
      ASSERT_TRUE(bool(alone)) << llvm::toString(alone.takeError());
      EXPECT_EQ(llvm::json::Value(toJson(*report)),
                llvm::json::Value(toJson(*alone)));
      PlanQuestion brief = question;
      brief.isBrief = true;
      auto shorter = pricer.report(plan, brief);
      ASSERT_TRUE(bool(shorter)) << llvm::toString(shorter.takeError());
      EXPECT_TRUE(shorter->traffic.empty() && shorter->largest.empty() &&
                  shorter->caveats.empty());
      shorter->traffic = alone->traffic;
      shorter->largest = alone->largest;
      shorter->caveats = alone->caveats;
      shorter->scheduleBubble = alone->scheduleBubble;
      EXPECT_EQ(llvm::json::Value(toJson(*shorter)),
                llvm::json::Value(toJson(*alone)));
    }
}

TEST(PlanPricer, reports_no_invalid_plan) {
  PlanPricer pricer(llama(), cluster());
  cost::ExecutedPlan plan = layouts().front();
  plan.tp = 3;
  auto price = pricer.price(plan);
  ASSERT_FALSE(bool(price));
  auto report = pricer.report(plan, {});
  ASSERT_FALSE(bool(report));
  EXPECT_EQ(llvm::toString(report.takeError()),
            llvm::toString(price.takeError()));
}

/// Cached splits equal a plan's own: schedules, chunks and stages do not mix,
/// and micro-batches do not matter.
TEST(PlanPricer, keeps_splits_by_stages) {
  PlanPricer pricer(llama(), cluster());
  cost::ExecutedPlan l = layouts().front();
  l.tp = 1;
  struct Case {
    int64_t pp, vpp;
    ScheduleKind schedule;
  };
  for (int64_t batch : {256, 512})
    for (Case c : {Case{4, 1, ScheduleKind::OneFOneB},
                   Case{4, 1, ScheduleKind::ZeroBubbleV},
                   Case{4, 1, ScheduleKind::DualPipe},
                   Case{4, 2, ScheduleKind::Interleaved},
                   Case{8, 1, ScheduleKind::OneFOneB}}) {
      l.pp = c.pp;
      l.vpp = c.vpp;
      l.schedule = c.schedule;
      l.dp = 64 / l.pp;
      llvm::cantFail(l.setGlobalBatch(batch));
      SCOPED_TRACE(l.summary());
      cost::ExecutedPlan kept, own;
      auto price = pricer.price(l, &kept);
      ASSERT_TRUE(bool(price)) << llvm::toString(price.takeError());
      auto alone = PlanPricer(llama(), cluster()).price(l, &own);
      ASSERT_TRUE(bool(alone)) << llvm::toString(alone.takeError());
      EXPECT_EQ(kept.stageLayers, own.stageLayers);
      EXPECT_EQ(price->step.total, alone->step.total);
    }
  EXPECT_EQ(pricer.numPricedModels(), 1u);
}

TEST(PlanPricer, prices_layers_once) {
  PlanPricer pricer(llama(), cluster());
  cost::ExecutedPlan l = layouts().front();
  ASSERT_TRUE(bool(pricer.price(l)));
  // The layers do not depend on the schedule, the batch, and ZeRO up to 2.
  for (int zero : {0, 2}) {
    l.zero = zero;
    l.microBatches *= 2;
    ASSERT_TRUE(bool(pricer.price(l)));
  }
  EXPECT_EQ(pricer.numPricedModels(), 1u);
  l.zero = 3;
  ASSERT_TRUE(bool(pricer.price(l)));
  EXPECT_EQ(pricer.numPricedModels(), 2u);
}

/// `auto` has the price of the fastest method, and each method has its own
/// price, whatever was priced before.
TEST(PlanPricer, takes_the_fastest_method_of_context_parallelism) {
  PlanPricer pricer(llama(), cluster());
  cost::ExecutedPlan plan = layouts().front();
  plan.cp = 8;
  plan.dp = 8;
  plan.seq = 32768;
  std::map<double, std::string> methods;
  for (const char *name :
       {"all_gather", "ring", "all_to_all:2", "all_to_all:4", "all_to_all"}) {
    plan.cpMethod = *parseContextMethod(name);
    auto price = pricer.price(plan);
    ASSERT_TRUE(bool(price)) << llvm::toString(price.takeError());
    auto alone = PlanPricer(llama(), cluster()).price(plan);
    ASSERT_TRUE(bool(alone)) << llvm::toString(alone.takeError());
    EXPECT_EQ(price->step.total, alone->step.total);
    methods.try_emplace(price->step.total, name);
  }
  EXPECT_EQ(methods.size(), 5u);
  plan.cpMethod = {};
  cost::ExecutedPlan chosen;
  auto price = pricer.price(plan, &chosen);
  ASSERT_TRUE(bool(price)) << llvm::toString(price.takeError());
  EXPECT_EQ(price->step.total, methods.begin()->first);
  EXPECT_EQ(chosen.cpMethod.getName(), methods.begin()->second);
}

/// Both ends store a tied table if their stages are separate.
TEST(PlanPricer, stores_a_tied_table_on_both_ends) {
  ModelConfig tied = llama();
  tied.tiedHead = true;
  cost::ExecutedPlan l = layouts().front();
  auto parameters = [&](int64_t pp) {
    l.pp = pp;
    l.dp = 64 / (l.tp * l.cp * pp);
    double sum = 0;
    auto work = WorkReader().read(tied, l);
    EXPECT_TRUE(bool(work)) << llvm::toString(work.takeError());
    for (const ModelWork::Run &run : work->layers)
      sum += run.count * work->kinds[run.kind].parameterElements();
    return sum;
  };
  EXPECT_EQ(parameters(1), countParameters(tied));
  EXPECT_EQ(parameters(4), countParameters(tied) + 32000.0 * 4096);
}

TEST(PlanPricer, errors) {
  PlanPricer pricer(llama(), cluster());
  cost::ExecutedPlan l = layouts().front();
  l.tp = 3;
  l.dp = 64;
  auto price = pricer.price(l);
  ASSERT_FALSE(bool(price));
  EXPECT_EQ(llvm::toString(price.takeError()),
            "tp: expects a divisor of the 32 heads but got 3");
  l = layouts().front();
  l.dp = 1 << 20;
  price = pricer.price(l);
  EXPECT_FALSE(bool(price));
  llvm::consumeError(price.takeError());
}

} // namespace
