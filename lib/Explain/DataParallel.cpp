//===- DataParallel.cpp - Explains dp and accumulation --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of a linear model on integers, as whole batches, shards and
// micro-batches. Steps and bytes are the planner's.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Cost/Estimates.h"
#include <array>

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;

namespace {
/// The gradient of the sum of squared errors of y = w x, over two; an entry for
/// each of three weights.
using Gradient = std::array<int64_t, 3>;
} // namespace

static Gradient operator+(const Gradient &a, const Gradient &b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

/// The gradient of examples `begin` to `end`: the sum of x (w x - y).
static Gradient gradientOf(int64_t begin, int64_t end) {
  constexpr Gradient weights{2, -1, 3};
  Gradient sum{};
  for (int64_t i = begin; i < end; ++i) {
    Gradient x{i % 5, i % 3 + 1, 4 - i % 7};
    int64_t error = -(i % 4);
    for (size_t k = 0; k < x.size(); ++k)
      error += weights[k] * x[k];
    for (size_t k = 0; k < x.size(); ++k)
      sum[k] += error * x[k];
  }
  return sum;
}

/// The first example of a shard, where the first shards have one more.
static int64_t beginOf(int64_t shard, int64_t shards, int64_t examples) {
  return shard * (examples / shards) + std::min(shard, examples % shards);
}

/// Gradients of shards of a batch, their sum, and the whole batch's. Fails if
/// the two differ.
static llvm::Expected<Table> shardTable(const char *name, int64_t shards,
                                        int64_t examples) {
  Table table({name,
               {"examples", "", 0},
               {"gradient 0", "", 0},
               {"gradient 1", "", 0},
               {"gradient 2", "", 0}});
  auto addRow = [&](std::string text, int64_t count, const Gradient &g) {
    table.addRow({std::move(text), count, g[0], g[1], g[2]});
  };
  Gradient sum{};
  for (int64_t i = 0; i < shards; ++i) {
    int64_t begin = beginOf(i, shards, examples);
    int64_t end = beginOf(i + 1, shards, examples);
    Gradient one = gradientOf(begin, end);
    addRow(std::to_string(i), end - begin, one);
    sum = sum + one;
  }
  Gradient whole = gradientOf(0, examples);
  addRow("sum of all", examples, sum);
  addRow("the whole batch", examples, whole);
  if (sum != whole)
    return llvm::createStringError(
        "gradients: expects those of shards to add up to the batch's");
  return table;
}

//===----------------------------------------------------------------------===//
// dp
//===----------------------------------------------------------------------===//

/// The effective batch by devices, micro-batch and number of micro-batches.
static Table batchTable(const ExplainSizes &sizes, int64_t ranks) {
  Table table({{"devices", "", 0},
               {"micro-batch", "", 0},
               {"micro-batches", "", 0},
               {"sequences of a step", "", 0},
               {"tokens of a step", "", 0}});
  for (int64_t devices : listDoubles(1, 1024, ranks))
    for (int64_t micro : listDoubles(1, 8, sizes.plan.microBatch))
      for (int64_t count : listDoubles(1, 8, sizes.microBatches.value_or(1))) {
        Plan plan = sizes.plan;
        plan.tp = plan.pp = 1;
        plan.dp = devices;
        plan.microBatch = micro;
        plan.microBatches = count;
        table.addRow(
            {devices, micro, count, plan.globalBatch(), plan.tokens()});
      }
  return table;
}

/// Steps with the all-reduce beside the backward and after it.
static llvm::Expected<Table> overlapTable(const ExplainSizes &sizes,
                                          int64_t ranks) {
  Table table({"gradients are reduced",
               {"forward and backward", "ms", 1},
               {"exposed", "ms", 1},
               {"sum", "ms", 1}});
  Planner planner(sizes);
  ExecutedPlan plan = planner.makePlan(ranks);
  for (bool overlaps : {true, false}) {
    plan.overlap = overlaps;
    auto report = planner.report(plan);
    if (!report)
      return report.takeError();
    double exposed = 0;
    for (const Cause &cause : report->causes)
      for (const LevelSpec &level : sizes.cluster.levels)
        if (cause.resource == level.name)
          exposed += cause.seconds;
    table.addRow({overlaps ? "beside the backward" : "after the backward",
                  (report->stepSeconds - exposed) * 1e3, exposed * 1e3,
                  report->stepSeconds * 1e3});
  }
  return table;
}

Section tessera::explain::explainDataParallel(const ExplainSizes &sizes) {
  constexpr int64_t kExamples = 10;
  int64_t ranks = sizes.ranks.value_or(64);
  auto shards = shardTable("device", 4, kExamples);
  if (!shards)
    return shards.takeError();
  Plan plan = sizes.plan;
  plan.tp = plan.pp = 1;
  plan.dp = ranks;
  plan.microBatches = sizes.microBatches.value_or(1);
  Explanation text("dp", formatv("{0} devices with the same parameters and "
                                 "different sequences: {1} sequences of a step",
                                 ranks, plan.globalBatch()));
  text.add({"uneven shards", "table",
            "Shards may differ in size: sums of gradients add up to the "
            "batch's",
            formatv("{0} examples of a linear model on integers over 4 "
                    "devices. A mean of means would be wrong here: devices "
                    "send sums, and the sum is divided once.",
                    kExamples),
            std::move(*shards)});
  text.add({"effective batch",
            "table",
            "A step has devices x micro-batch x micro-batches sequences",
            "",
            batchTable(sizes, ranks),
            {std::to_string(ranks), std::to_string(plan.microBatch),
             std::to_string(plan.microBatches)}});
  if (sizes.model.isWhole) {
    auto overlap = overlapTable(sizes, ranks);
    if (!overlap)
      return overlap.takeError();
    std::string heading = formatv(
        "Beside the backward, {0} ms of the all-reduce are exposed, after it "
        "{1} ms",
        overlap->getRows()[0][2].text, overlap->getRows()[1][2].text);
    text.add({"overlap", "stack", heading,
              formatv("The planner's step of {0} on {1} devices, ms.",
                      sizes.model.name, ranks),
              std::move(*overlap)});
  }
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// accumulation
//===----------------------------------------------------------------------===//

/// Messages and activations with and without accumulation, by micro-batches.
static Table messageTable(const ExplainSizes &sizes, int64_t ranks,
                          int64_t count) {
  Table table({{"micro-batches", "", 0},
               {"all-reduces, each time", "", 0},
               {"all-reduces, once", "", 0},
               {"GB sent, each time", "GB", 2},
               {"GB sent, once", "GB", 2},
               {"activations, GB", "GB kept", 2},
               {"activations of one batch, GB", "GB kept", 2}});
  double once = dataAxisBytes(sizes.model.parameters, 0, ranks);
  double activations =
      roughActivationBytes(sizes.model.layers, double(sizes.plan.microBatch),
                           double(sizes.plan.seq), sizes.model.hidden);
  for (int64_t k : listDoubles(1, 64, count))
    table.addRow({k, k, 1, double(k) * once / kGB, once / kGB,
                  activations / kGB, double(k) * activations / kGB});
  return table;
}

Section tessera::explain::explainAccumulation(const ExplainSizes &sizes) {
  int64_t count = sizes.microBatches.value_or(8);
  if (llvm::Error error =
          checkSize("accumulation", "--micro-batches", count, 64))
    return std::move(error);
  int64_t ranks = sizes.ranks.value_or(64);
  ChoiceTable shards({{"micro-batches", "", 0}});
  for (int64_t k : listDoubles(1, 64, count)) {
    auto gradients = shardTable("micro-batch", k, 2 * k + 3);
    if (!gradients)
      return gradients.takeError();
    shards.add({k}, *gradients);
  }
  ChoiceTable messages({{"devices", "", 0}});
  for (int64_t devices : listDoubles(1, 1024, ranks))
    messages.add({devices}, messageTable(sizes, devices, count));
  Explanation text(
      "accumulation",
      formatv("{0} micro-batches with one all-reduce send 1/{0} of the bytes "
              "of {0} all-reduces, with the same gradients",
              count));
  text.add({"the same gradients",
            "table",
            "Gradients of micro-batches add up to those of the whole batch",
            "A linear model on integers; the two last rows are equal.",
            std::move(shards).finish(),
            {std::to_string(count)}});
  text.add(
      {"messages",
       "table",
       "One all-reduce and the activations of one micro-batch, however many "
       "there are",
       "Bytes that a device sends in a step, and activations by the rule 12 L "
       "B S d, with accumulation and with the whole batch at once.",
       std::move(messages).finish(),
       {std::to_string(ranks)}});
  return std::move(text).finish();
}
