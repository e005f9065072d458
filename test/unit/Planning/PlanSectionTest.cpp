//===- PlanSectionTest.cpp - A plan's report as tables of a document ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanSection.h"
#include "TestModels.h"
#include "tessera/Planning/PlanPricer.h"
#include "tessera/Schedule/Timing.h"
#include "gtest/gtest.h"
#include <map>

using namespace tessera;
using namespace tessera::cost;

namespace {

/// A plan, its report and its section.
struct Made {
  PlanReport report;
  DocumentSection section;
  std::optional<schedule::ScheduleTiming> timing;
  schedule::ScheduleProblem problem;
};

Made make(const ExecutedPlan &plan, const ClusterSpec &cluster) {
  Made made;
  Subject subject{llama(), {}, {}};
  WorkReader reader;
  auto work = subject.read(reader, plan);
  EXPECT_TRUE(bool(work)) << llvm::toString(work.takeError());
  if (!work)
    return made;
  schedule::PipelinePricer pricer;
  auto report = makePlanReport(*work, plan, plan.execution(), cluster,
                               PlanQuestion(), pricer);
  EXPECT_TRUE(bool(report)) << llvm::toString(report.takeError());
  if (!report)
    return made;
  made.report = *report;
  auto section = makePlanSection(
      *report, makeMinimumMemory(subject, report->plan, report->capacity),
      *work, cluster, pricer);
  EXPECT_TRUE(bool(section)) << llvm::toString(section.takeError());
  if (!section || plan.pp == 1)
    return made;
  made.section = *section;
  Machine machine(cluster, report->plan, report->plan.execution());
  PricedModel priced = priceModel(*work, machine);
  auto staged =
      llvm::cantFail(StagedModel::make(priced, report->plan, machine, pricer));
  schedule::Schedule list =
      pricer.getSchedule(staged.getPipeline(), staged.getTimes());
  made.problem = staged.getPipeline().problem;
  made.timing = schedule::CompiledSchedule(made.problem, list)
                    .simulate(staged.getTimes());
  return made;
}

ExecutedPlan makePlan(ScheduleKind kind) {
  ExecutedPlan plan;
  plan.precision = Precision::BF16;
  plan.pp = 4;
  plan.dp = 2;
  plan.seq = 512;
  plan.schedule = kind;
  plan.vpp = kind == ScheduleKind::Interleaved ? 2 : 1;
  llvm::cantFail(plan.setGlobalBatch(32));
  return plan;
}

/// The times of an action, by stage of its path and micro-batch.
using Times = std::map<std::pair<int, int>, std::pair<double, double>>;

/// In the figure of each schedule no rank does two things at once, and nothing
/// begins before what it needs; its end and its busy time equal the
/// simulation's.
TEST(PlanSection, pipelines) {
  for (ScheduleKind kind : schedule::allScheduleKinds()) {
    Made made = make(makePlan(kind), cluster());
    SCOPED_TRACE(int(kind));
    const Table *table = made.section.find("pipeline");
    ASSERT_TRUE(table);
    double unit = table->getColumns()[6].unit == "s"    ? 1
                  : table->getColumns()[6].unit == "ms" ? 1e3
                                                        : 1e6;
    Times forwards, backwards;
    std::map<int, double> free, busy;
    double last = 0;
    for (const auto &row : table->getRows()) {
      int rank = int(*row[0].value), chunk = int(*row[2].value),
          micro = int(*row[3].value);
      double begin = *row[6].value / unit, end = *row[7].value / unit;
      EXPECT_GE(begin, free[rank] - 1e-12);
      EXPECT_GT(end, begin);
      free[rank] = end;
      busy[rank] += end - begin;
      last = std::max(last, end);
      auto key = [&](int ofChunk, int ofMicro) {
        EXPECT_TRUE(made.problem.passes({rank, ofChunk}, ofMicro));
        return std::pair(made.problem.stageOf({rank, ofChunk}), ofMicro);
      };
      const std::string &action = row[1].text;
      if (action == "F" || action == "F+BW")
        forwards[key(chunk, micro)] = {begin, end};
      if (action == "B" || action == "BW")
        backwards[key(chunk, micro)] = {begin, end};
      if (action == "F+BW")
        backwards[key(int(*row[4].value), int(*row[5].value))] = {begin, end};
    }
    int stages = made.problem.stages();
    EXPECT_EQ(forwards.size(), size_t(stages) * made.problem.microBatches);
    EXPECT_EQ(backwards.size(), forwards.size());
    for (const auto &[key, time] : forwards) {
      auto [stage, micro] = key;
      if (stage > 0)
        EXPECT_GE(time.first,
                  forwards.at(std::pair(stage - 1, micro)).second - 1e-12);
      EXPECT_GE(backwards[key].first, time.second - 1e-12);
      if (stage + 1 < stages)
        EXPECT_GE(backwards[key].first,
                  backwards.at(std::pair(stage + 1, micro)).second - 1e-12);
    }
    ASSERT_TRUE(made.timing);
    EXPECT_NEAR(last, made.timing->makespan(), 1e-9 * last);
    for (auto [rank, timing] : llvm::enumerate(made.timing->ranks))
      EXPECT_NEAR(busy[int(rank)], timing.busy, 1e-9 * last);
  }
}

/// The parts of the waterfall end where the step ends.
TEST(PlanSection, parts_sum_to_the_step) {
  Made made = make(makePlan(ScheduleKind::OneFOneB), cluster());
  const Table *table = made.section.find("waterfall");
  ASSERT_TRUE(table);
  double sum = 0;
  for (const auto &row : table->getRows()) {
    EXPECT_NEAR(*row[1].value, sum, 1e-12);
    sum += *row[2].value;
  }
  EXPECT_NEAR(sum, made.report.stepSeconds, 1e-9 * sum);
  EXPECT_NEAR(*table->getRows()[0][2].value, made.report.mfu * sum, 1e-9);
}

/// Links carry the bytes of the report; axes number all devices.
TEST(PlanSection, devices_and_links) {
  ExecutedPlan plan = makePlan(ScheduleKind::OneFOneB);
  plan.dp = 8;
  plan.tp = 2;
  llvm::cantFail(plan.setGlobalBatch(64));
  Made made = make(plan, cluster());
  const Table *axes = made.section.find("axes"),
              *links = made.section.find("links");
  ASSERT_TRUE(axes && links);
  double devices = 1;
  for (const auto &row : llvm::reverse(axes->getRows())) {
    EXPECT_EQ(*row[2].value, devices);
    devices *= *row[1].value;
  }
  EXPECT_EQ(devices, 64);
  EXPECT_EQ(axes->getRows()[0][4].text, "ib");
  EXPECT_EQ(axes->getRows()[3][4].text, "nvlink");
  double received = 0, all = 0;
  for (const auto &row : links->getRows())
    received += *row[3].value;
  for (const Traffic &traffic : made.report.traffic)
    all += traffic.bytes / 1e9;
  EXPECT_NEAR(received, all, 1e-9 * all);
}

/// A page has the first and the last actions of a large pipeline and says so,
/// and one replica of more than 4,096 devices.
TEST(PlanSection, large_plans) {
  ExecutedPlan plan = makePlan(ScheduleKind::OneFOneB);
  llvm::cantFail(plan.setGlobalBatch(2 * 8000));
  Made made = make(plan, cluster());
  EXPECT_EQ(made.section.find("pipeline")->getRows().size(), 40000u);
  auto note = llvm::find_if(made.section.findings, [](const auto &finding) {
    return finding.first == "pipeline note";
  });
  ASSERT_NE(note, made.section.findings.end());
  EXPECT_EQ(note->second, "Shown are the first and the last 5,000 of 16,000 "
                          "actions of each rank.");
  plan.dp = 2048;
  llvm::cantFail(plan.setGlobalBatch(2048 * 8));
  ClusterSpec large = cluster();
  large.levels.back().devices = 8192;
  made = make(plan, large);
  EXPECT_EQ(*made.section.find("axes")->getRows()[1][1].value, 2048);
  EXPECT_EQ(*made.section.find("axes")->getRows()[1][3].value, 1);
}

} // namespace
