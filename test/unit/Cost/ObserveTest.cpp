//===- ObserveTest.cpp - Constants from runs of a model -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Observe.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace tessera;
using namespace tessera::cost;

namespace {

ClusterSpec cluster() {
  ClusterSpec spec;
  spec.name = "c";
  spec.device.memoryBytes.value = 80e9;
  for (const char *name : {"matmul_rate", "memory_rate", "host_launch_s"})
    spec.device.constants.push_back({name, {0.8, Provenance::Fitted, ""}});
  spec.levels.resize(1);
  spec.levels[0].latency.value = 1e-6;
  spec.levels[0].efficiency.value = 0.8;
  return spec;
}

/// Prices a step of dp compute and tp communication, in seconds at 0.8 of the
/// peaks.
llvm::Expected<ObservedPrice> price(const ClusterSpec &spec,
                                    const ExecutedPlan &plan) {
  double compute = 0.8 / spec.device.findConstant("matmul_rate")->value;
  double links = 0.8 / spec.levels[0].efficiency.value;
  return ObservedPrice{double(plan.dp) * compute + double(plan.tp) * links,
                       40e9};
}

Observation observation(int64_t dp, int64_t tp, double seconds) {
  Observation o;
  o.plan.dp = dp;
  o.plan.tp = tp;
  o.seconds = seconds;
  o.where = "runs.csv:2";
  return o;
}

double secondsOf(const ClusterSpec &spec, int64_t dp, int64_t tp) {
  return llvm::cantFail(price(spec, observation(dp, tp, 1).plan)).seconds;
}

TEST(Observe, one_run_moves_what_it_is_made_of) {
  // A run with only compute takes a tenth longer. Other runs then do as well,
  // and links do not change.
  ClusterSpec spec = cluster();
  auto fit = observe(spec, {observation(100, 1, 111)}, "m", price);
  ASSERT_TRUE(bool(fit)) << llvm::toString(fit.takeError());
  EXPECT_EQ(fit->numUsed, 1u);
  EXPECT_LT(fit->errorAfter, 0.01);
  EXPECT_NEAR(secondsOf(spec, 50, 1), 55.5, 0.5);
  EXPECT_NEAR(fit->posteriors[0].factor, 1.1, 0.01);
  EXPECT_NEAR(fit->posteriors[2].factor, 1, 0.01);
  // A constant that a run determines becomes more certain.
  EXPECT_LT(fit->posteriors[0].after, 0.3 * fit->posteriors[0].before);
  EXPECT_NEAR(fit->posteriors[3].after, fit->posteriors[3].before, 1e-6);
}

TEST(Observe, two_runs_tell_compute_from_links) {
  ClusterSpec spec = cluster();
  auto fit = observe(
      spec, {observation(100, 10, 120 + 10), observation(10, 100, 12 + 100)},
      "m", price);
  ASSERT_TRUE(bool(fit)) << llvm::toString(fit.takeError());
  EXPECT_NEAR(secondsOf(spec, 50, 50), 60 + 50, 2);
}

TEST(Observe, memory_moves_within_its_prior) {
  ClusterSpec spec = cluster();
  Observation o = observation(100, 1, 101);
  o.bytes = 44e9;
  auto fit = observe(spec, {o}, "m", price);
  ASSERT_TRUE(bool(fit)) << llvm::toString(fit.takeError());
  EXPECT_GT(fit->bytesFactor, 1.07);
  EXPECT_LT(fit->bytesFactor, 1.1);
}

TEST(Observe, a_contradiction_is_not_used) {
  ClusterSpec spec = cluster();
  auto fit = observe(spec, {observation(100, 1, 1000)}, "m", price);
  ASSERT_TRUE(bool(fit)) << llvm::toString(fit.takeError());
  EXPECT_EQ(fit->numUsed, 0u);
  ASSERT_EQ(fit->unused.size(), 1u);
  EXPECT_NE(fit->unused[0].find("more than a factor of three"),
            std::string::npos);
  EXPECT_EQ(secondsOf(spec, 100, 1), secondsOf(cluster(), 100, 1));
}

TEST(Observe, one_that_is_far_off_counts_little) {
  ClusterSpec spec = cluster();
  auto fit = observe(spec, {observation(100, 1, 202)}, "m", price);
  ASSERT_TRUE(bool(fit)) << llvm::toString(fit.takeError());
  EXPECT_EQ(fit->numUsed, 1u);
  ASSERT_EQ(fit->outliers.size(), 1u);
  EXPECT_NE(fit->outliers[0].find("runs.csv:2: 202.000 s where 11"),
            std::string::npos)
      << fit->outliers[0];
  EXPECT_LT(secondsOf(spec, 100, 1), 115);
  // One outlier among other runs changes little, but is reported.
  spec = cluster();
  fit = observe(spec,
                {observation(100, 1, 101), observation(200, 2, 202),
                 observation(100, 1, 202)},
                "m", price);
  ASSERT_TRUE(bool(fit)) << llvm::toString(fit.takeError());
  EXPECT_EQ(fit->outliers.size(), 1u);
  EXPECT_NEAR(secondsOf(spec, 100, 1), 101, 1);
  // Many slow runs are a property of the cluster.
  spec = cluster();
  fit = observe(spec, std::vector(12, observation(100, 1, 202)), "m", price);
  ASSERT_TRUE(bool(fit)) << llvm::toString(fit.takeError());
  EXPECT_EQ(fit->outliers.size(), 0u);
  EXPECT_NEAR(secondsOf(spec, 100, 1), 202, 10);
}

std::string errorOf(const Observation &o) {
  ClusterSpec spec = cluster();
  auto fit = observe(spec, {o}, "m", price);
  return fit ? "" : llvm::toString(fit.takeError());
}

TEST(Observe, other_models_and_clusters_are_refused) {
  Observation o = observation(1, 1, 2);
  o.model = "other";
  EXPECT_EQ(errorOf(o), "runs.csv:2: model: expects 'm' but got 'other'");
  o.model = "m";
  o.cluster = "d";
  EXPECT_EQ(errorOf(o), "runs.csv:2: cluster: expects 'c' but got 'd'");
  o.cluster = "c";
  o.bytes = 90e9;
  EXPECT_NE(errorOf(o).find("runs.csv:2: bytes: expects at most"),
            std::string::npos);
}

ExecutedPlan base() {
  ExecutedPlan plan;
  plan.seq = 2048;
  plan.dp = 8;
  plan.microBatches = 4;
  return plan;
}

TEST(Observations, reads_rows) {
  auto runs = parseObservations("layout,ms,bytes\n"
                                "\"dp=4,tp=2,global-batch=64\",1500,4e9\n"
                                "\"tp=4,micro-batch=2\",2500,5e9\n",
                                "r.csv", base());
  ASSERT_TRUE(bool(runs)) << llvm::toString(runs.takeError());
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].plan.dp, 4);
  EXPECT_EQ((*runs)[0].plan.microBatches, 16);
  EXPECT_EQ((*runs)[0].plan.seq, 2048);
  EXPECT_EQ((*runs)[0].seconds, 1.5);
  EXPECT_EQ((*runs)[1].plan.dp, 8);
  // The number of sequences per step comes from the plan.
  EXPECT_EQ((*runs)[1].plan.globalBatch(), 32);
  EXPECT_EQ((*runs)[1].bytes, 5e9);
  EXPECT_EQ((*runs)[1].where, "r.csv:3");
}

TEST(Observations, reads_objects_and_logs) {
  auto runs = parseObservations(
      R"([{"layout": {"tp": 2}, "seconds": 3, "model": "m"}])", "r.json",
      base());
  ASSERT_TRUE(bool(runs)) << llvm::toString(runs.takeError());
  EXPECT_EQ((*runs)[0].plan.tp, 2);
  EXPECT_EQ((*runs)[0].model, "m");
  auto log = parseObservations("{\"event\": \"step\", \"ms\": 900}\n"
                               "{\"event\": \"memory\", \"step\": 1}\n"
                               "{\"event\": \"step\", \"ms\": 110}\n"
                               "{\"event\": \"step\", \"ms\": 100}\n"
                               "{\"event\": \"step\", \"ms\": 120}\n",
                               "run.jsonl", base());
  ASSERT_TRUE(bool(log)) << llvm::toString(log.takeError());
  EXPECT_NEAR((*log)[0].seconds, 0.110, 1e-12);
  EXPECT_TRUE((*log)[0].plan == base());
}

std::string readError(const char *text) {
  auto runs = parseObservations(text, "r", base());
  return runs ? "" : llvm::toString(runs.takeError());
}

TEST(Observations, errors_name_line_and_column) {
  EXPECT_EQ(readError("layout,secs\n"),
            "r:1: column 2: expects a column of layout, seconds, ms, bytes, "
            "model, cluster but got 'secs'");
  EXPECT_EQ(readError("layout,bytes\n"),
            "r:1: expects columns layout and seconds or ms but got "
            "'layout,bytes'");
  EXPECT_EQ(readError("layout,seconds\ntp=2,\n"),
            "r:2: column 2: seconds: expects a number above 0 but got ''");
  EXPECT_EQ(readError("layout,seconds\ntp=2,1.5s\n"),
            "r:2: column 2: seconds: expects a number above 0 but got '1.5s'");
  EXPECT_EQ(readError("layout,seconds\n\"tp=2\",1,2\n"),
            "r:2: expects 2 cells but got 3");
  EXPECT_EQ(readError("layout,seconds\n\"tp=none\",1\n"),
            "r:2: column 1: tp: expects an integer from 1 to 2147483647 but "
            "got 'none'");
  EXPECT_EQ(readError("layout,seconds\n"), "r: expects runs but got none");
  EXPECT_EQ(readError("layout,seconds,seconds\ntp=2,1,2\n"),
            "r:1: column 3: expects each column once but got 'seconds' again");
  EXPECT_EQ(readError("layout,seconds,ms\ntp=2,1,1000\n"),
            "r:1: expects a column seconds or ms but got both");
  EXPECT_EQ(readError("layout,seconds\n\"tp=2,1\n"),
            "r:2: column 1: expects a closing quote");
  EXPECT_EQ(readError("[{\"seconds\": 1, \"model\": 5}]"),
            "r: run 1: model: expects a text but got 5");
  EXPECT_EQ(readError("[{\"seconds\": 1, \"hours\": 2}]"),
            "r: run 1: expects a known field but got 'hours'");
  EXPECT_EQ(readError("[{\"layout\": \"tp=2\"}]"),
            "r: run 1: seconds: expects a number above 0 but got nothing");
}

/// Changes, removes or repeats a few characters of a text.
std::string mutate(std::string text, std::mt19937 &random) {
  static const char letters[] = "\",\n=-+.e0195xz{}[]: ";
  for (unsigned i = 0, n = 1 + random() % 3; i < n && !text.empty(); ++i) {
    size_t at = random() % text.size();
    switch (random() % 3) {
    case 0:
      text[at] = letters[random() % (sizeof(letters) - 1)];
      break;
    case 1:
      text.erase(at, 1 + random() % 4);
      break;
    default:
      text.insert(at, text.substr(random() % text.size(), 6));
    }
  }
  return text;
}

TEST(Observations, damaged_texts_are_read_or_refused_in_one_line) {
  std::mt19937 random(7);
  const std::string texts[] = {
      "layout,ms,bytes\n\"dp=4,tp=2,global-batch=64\",1500,4e9\n"
      "\"tp=4,micro-batch=2\",2500,5e9\n",
      R"([{"layout": {"tp": 2}, "seconds": 3, "model": "m", "bytes": 1e9}])",
      "{\"event\": \"step\", \"ms\": 900}\n{\"event\": \"step\", \"ms\": 9}\n"};
  unsigned refused = 0;
  for (const std::string &text : texts)
    for (int i = 0; i < 2000; ++i) {
      std::string damaged = mutate(text, random);
      auto runs = parseObservations(damaged, "r", base());
      if (!runs) {
        std::string error = llvm::toString(runs.takeError());
        EXPECT_EQ(error.rfind("r:", 0), 0u) << damaged << "\n" << error;
        EXPECT_EQ(error.find('\n'), std::string::npos) << damaged;
        ++refused;
        continue;
      }
      EXPECT_FALSE(runs->empty()) << damaged;
      for (const Observation &run : *runs)
        EXPECT_TRUE(std::isfinite(run.seconds) && run.seconds > 0) << damaged;
    }
  // Some texts are refused, and some are not.
  EXPECT_GT(refused, 1000u);
  EXPECT_LT(refused, 5900u);
}

} // namespace
