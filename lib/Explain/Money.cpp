//===- Money.cpp - Explains the cost of a run -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Cost/MinimumMemory.h"

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;

/// Seconds in a day and in an hour.
static constexpr double kDay = 86400, kHour = 3600;

namespace {
/// A run as its report describes it.
struct ReportedRun {
  const char *name;
  /// Parameters that a token uses, and tokens.
  double parameters, tokens;
  /// Hours of devices, all together, and the dense 16-bit peak of one.
  double deviceHours, peak;
  const char *source;
};
} // namespace

/// H100 and H800 have the same units.
static constexpr ReportedRun kRuns[] = {
    {"Llama 3.1 405B", 405e9, 15.6e12, 30.84e6, 989e12,
     "model card and report of Llama 3 (2024): 30.84M H100 hours"},
    {"DeepSeek-V3, pre-training", 37e9, 14.8e12, 2.664e6, 989e12,
     "report of DeepSeek-V3 (2024), table 1: 2.664M H800 hours; 37e9 of 671e9 "
     "parameters are active"},
};

/// "40.0 %".
static std::string shareText(double share) {
  return fixedText(100 * share, 1) + " %";
}

/// Shares of the peak that a page offers, the asked one among them.
static std::vector<double> listShares(double asked) {
  std::vector<double> shares{asked};
  for (double share : {0.1, 0.2, 0.3, 0.4, 0.5})
    if (shareText(share) != shareText(asked))
      shares.push_back(share);
  llvm::sort(shares);
  return shares;
}

static Table utilizationTable(const ExplainSizes &sizes, double flops,
                              int64_t ranks) {
  Table table({{"devices", "", 0},
               "MFU",
               {"days", "days", 1},
               {"dollars", "$", 0},
               {"dollars lost below 50 %", "$", 0}});
  for (int64_t count : listDoubles(1, 16384, ranks))
    for (double mfu : listShares(sizes.mfu)) {
      double seconds =
          trainingSeconds(flops, double(count), peakOf(sizes), mfu);
      double dollars = seconds / kHour * double(count) * sizes.price;
      table.addRow({count,
                    {shareText(mfu), 100 * mfu},
                    seconds / kDay,
                    dollars,
                    dollars * std::max(0.0, wastedShare(mfu, 0.5))});
    }
  return table;
}

static Table runTable(double price) {
  Table table({"run",
               {"tokens, 1e12", "1e12", 1},
               {"FLOPs, 1e24", "1e24", 2},
               {"device hours, 1e6", "1e6", 2},
               {"share of the peak", "%", 1, " %"},
               {"dollars, 1e6", "1e6 $", 2},
               "source"});
  table.alignLeft(6);
  for (const ReportedRun &run : kRuns) {
    double flops = trainingFlops(run.parameters, run.tokens);
    table.addRow({run.name, run.tokens / 1e12, flops / 1e24,
                  run.deviceHours / 1e6,
                  100 * trainingSeconds(flops, 1, run.peak, 1) /
                      (run.deviceHours * kHour),
                  run.deviceHours * price / 1e6, run.source});
  }
  return table;
}

Section tessera::explain::explainCost(const ExplainSizes &sizes) {
  int64_t ranks = sizes.ranks.value_or(64);
  double flops = trainingFlops(sizes.model.active, sizes.tokens);
  double seconds =
      trainingSeconds(flops, double(ranks), peakOf(sizes), sizes.mfu);
  Explanation text(
      "cost",
      formatv("{0} active parameters and {1} tokens: {2} days on {3} devices "
              "at {4:f1} "
              "% of {5:f0} TFLOP/s, ${6}",
              countText(sizes.model.active), countText(sizes.tokens),
              groupedText(seconds / kDay), groupedText(double(ranks)),
              100 * sizes.mfu, peakOf(sizes) / 1e12,
              groupedText(seconds / kHour * double(ranks) * sizes.price)));
  text.add({"by utilization",
            "table",
            formatv("At 20 % instead of 50 % of the peak, {0:f0} % of the "
                    "money is lost",
                    100 * wastedShare(0.2, 0.5)),
            "6 N D FLOPs (Kaplan et al. 2020), the price by device and hour.",
            utilizationTable(sizes, flops, ranks),
            {std::to_string(ranks)}});
  text.add({"reported runs", "table", "Reported runs, by the same formula",
            "Shares of the peak by 6 N D and reported hours; models with "
            "experts count active parameters. Attention is left out, so MFU "
            "as the reports count it is higher.",
            runTable(sizes.price)});
  return std::move(text).finish();
}

/// All sizes of a run on so many devices that reach a share of their peak.
static Table sizeTable(const ExplainSizes &sizes, const MinimumMemory &minimum,
                       int64_t ranks, double mfu) {
  double parameters = sizes.model.parameters;
  double flops = trainingFlops(sizes.model.active, sizes.tokens);
  double seconds = trainingSeconds(flops, double(ranks), peakOf(sizes), mfu);
  Table table({"size", {"value", "", 2}, "unit", "from"});
  auto addRow = [&](const std::string &name, double value, const char *unit,
                    const char *from) {
    table.addRow({name, value, unit, from});
  };
  addRow("parameters", parameters / 1e9, "1e9", "");
  addRow("active parameters", sizes.model.active / 1e9, "1e9", "cost");
  addRow("bytes of a parameter", stateOf(sizes).sum(), "bytes", "memory");
  addRow("state", minimum.state.sum() / kGB, "GB", "memory");
  addRow("activations", minimum.activations / kGB, "GB", "memory");
  addRow("memory in total", minimum.total() / kGB, "GB", "memory");
  addRow("devices of the cluster", double(minimum.devices), "devices",
         "memory");
  addRow("devices filled to 75 %", double(minimum.devicesAtThreeQuarters),
         "devices", "memory");
  for (double size : {80e9, 80 * kGiB})
    addRow(size == 80e9 ? "devices of 80 GB" : "devices of 80 GiB",
           double(minimumDevices(minimum.total(), size)), "devices", "memory");
  for (int zero = 0; zero < 4; ++zero)
    addRow(formatv("state on one of {0} under ZeRO-{1}", ranks, zero),
           shardedState(parameters, stateOf(sizes), zero, double(ranks)).sum() /
               kGB,
           "GB", "zero");
  addRow("sent by a device in a step, plain dp",
         dataAxisBytes(parameters, 0, ranks) / kGB, "GB", "ring");
  addRow("sent by a device in a step, ZeRO-3",
         dataAxisBytes(parameters, 3, ranks) / kGB, "GB", "fsdp");
  addRow("FLOPs of the run", flops / 1e21, "1e21", "cost");
  addRow(formatv("days on {0} devices", ranks), seconds / kDay, "days", "cost");
  addRow("price", seconds / kHour * double(ranks) * sizes.price, "dollars",
         "cost");
  addRow("layers between kept inputs",
         double(leastMemoryCheckpoint(sizes.model.layers)), "layers",
         "checkpointing");
  return table;
}

Section tessera::explain::explainCalculator(const ExplainSizes &sizes) {
  int64_t ranks = sizes.ranks.value_or(64);
  MinimumMemory minimum = makeMinimumMemory(
      sizes.model.name, sizes.model.parameters, sizes.model.layers,
      sizes.model.hidden, sizes.plan, capacityOf(sizes));
  double seconds =
      trainingSeconds(trainingFlops(sizes.model.active, sizes.tokens),
                      double(ranks), peakOf(sizes), sizes.mfu);
  ChoiceTable table({{"devices", "", 0}, "MFU"});
  for (int64_t count : listDoubles(1, 16384, ranks))
    for (double mfu : listShares(sizes.mfu))
      table.add({count, shareText(mfu)}, sizeTable(sizes, minimum, count, mfu));
  Explanation text("calculator",
                   formatv("{0}: {1}; {2} days on {3}", sizes.model.name,
                           minimumText(minimum), groupedText(seconds / kDay),
                           groupedText(double(ranks))));
  text.add({"sizes",
            "table",
            "All sizes of a run",
            "The last column names the topic that explains a size.",
            std::move(table).finish(),
            {std::to_string(ranks), shareText(sizes.mfu)}});
  text.addTable("device", makeDeviceTable(capacityOf(sizes)));
  text.add({"state", "state", "State on a device by the number of devices", "",
            stateTable(sizes, ranks)});
  return std::move(text).finish();
}
