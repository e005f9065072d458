//===- LayoutSearchTest.cpp - The best layouts of a space -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"
#include "tessera/Cost/Uncertainty.h"
#include "tessera/Planning/WhatIf.h"
#include "tessera/Schedule/Generators.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace tessera;
using namespace tessera::cost;

namespace {

Subject dense(const ModelConfig &config) { return {config, {}, {}}; }
Subject sparse(const MoEConfig &config) { return {{}, config, {}}; }

using Constraints = std::vector<std::pair<const char *, const char *>>;

PlanSpace makeSpace(const Constraints &constraints) {
  PlanSpace space;
  space.base.precision = Precision::BF16;
  space.base.seq = 2048;
  for (auto [name, text] : constraints)
    llvm::cantFail(space.constrain(name, text));
  return space;
}

/// A space with few enough layouts to price all of them.
struct Case {
  const char *name;
  Subject subject;
  ClusterSpec cluster;
  Constraints constraints;
};

std::vector<Case> cases() {
  ClusterSpec large = cluster(), small = cluster(4, 40e9, 25e9);
  return {
      {"llama on a node",
       dense(llama()),
       large,
       {{"ranks", "8"}, {"global-batch", "16"}, {"micro-batch", "1,2"}}},
      {"llama on nodes of four",
       dense(llama()),
       small,
       {{"ranks", "32"},
        {"global-batch", "64"},
        {"micro-batch", "1"},
        {"cp", "..2"},
        {"recompute", "none,full"},
        {"keep-gathered", "off"},
        {"zero", "0,1,3"}}},
      {"gpt with stages",
       dense(gpt()),
       large,
       {{"ranks", "64"},
        {"global-batch", "128"},
        {"tp", "1,2"},
        {"pp", "4.."},
        {"cp", "1"},
        {"micro-batch", "1..2"},
        {"shard-ranks", "0"},
        {"recompute", "none,full"}}},
      {"gpt on little memory",
       dense(gpt()),
       small,
       {{"ranks", "16"},
        {"global-batch", "32"},
        {"cp", "1"},
        {"sp", "on"},
        {"zero", "..2"},
        {"zero2-reduce", "round,last"}}},
      {"experts",
       sparse(mixture()),
       large,
       {{"ranks", "32"},
        {"global-batch", "64"},
        {"cp", "1"},
        {"pp", "..8"},
        {"micro-batch", "1"},
        {"recompute", "none,full"},
        {"zero", "1,3"},
        {"shard-ranks", "0"}}},
      {"numbers of devices and types",
       dense(gpt()),
       large,
       {{"ranks", "8,16"},
        {"global-batch", "32"},
        {"cp", "1"},
        {"pp", "..4"},
        {"precision", "bf16,fp8"},
        {"grad-dtype", "f32,bf16"},
        {"micro-batch", "2"},
        {"zero", "1"},
        {"recompute", "none"}}},
  };
}

void expectSame(const std::vector<FoundPlan> &a,
                const std::vector<FoundPlan> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(a[i].plan.summary());
    EXPECT_EQ(a[i].seconds, b[i].seconds);
    EXPECT_EQ(a[i].bytes, b[i].bytes);
    EXPECT_TRUE(a[i].plan == b[i].plan) << b[i].plan.summary();
  }
}

void expectSame(const SearchResult &a, const SearchResult &b) {
  expectSame(a.top, b.top);
  expectSame(a.meshes, b.meshes);
  expectSame(a.front, b.front);
  expectSame(a.nearMisses, b.nearMisses);
}

class EqualsExhaustive : public testing::TestWithParam<size_t> {};

TEST_P(EqualsExhaustive, in_time_best_plans_and_front) {
  Case test = cases()[GetParam()];
  SCOPED_TRACE(test.name);
  PlanSpace given = makeSpace(test.constraints);
  std::vector<ClusterSpec> clusters{test.cluster};
  LayoutSpace space(test.subject, clusters, given);
  SearchOptions options;
  options.top = 10;
  options.frontSlack = INFINITY;
  SearchResult all = priceAllLayouts(test.subject, clusters, space, options);
  SearchResult found = searchLayouts(test.subject, clusters, space, options);
  ASSERT_EQ(found.top.size(), 10u);
  EXPECT_GT(all.front.size(), 2u);
  expectSame(found, all);
  EXPECT_EQ(found.gap, 0);
  // Every layout is counted.
  const SearchCounts &c = found.counts;
  EXPECT_EQ(c.layouts, c.invalid + c.bounded + c.tooLarge + c.priced);
  EXPECT_EQ(all.counts.priced + all.counts.invalid, c.layouts);
  EXPECT_GE(all.counts.fit, c.fit);

  // Fewer layouts are priced without the front; the best ones are the same,
  // with any number of threads.
  options.frontSlack = -1;
  options.threads = 2;
  SearchResult best = searchLayouts(test.subject, clusters, space, options);
  EXPECT_LT(best.counts.priced, c.priced);
  expectSame(best.top, all.top);
  options.threads = 1;
  SearchResult again = searchLayouts(test.subject, clusters, space, options);
  expectSame(again, best);
  EXPECT_EQ(again.counts.priced, best.counts.priced);
  EXPECT_EQ(again.counts.bounded, best.counts.bounded);
}

INSTANTIATE_TEST_SUITE_P(Spaces, EqualsExhaustive,
                         testing::Range(size_t(0), cases().size()));

/// No bound exceeds the time of a layout, for random layouts of each schedule.
TEST(LayoutSearch, bounds_hold) {
  std::mt19937 random(7);
  for (const Subject &subject :
       {dense(llama()), dense(gpt()), sparse(mixture())})
    for (const ClusterSpec &spec : {cluster(), cluster(4, 40e9, 25e9)}) {
      PlanSpace given =
          makeSpace({{"ranks", "64"}, {"global-batch", "128"}, {"cp", "..4"}});
      std::vector<ClusterSpec> clusters{spec};
      LayoutSpace space(subject, clusters, given);
      LayoutProbe probe(subject, clusters, space);
      double tightness = 0;
      for (int i = 0; i < 400; ++i) {
        uint32_t index = random() % space.getShapes().size();
        const LayoutShape &shape = space.getShapes()[index];
        auto pipelines = space.getPipelines(shape);
        size_t pipeline = random() % pipelines.size();
        size_t zero =
            random() % space.getZeros(shape, pipelines[pipeline]).size();
        auto bounds = probe.measure(index, pipeline, zero);
        ASSERT_TRUE(bounds);
        const cost::ExecutedPlan &plan = bounds->priced.plan;
        SCOPED_TRACE(plan.summary() + " " + stringify(plan.schedule).str());
        double seconds = bounds->priced.seconds;
        EXPECT_LE(bounds->axes, seconds);
        EXPECT_LE(bounds->sequence, seconds);
        EXPECT_LE(bounds->layers, bounds->chunks);
        EXPECT_LE(bounds->chunks, seconds);
        EXPECT_LE(bounds->bytes, bounds->priced.bytes);
        tightness += bounds->layers / seconds / 400;
        EXPECT_GT(subject.dense ? bounds->axes : bounds->sequence, 0);
      }
      EXPECT_GT(tightness, 0.5);
    }
}

/// The chunks' bound holds for each schedule and not only for its price, which
/// for large schedules is extrapolated from smaller ones.
TEST(LayoutSearch, bounds_of_chunks_hold_for_whole_schedules) {
  ClusterSpec spec = cluster();
  PlanPricer pricer(llama(), spec);
  schedule::PipelinePricer whole(/*maxSteps=*/0);
  for (ScheduleKind kind : schedule::allScheduleKinds())
    for (int64_t pp : {2, 4, 8})
      for (int64_t microBatches : {16, 20}) {
        cost::ExecutedPlan plan;
        plan.precision = Precision::BF16;
        plan.seq = 2048;
        plan.pp = pp;
        plan.dp = 32 / pp;
        plan.microBatches = microBatches;
        plan.schedule = kind;
        plan.vpp = kind == ScheduleKind::Interleaved ? 3 : 1;
        SCOPED_TRACE(plan.summary() + " " + stringify(kind).str());
        ASSERT_EQ(llvm::toString(plan.check()), "");
        Machine machine(spec, plan, plan);
        const PricedModel &model =
            llvm::cantFail(pricer.getLayers(plan, machine))->model;
        Plan split = llvm::cantFail(splitByTime(model, plan, machine, whole));
        StagedModel staged =
            llvm::cantFail(StagedModel::make(model, split, machine, whole));
        // priceStep() would raise a price to the bound.
        double makespan = staged.simulate(whole).makespan;
        EXPECT_LE(staged.leastSeconds(), makespan * (1 + 1e-12));
        EXPECT_GE(staged.leastSeconds(), 0.75 * makespan);
      }
}

/// No plan on fewer whole nodes meets the date.
TEST(WhatIf, fewest_devices) {
  Subject subject = dense(llama());
  ClusterSpec spec = cluster();
  PlanSpace given = makeSpace({{"global-batch", "96"},
                               {"cp", "1"},
                               {"micro-batch", "1"},
                               {"zero", "1"},
                               {"recompute", "none,full"}});
  double tokens = 1e12, days = 30;
  SearchOptions options;
  FewestDevices fewest = llvm::cantFail(
      findFewestDevices(subject, spec, given, tokens, days, options));
  EXPECT_EQ(fewest.devices % 8, 0);
  EXPECT_GT(fewest.devices, fewest.first);
  std::vector<ClusterSpec> clusters{spec};
  options.frontSlack = -1;
  auto daysOn = [&](int64_t devices) {
    llvm::cantFail(given.constrain("ranks", std::to_string(devices)));
    LayoutSpace space(subject, clusters, given);
    SearchResult result = searchLayouts(subject, clusters, space, options);
    return result.top.empty() ? double(INFINITY)
                              : result.top[0].time * tokens / 86400;
  };
  EXPECT_LE(daysOn(fewest.devices), days);
  for (int64_t devices = 8; devices < fewest.devices; devices += 8)
    EXPECT_GT(daysOn(devices), days) << devices;
  // Fewer devices are allowed than are needed.
  llvm::cantFail(given.constrain("ranks", "..16"));
  EXPECT_EQ(llvm::toString(
                findFewestDevices(subject, spec, given, tokens, days, options)
                    .takeError()),
            "no plan on at most 16 devices is through 1.00e+12 tokens in 30.0 "
            "days");
}

/// Plans that must fit with a probability need less memory than a device has.
/// The more of a plan is new, the less it may need.
TEST(LayoutSearch, fits_with_a_probability) {
  Subject subject = dense(llama());
  std::vector<ClusterSpec> clusters{cluster(8, 40e9)};
  PlanSpace given = makeSpace({{"ranks", "16"},
                               {"global-batch", "64"},
                               {"cp", "1"},
                               {"micro-batch", "1"},
                               {"zero", "1,3"},
                               {"shard-ranks", "0"}});
  LayoutSpace space(subject, clusters, given);
  SearchOptions options;
  SearchResult plain = searchLayouts(subject, clusters, space, options);
  options.fit = 0.95;
  SearchResult sure = searchLayouts(subject, clusters, space, options);
  expectSame(sure, priceAllLayouts(subject, clusters, space, options));
  ASSERT_FALSE(sure.top.empty());
  EXPECT_GE(sure.top[0].time, plain.top[0].time);
  for (const FoundPlan &found : sure.front) {
    Doubt doubt = memoryDoubt(noveltyOf(found.plan, found.plan, clusters[0]));
    EXPECT_GE(probabilityBelow(found.bytes, found.capacity, doubt), 0.95);
    EXPECT_NEAR(probabilityBelow(found.limit, found.capacity, doubt), 0.95,
                1e-9);
  }
}

/// The cheapest among two clusters and several numbers of devices.
TEST(LayoutSearch, finds_the_cheapest) {
  Subject subject = dense(llama());
  std::vector<ClusterSpec> clusters{cluster(), cluster(4, 40e9, 25e9)};
  PlanSpace given = makeSpace({{"ranks", "16,32"},
                               {"global-batch", "64"},
                               {"cp", "1"},
                               {"micro-batch", "1"},
                               {"zero", "1,3"},
                               {"shard-ranks", "0"}});
  LayoutSpace space(subject, clusters, given);
  SearchOptions options;
  options.objective = SearchObjective::Dollars;
  options.prices = {2, 1.5};
  SearchResult found = searchLayouts(subject, clusters, space, options);
  SearchResult all = priceAllLayouts(subject, clusters, space, options);
  expectSame(found, all);
  EXPECT_EQ(found.top[0].dollars,
            found.top[0].time * 1.5 / 3600 * double(found.top[0].plan.gpus()));
  EXPECT_EQ(found.top[0].cluster, 1u);
  options.prices = {1, 1.5};
  found = searchLayouts(subject, clusters, space, options);
  EXPECT_EQ(found.top[0].cluster, 0u);
}

/// The result of a stopped search has a bound, and the best layout of the space
/// does not exceed it.
TEST(LayoutSearch, may_be_ended) {
  Subject subject = dense(llama());
  std::vector<ClusterSpec> clusters{cluster()};
  PlanSpace given = makeSpace({{"ranks", "16"}, {"global-batch", "64"}});
  LayoutSpace space(subject, clusters, given);
  double best = searchLayouts(subject, clusters, space).top.at(0).time;
  auto endedBy = [&](llvm::function_ref<bool(const SearchProgress &)> goOn) {
    SearchOptions options;
    options.progress = goOn;
    return searchLayouts(subject, clusters, space, options);
  };
  // A plan is known before any layout is counted, when there is no bound yet.
  SearchResult dived =
      endedBy([](const SearchProgress &known) { return !known.best; });
  ASSERT_FALSE(dived.top.empty());
  EXPECT_EQ(dived.counts.priced, 0);
  EXPECT_LE(dived.bound, best);
  EXPECT_GE(dived.top[0].time, best);
  SearchResult first = endedBy(
      [](const SearchProgress &known) { return known.counts.priced == 0; });
  ASSERT_FALSE(first.top.empty());
  EXPECT_TRUE(first.stopped);
  EXPECT_LE(first.bound, best);
  EXPECT_GE(first.top[0].time, best);
  EXPECT_GE(first.gap, 0);
  EXPECT_LT(first.gap, 0.5);
  EXPECT_EQ(first.gap, 1 - first.bound / first.top[0].time);
  SearchResult none = endedBy([](const SearchProgress &) { return false; });
  EXPECT_TRUE(none.stopped);
  EXPECT_TRUE(none.top.empty());
  EXPECT_FALSE(none.smallest);
}

TEST(WhatIf, other_hardware) {
  Subject subject = dense(llama());
  std::vector<ClusterSpec> clusters{cluster()};
  PlanSpace given = makeSpace({{"ranks", "16"},
                               {"global-batch", "64"},
                               {"cp", "1"},
                               {"micro-batch", "1"},
                               {"zero", "1"}});
  LayoutSpace space(subject, clusters, given);
  SearchResult found = searchLayouts(subject, clusters, space);
  ASSERT_FALSE(found.top.empty());
  const FoundPlan &best = found.top[0];
  std::vector<WhatIf> list =
      findWhatIfs(subject, clusters, given, best, SearchOptions());
  ASSERT_EQ(list.size(), 5u);
  // More is never worse, and less never better.
  for (size_t i : {0, 1, 3})
    EXPECT_LE(list[i].found.time, best.time) << list[i].what;
  for (size_t i : {2, 4})
    EXPECT_GE(list[i].found.time, best.time) << list[i].what;
  EXPECT_LT(list[3].found.time, list[4].found.time);
  EXPECT_EQ(list[0].found.capacity, best.capacity + 10e9);
}

TEST(WhatIf, why_not_a_layout) {
  Subject subject = dense(llama());
  std::vector<ClusterSpec> clusters{cluster()};
  PlanSpace given = makeSpace(
      {{"ranks", "16"}, {"global-batch", "64"}, {"cp", "1"}, {"zero", "1"}});
  LayoutSpace space(subject, clusters, given);
  FoundPlan best = searchLayouts(subject, clusters, space).top.at(0);
  auto ask = [&](const char *fixed) {
    return explainLayout(subject, clusters, given, fixed, best,
                         SearchOptions());
  };
  Neighbour asked = llvm::cantFail(ask("tp=8,recompute=full"));
  EXPECT_EQ(asked.found.plan.tp, 8);
  EXPECT_EQ(asked.found.plan.recompute, Recompute::Full);
  EXPECT_GT(asked.found.time, best.time);
  ASSERT_FALSE(asked.causes.empty());
  EXPECT_GT(asked.causes[0].second, 0);
  EXPECT_EQ(llvm::toString(ask("tp8").takeError()),
            "expects fields and their values, as tp=8,pp=4, but got 'tp8'");
  EXPECT_EQ(llvm::toString(ask("tp=3").takeError()),
            "no layout has --ranks 16, --tp 3 and --global-batch 64");
  // A neighbor that does not fit reports it.
  Neighbour large =
      llvm::cantFail(ask("tp=1,pp=1,micro-batch=4,recompute=none"));
  EXPECT_FALSE(large.found.fits());
  ASSERT_FALSE(large.causes.empty());
  EXPECT_EQ(large.causes[0].first, "activations");
}

TEST(LayoutSearch, ranks_plans) {
  Subject subject = dense(llama());
  PlanSpace given = makeSpace({{"ranks", "16"}, {"global-batch", "64"}});
  std::vector<ClusterSpec> clusters{cluster()};
  LayoutSpace space(subject, clusters, given);
  SearchResult found = searchLayouts(subject, clusters, space);
  std::vector<cost::ExecutedPlan> plans;
  for (const FoundPlan &plan : llvm::reverse(found.top))
    plans.push_back(plan.plan);
  plans.push_back(plans.back());
  plans.back().tp = 3;
  SearchResult ranked = rankPlans(subject, clusters[0], plans);
  EXPECT_EQ(ranked.counts.layouts, int64_t(plans.size()));
  EXPECT_EQ(ranked.counts.invalid, 1);
  ASSERT_EQ(ranked.top.size(), found.top.size());
  for (size_t i = 0; i < found.top.size(); ++i)
    EXPECT_EQ(ranked.top[i].seconds, found.top[i].seconds);
}

/// A list, a range, a flag; contradictory layouts are left out.
TEST(LayoutSpace, is_what_the_options_leave_open) {
  Subject subject = dense(llama());
  std::vector<ClusterSpec> clusters{cluster()};
  PlanSpace given = makeSpace({{"ranks", "16"},
                               {"global-batch", "32"},
                               {"tp", "2,4"},
                               {"pp", "..2"},
                               {"sp", "on"},
                               {"cp", "1"},
                               {"schedule", "1f1b,interleaved"},
                               {"vpp", "1,3"},
                               {"micro-batch", "2"},
                               {"zero", "1"},
                               {"recompute", "full"}});
  LayoutSpace space(subject, clusters, given);
  std::vector<std::string> found;
  for (const LayoutShape &shape : space.getShapes())
    for (const PipelineChoice &pipeline : space.getPipelines(shape))
      for (const ZeroChoice &zero : space.getZeros(shape, pipeline)) {
        cost::ExecutedPlan plan = space.makePlan(shape);
        LayoutSpace::apply(plan, pipeline);
        LayoutSpace::apply(plan, zero);
        EXPECT_EQ(llvm::toString(subject.check(plan)), "");
        if (!plan.keepGathered)
          found.push_back(plan.summary());
      }
  EXPECT_EQ(found, (std::vector<std::string>{
                       "dp8 tp2 pp1 mb2 zero1 sp recompute=full",
                       "dp4 tp2 pp2 mb2 zero1 sp recompute=full",
                       "dp4 tp2 pp2 vpp3 mb2 zero1 sp recompute=full",
                       "dp4 tp4 pp1 mb2 zero1 sp recompute=full",
                       "dp2 tp4 pp2 mb2 zero1 sp recompute=full",
                       "dp2 tp4 pp2 vpp3 mb2 zero1 sp recompute=full"}));
  EXPECT_EQ(space.numLayouts() - space.numInvalid(), 12);
}

/// Types for which a device has no units are not in the space.
TEST(LayoutSpace, has_types_that_the_device_has) {
  Subject subject = dense(llama());
  std::vector<ClusterSpec> clusters{cluster()};
  PlanSpace given = makeSpace(
      {{"ranks", "8"}, {"global-batch", "8"}, {"precision", "bf16,nvfp4"}});
  LayoutSpace both(subject, clusters, given);
  EXPECT_EQ(both.getSettings().size(), 1u);
  llvm::cantFail(given.constrain("precision", "nvfp4"));
  LayoutSpace none(subject, clusters, given);
  EXPECT_TRUE(none.getShapes().empty());
  EXPECT_NE(none.getFirstReason().find("precision: expects units of device"),
            std::string::npos)
      << none.getFirstReason();
}

TEST(LayoutSpace, has_each_layout_once) {
  Subject subject = dense(gpt());
  std::vector<ClusterSpec> clusters{cluster()};
  PlanSpace given =
      makeSpace({{"ranks", "8"}, {"global-batch", "8"}, {"recompute", "none"}});
  LayoutSpace space(subject, clusters, given);
  std::set<std::string> found;
  int64_t count = 0;
  for (const LayoutShape &shape : space.getShapes())
    for (const PipelineChoice &pipeline : space.getPipelines(shape))
      for (const ZeroChoice &zero : space.getZeros(shape, pipeline)) {
        cost::ExecutedPlan plan = space.makePlan(shape);
        LayoutSpace::apply(plan, pipeline);
        LayoutSpace::apply(plan, zero);
        found.insert(
            llvm::formatv("{0}", llvm::json::Value(toJson(plan))).str());
        ++count;
      }
  EXPECT_EQ(int64_t(found.size()), count);
  EXPECT_EQ(space.numLayouts() - space.numInvalid(), count);
}

std::string errorOf(const char *name, const char *text) {
  PlanSpace space;
  return llvm::toString(space.constrain(name, text));
}

TEST(PlanSpace, errors) {
  EXPECT_EQ(errorOf("tp", "1,x"),
            "tp: expects an integer from 1 to 2147483647, a list of them or a "
            "range as 2..16 but got 'x'");
  EXPECT_EQ(errorOf("tp", ".."),
            "tp: expects an integer from 1 to 2147483647, a list of them or a "
            "range as 2..16 but got '..'");
  EXPECT_EQ(errorOf("pp", "8..4"),
            "pp: expects a range from its least to its largest value but got "
            "'8..4'");
  EXPECT_EQ(errorOf("zero", "2..4"),
            "zero: expects an integer from 0 to 3, a list of them or a range "
            "as 2..16 but got '2..4'");
  EXPECT_EQ(errorOf("sp", "maybe"),
            "sp: expects on, off or on,off but got 'maybe'");
  EXPECT_EQ(errorOf("precision", "bf16,fp9"),
            "precision: expects one of f32, bf16, f16, fp8, fp8-current, "
            "fp8-row, fp8-block, mxfp8, nvfp4 or a list but got 'fp9'");
  EXPECT_EQ(errorOf("seq", "1024..2048"),
            "seq: expects a value or a list but got '1024..2048'");
  EXPECT_EQ(errorOf("schedule", "mine.csv"),
            "schedule: expects names of schedules in a search but got "
            "'mine.csv'");
  EXPECT_EQ(errorOf("stage-layers", "2,2.5,1"), "");
  EXPECT_EQ(errorOf("stage-layers", "time,even"), "");
}

} // namespace
