//===- PlanReportTest.cpp - Requirements, time and price of a plan --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/PlanReport.h"
#include "tessera/Cost/MinimumMemory.h"
#include "tessera/Cost/TrainingWork.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace tessera;
using namespace tessera::cost;

namespace {

Quantity measured(double value) { return {value, Provenance::Measured, "run"}; }

/// Nodes of 8 devices, with all numbers measured.
ClusterSpec cluster() {
  ClusterSpec spec;
  spec.name = "test";
  spec.device.name = "device";
  spec.device.peakFlops = {{"bf16", measured(1000e12)}};
  spec.device.memoryBytes = measured(80e9);
  spec.device.memoryBandwidth = measured(3e12);
  spec.device.multiprocessors = measured(128);
  for (const NamedConstant &constant : deviceConstants())
    spec.device.constants.push_back(
        {constant.name, measured(DeviceModel().*constant.field)});
  spec.levels = {
      {"nvlink", 8, measured(1e-6), measured(450e9), measured(0.8), {"ring"}},
      {"ib", 16384, measured(5e-6), measured(50e9), measured(0.9), {"ring"}}};
  spec.host = {measured(100e9), measured(50e9), measured(1e12), measured(5e9)};
  return spec;
}

/// 16 blocks of one matmul, with a collective over tp.
ModelWork model(const ExecutedPlan &plan) {
  ModelWork work;
  work.kinds.resize(3);
  work.kinds[0].name = "embedding";
  LayerWork &block = work.kinds[1];
  block.name = "block";
  OpWork matmul;
  matmul.kind = OpClass::Matmul;
  matmul.weight = true;
  matmul.matmul = {1, 4096, 4096, 4096};
  matmul.flops = 2.0 * 4096 * 4096 * 4096;
  matmul.bytesRead = matmul.bytesWritten = 2.0 * 4096 * 4096;
  block.add(matmul);
  CommWork comm;
  comm.bytes = 2.0 * 4096 * 4096;
  comm.axes = {PlanAxis::TP};
  comm.ranks = plan.tp;
  block.add(comm);
  block.saved = {{"input", 2.0 * 4096 * 4096, false}};
  block.parameters.push_back({"w", 4096.0 * 4096});
  work.kinds[2].name = "head";
  for (LayerWork &kind : work.kinds)
    kind.outputBytes = 2.0 * 4096 * 4096;
  work.layers = {{0, 1}, {1, 16}, {2, 1}};
  work.modelParameters = 16 * 4096.0 * 4096 * plan.tp;
  work.modelFlopsPerToken = 6 * work.modelParameters;
  buildTrainingWork(work, plan, plan);
  return work;
}

ExecutedPlan plan() {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.tp = 2;
  l.dp = 4;
  l.pp = 4;
  l.zero = 1;
  l.seq = 4096;
  llvm::cantFail(l.setGlobalBatch(64));
  return l;
}

PlanReport report(const ExecutedPlan &l, const ClusterSpec &c = cluster(),
                  PlanQuestion question = {}) {
  schedule::PipelinePricer pricer;
  auto result = makePlanReport(model(l), l, l, c, question, pricer);
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
  return result ? *result : PlanReport();
}

std::string errorOf(const ExecutedPlan &l, const ClusterSpec &c = cluster()) {
  schedule::PipelinePricer pricer;
  auto result = makePlanReport(model(l), l, l, c, {}, pricer);
  return result ? "" : llvm::toString(result.takeError());
}

const Cause *find(const PlanReport &r, llvm::StringRef name) {
  for (const Cause &cause : r.causes)
    if (cause.name == name)
      return &cause;
  return nullptr;
}

/// Collectives that overlap with matmuls still count for the tp axis.
TEST(PlanReport, hidden_collectives_keep_their_name) {
  ExecutedPlan l = plan();
  l.overlapTp = true;
  schedule::PipelinePricer pricer;
  ModelWork work = model(l);
  for (CommWork &comm : work.kinds[1].comms)
    comm.overlappable = true;
  auto r = makePlanReport(work, l, l, cluster(), {}, pricer);
  ASSERT_TRUE(bool(r)) << llvm::toString(r.takeError());
  ASSERT_NE(find(*r, "collectives of tp"), nullptr);
  EXPECT_EQ(find(*r, "gathers of parameters"), nullptr);
  EXPECT_LT(find(*r, "collectives of tp")->seconds,
            find(report(plan()), "collectives of tp")->seconds);
}

TEST(PlanReport, causes_sum_to_the_step) {
  PlanReport r = report(plan());
  double sum = 0;
  for (const Cause &cause : r.causes)
    sum += cause.seconds;
  EXPECT_NEAR(sum, r.stepSeconds, 1e-9 * r.stepSeconds);
  EXPECT_NEAR(r.tokensPerSecond, 64 * 4096 / r.stepSeconds, 1e-6);
  EXPECT_EQ(r.bottleneck, "compute");
}

TEST(PlanReport, collectives_name_their_links) {
  PlanReport r = report(plan());
  ASSERT_TRUE(find(r, "collectives of tp"));
  EXPECT_EQ(find(r, "collectives of tp")->resource, "nvlink");
  EXPECT_EQ(find(r, "gradients over dp")->resource, "nvlink");
  ExecutedPlan wide = plan();
  wide.tp = 16;
  r = report(wide);
  EXPECT_EQ(find(r, "collectives of tp")->resource, "ib");
  EXPECT_EQ(find(r, "gradients over dp")->resource, "ib");
}

/// Nothing is recomputed, so both utilizations count the same matmuls. The
/// parameters determine the model's FLOPs.
TEST(PlanReport, utilization) {
  ExecutedPlan l = plan();
  PlanReport r = report(l);
  double flops = 6 * 16 * 4096.0 * 4096 * 2 * 64 * 4096 / 32;
  EXPECT_NEAR(r.mfu, flops / r.stepSeconds / 1000e12, 1e-9);
  EXPECT_NEAR(r.hfu, r.mfu, 1e-9);
  l.recompute = Recompute::Full;
  r = report(l);
  EXPECT_NEAR(r.hfu / r.mfu, 4.0 / 3, 1e-9);
}

TEST(PlanReport, a_budget) {
  PlanQuestion question;
  question.tokens = 1e12;
  question.price = 2;
  PlanReport r = report(plan(), cluster(), question);
  double seconds = 1e12 / r.tokensPerSecond;
  EXPECT_NEAR(r.days, seconds / 86400, 1e-9 * seconds);
  EXPECT_NEAR(r.dollars, 2 * 32 * seconds / 3600, 1e-6 * r.dollars);
}

TEST(PlanReport, memory_binds_where_a_plan_does_not_fit) {
  ClusterSpec small = cluster();
  small.device.memoryBytes.value = 3.5e9;
  PlanReport r = report(plan(), small);
  EXPECT_FALSE(r.fits());
  EXPECT_LT(r.headroom(), 0);
  EXPECT_EQ(r.bottleneck, "memory");
  EXPECT_GT(r.bottleneckShare, 1);
  EXPECT_TRUE(report(plan()).fits());
}

/// Host memory is limited too.
TEST(PlanReport, offloaded_state_must_fit_as_well) {
  ExecutedPlan l = plan();
  l.offload = Offload::Host;
  EXPECT_TRUE(report(l).fits());
  EXPECT_EQ(report(l).peakMemory().optimizer, 0);
  ClusterSpec small = cluster();
  small.host.memoryBytes.value = 1e6;
  EXPECT_FALSE(report(l, small).fits());
}

TEST(PlanReport, errors) {
  ClusterSpec small = cluster();
  small.levels.pop_back();
  EXPECT_EQ(errorOf(plan(), small),
            "levels: expects a level of at least 32 devices but the outermost, "
            "'nvlink', has 8");
}

/// Half the 80 % interval of a plan for a framework with published runs.
double doubtOf(const ExecutedPlan &l, const ClusterSpec &c = cluster(),
               std::vector<std::string> *caveats = nullptr) {
  PlanQuestion question;
  question.framework = "nemo";
  question.isFrameworkFitted = true;
  PlanReport r = report(l, c, question);
  EXPECT_LT(r.stepInterval.low, r.stepSeconds);
  if (caveats)
    *caveats = r.caveats;
  return std::log(r.stepInterval.high / r.stepSeconds);
}

TEST(PlanReport, says_how_sure_it_is) {
  std::vector<std::string> caveats;
  double known = doubtOf(plan(), cluster(), &caveats);
  EXPECT_TRUE(caveats.empty());
  ClusterSpec guessed = cluster();
  guessed.levels[1].efficiency.provenance = Provenance::Guess;
  double less = doubtOf(plan(), guessed, &caveats);
  EXPECT_GT(less, known);
  EXPECT_EQ(caveats,
            (std::vector<std::string>{"efficiency of level ib is a guess"}));
  // A level that the plan does not use gives no caveat.
  ExecutedPlan inside = plan();
  inside.pp = 1;
  EXPECT_EQ(doubtOf(inside, guessed), known);
  guessed.device.constants.clear();
  EXPECT_GT(doubtOf(plan(), guessed), less);
  ExecutedPlan beyond = plan();
  beyond.schedule = ScheduleKind::ZeroBubbleV;
  EXPECT_GT(doubtOf(beyond), known);
  // The plan's precision and length occur in no published run.
  ExecutedPlan wide = plan();
  wide.precision = Precision::F32;
  EXPECT_GT(doubtOf(wide), known);
  ExecutedPlan narrow = plan();
  narrow.precision = Precision::FP8;
  EXPECT_GT(doubtOf(narrow), known);
  EXPECT_EQ(report(narrow).peakType, "bf16");
  ClusterSpec withUnits = cluster();
  withUnits.device.peakFlops.push_back({"fp8", measured(2000e12)});
  EXPECT_EQ(doubtOf(narrow, withUnits), known);
  EXPECT_EQ(report(narrow, withUnits).peakType, "fp8");
  ExecutedPlan far = plan();
  far.seq = 100000000;
  EXPECT_GT(doubtOf(far), known);
  // A plan without a framework, or with one that has no published run.
  PlanReport unsaid = report(plan());
  EXPECT_GT(unsaid.stepInterval.high, unsaid.stepSeconds * std::exp(known));
  EXPECT_EQ(unsaid.caveats, (std::vector<std::string>{
                                "it is not said which framework runs it"}));
}

TEST(PlanReport, probability_of_fitting) {
  EXPECT_GT(report(plan()).fitProbability, 0.99);
  ClusterSpec small = cluster();
  small.device.memoryBytes.value = 3.5e9;
  EXPECT_LT(report(plan(), small).fitProbability, 0.5);
}

TEST(PlanReport, intervals_have_the_unit_of_the_prediction) {
  EXPECT_EQ(intervalText(7.97, {7.6, 8.9}), "7.97 s (80 %: 7.60 to 8.90)");
  EXPECT_EQ(intervalText(0.95, {0.9, 1.1}),
            "950.0 ms (80 %: 900.00 to 1100.00)");
}

std::string comparison(const ExecutedPlan &a, const ExecutedPlan &b) {
  auto section =
      compare(toJson(report(a)), toJson(report(b)), "a.json", "b.json");
  if (!section)
    return llvm::toString(section.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  printComparison(*section, os);
  return text;
}

TEST(PlanReport, compares_two) {
  ExecutedPlan b = plan();
  b.recompute = Recompute::Full;
  std::string text = comparison(b, plan());
  EXPECT_NE(text.find("  recompute    full    none\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("b.json gives"), std::string::npos) << text;
  EXPECT_NE(text.find("above all by less of 'matmuls and attention'"),
            std::string::npos)
      << text;
  EXPECT_NE(comparison(b, b).find("both give as many tokens per second"),
            std::string::npos);
}

TEST(PlanReport, compares_reports_only) {
  auto section = compare(toJson(report(plan())), {}, "a", "b");
  EXPECT_EQ(llvm::toString(section.takeError()),
            "b: expects a report of tessera plan --json but got no 'layout'");
}

TEST(MinimumMemory, whole_model_and_zero) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.gradDType = GradDType::BF16;
  l.seq = 4096;
  MinimumMemory minimum = makeMinimumMemory("m", 7e9, 32, 4096, l, 80e9);
  EXPECT_NEAR(minimum.total(), 124.9e9, 0.02e9);
  EXPECT_EQ(minimum.devices, 2);
  EXPECT_EQ(minimum.devicesAtThreeQuarters, 3);
  for (const MinimumMemory::Row &row : minimum.rows)
    if (row.ranks == 64) {
      EXPECT_NEAR(row.zero[1], 29.3e9, 0.05e9);
      EXPECT_NEAR(row.zero[3], 1.75e9, 0.005e9);
    }
}

} // namespace
