//===- Pipeline.cpp - Explains pipeline schedules -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All schedules of the planner, with passes that take one unit of time each:
// forward, gradient of the input, gradients of parameters.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Schedule/Generators.h"
#include "tessera/Schedule/Timing.h"

using namespace tessera;
using namespace tessera::explain;
using namespace tessera::schedule;
using llvm::formatv;

namespace {
/// A schedule that was simulated.
struct Simulated {
  std::string name;
  ScheduleTiming timing;
  /// Most micro-batches alive on a rank, and idle units of all ranks.
  double live = 0, idle = 0;
  Table actions;
};
} // namespace

/// Two chunks a rank where a schedule leaves their number open.
static constexpr int kChunks = 2;

/// Runs a schedule whose passes of a micro-batch on a p-th of the model take
/// `unit` each. The problem is one of makeProblem().
static Simulated simulateUnits(std::string name, ScheduleKind kind,
                               const ScheduleProblem &problem, double unit) {
  Simulated result;
  result.name = std::move(name);
  Schedule list = generate(kind, problem);
  PipelineTimes times =
      PipelineTimes::uniform(problem, {unit, unit, unit, /*overlapped=*/-1});
  CompiledSchedule compiled(problem, list);
  result.timing = compiled.simulate(times);
  for (double live : peakActivations(problem, list))
    result.live = std::max(result.live, live * unit);
  for (const RankTiming &rank : result.timing.ranks)
    result.idle += result.timing.makespan() - rank.busy;
  result.actions = showActions(list, compiled.simulateActions(times)).actions;
  return result;
}

/// Naive stages: the whole batch goes through one stage after the other.
static Simulated simulateNaive(int ranks, int microBatches) {
  auto problem = llvm::cantFail(makeProblem(ScheduleKind::GPipe, ranks, 1, 1));
  return simulateUnits("naive", ScheduleKind::GPipe, problem, microBatches);
}

/// All schedules that can run with these sizes; the others are added to `left`
/// with the reason.
static std::vector<Simulated> simulateAll(int ranks, int microBatches,
                                          std::vector<std::string> &left) {
  std::vector<Simulated> all{simulateNaive(ranks, microBatches)};
  for (ScheduleKind kind : allScheduleKinds()) {
    int chunks = kind == ScheduleKind::Interleaved ? kChunks : 1;
    auto problem = makeProblem(kind, ranks, chunks, microBatches);
    if (!problem) {
      left.push_back(stringify(kind).str() + ": " +
                     llvm::toString(problem.takeError()));
      continue;
    }
    all.push_back(simulateUnits(stringify(kind).str(), kind, *problem, 1));
  }
  return all;
}

static Table scheduleTable(const std::vector<Simulated> &all) {
  Table table({"schedule",
               {"bubble", "%", 1, " %"},
               {"makespan", "", 1},
               {"idle cells", "", 1},
               {"most live micro-batches", "", 1}});
  for (const Simulated &each : all)
    table.addRow({each.name, 100 * each.timing.bubbleRate(),
                  each.timing.makespan(), each.idle, each.live});
  return table;
}

/// The actions of all schedules, with the schedule as the first column.
static Table actionTable(const std::vector<Simulated> &all) {
  std::vector<Table::Column> columns{"schedule"};
  for (Table::Column column : all.front().actions.getColumns()) {
    if (!column.unit.empty())
      column = {column.name, "passes", 2};
    columns.push_back(std::move(column));
  }
  Table table(std::move(columns));
  for (const Simulated &each : all)
    for (const auto &row : each.actions.getRows()) {
      std::vector<Table::Cell> cells{each.name};
      for (size_t i = 0; i < row.size(); ++i)
        cells.push_back(i + 2 < row.size() ? row[i]
                                           : Table::Cell(*row[i].value));
      table.addRow(std::move(cells));
    }
  return table;
}

/// The bubble of each schedule that can run, by the number of micro-batches.
static Table bubbleTable(int ranks, int asked) {
  Table table({{"micro-batches", "", 0}, "schedule", {"bubble", "%", 1, " %"}});
  for (int64_t count : listDoubles(ranks, 8 * ranks, asked)) {
    std::vector<std::string> left;
    for (const Simulated &each : simulateAll(ranks, int(count), left))
      table.addRow({count, each.name, 100 * each.timing.bubbleRate()});
  }
  return table;
}

/// Both ways in which texts count the bubble of GPipe and 1F1B.
static Table formulaTable(int ranks, int asked) {
  Table table({{"micro-batches", "", 0},
               {"(p-1)/(m+p-1), of the step", "%", 1, " %"},
               {"(p-1)/m, of the work", "%", 1, " %"},
               {"simulated, of the step", "%", 1, " %"}});
  for (int64_t count : listDoubles(1, 64, asked)) {
    auto problem =
        llvm::cantFail(makeProblem(ScheduleKind::OneFOneB, ranks, 1, count));
    double bubble = simulateUnits("", ScheduleKind::OneFOneB, problem, 1)
                        .timing.bubbleRate();
    table.addRow({count, 100.0 * (ranks - 1) / double(count + ranks - 1),
                  100.0 * (ranks - 1) / double(count), 100 * bubble});
  }
  return table;
}

Section tessera::explain::explainPipeline(const ExplainSizes &sizes) {
  int64_t ranks = sizes.plan.pp, count = sizes.microBatches.value_or(8);
  if (llvm::Error error = checkSize("pipeline", "--pp", ranks, 16))
    return std::move(error);
  if (llvm::Error error = checkSize("pipeline", "--micro-batches", count, 64))
    return std::move(error);
  std::vector<std::string> left;
  auto all = simulateAll(int(ranks), int(count), left);
  auto find = [&](llvm::StringRef name) {
    return llvm::find_if(
        all, [&](const Simulated &each) { return each.name == name; });
  };
  auto shown = find("1f1b");
  Explanation text(
      "pipeline",
      formatv("{0} stages and {1} micro-batches: {2:f1} % of a step is bubble "
              "under 1f1b, {3:f1} % of one with naive stages",
              ranks, count, 100 * shown->timing.bubbleRate(),
              100 * all.front().timing.bubbleRate()));
  text.add({"schedules", "table",
            "Schedules trade the bubble against live micro-batches",
            "A forward, the gradient of its input and the gradients of its "
            "parameters take a pass each. Idle cells are passes in which a "
            "rank waits; live micro-batches count activations of a p-th of the "
            "model. interleaved has two chunks on a rank.",
            scheduleTable(all)});
  text.add({"pipeline",
            "pipeline",
            "The actions of each rank",
            "",
            actionTable(all),
            {"1f1b"},
            /*isLong=*/true});
  text.add({"bubble",
            "stack",
            "More micro-batches, less bubble",
            "Share of the step in which a rank waits, %.",
            bubbleTable(int(ranks), int(count)),
            {std::to_string(count)}});
  text.add({"two counts of a bubble", "table",
            "Texts count the bubble over the step or over the work",
            "For gpipe and 1f1b with p stages and m micro-batches.",
            formulaTable(int(ranks), int(count))});
  for (std::string &reason : left)
    text.say("Left out is " + std::move(reason));
  return std::move(text).finish();
}
