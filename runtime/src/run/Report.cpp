//===- Report.cpp - The report of a run -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Report.h.
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "support/Json.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

/// The traffic of all ranks by kind and axes. Ranks of one group receive the
/// same; the largest number is the busiest rank's.
static std::vector<Traffic> gatherTraffic(tessera_rt_context *ctx) {
  std::vector<Traffic> all;
  for (int rank = 0; rank < ctx->ranks; ++rank) {
    const RankNumbers &block = ctx->memory.blocks[rank].numbers;
    for (int32_t i = 0; i < block.numTraffic; ++i) {
      const Traffic &traffic = block.traffic[i];
      auto same = std::find_if(all.begin(), all.end(), [&](const Traffic &t) {
        return t.op == traffic.op && strcmp(t.axes, traffic.axes) == 0;
      });
      if (same == all.end()) {
        all.push_back(traffic);
        continue;
      }
      same->bytes = std::max(same->bytes, traffic.bytes);
      same->calls = std::max(same->calls, traffic.calls);
    }
  }
  return all;
}

static double sum(const std::vector<double> &values) {
  double total = 0;
  for (double value : values)
    total += value;
  return total;
}

MemoryReport tessera::rt::reportMemory(tessera_rt_context *ctx,
                                       const Manifest &manifest) {
  MemoryReport report{manifest.arenaBytes, {}};
  for (int rank = 0; rank < ctx->ranks; ++rank) {
    const MemoryUse &use = ctx->memory.blocks[rank].numbers.memory;
    if (rank == 0 || use.total() > report.measured.total())
      report.measured = use;
  }
  return report;
}

std::vector<SlowRank>
tessera::rt::findSlowRanks(const std::vector<double> &busy,
                           const StridedAxis &stageAxis) {
  std::vector<std::vector<double>> stages(size_t(stageAxis.size));
  auto stageOf = [&](size_t rank) {
    return size_t(getBlockIndex(&stageAxis, 1, int64_t(rank)));
  };
  for (size_t rank = 0; rank < busy.size(); ++rank)
    stages[stageOf(rank)].push_back(busy[rank]);
  for (std::vector<double> &stage : stages)
    std::sort(stage.begin(), stage.end());
  std::vector<SlowRank> slow;
  for (size_t rank = 0; rank < busy.size(); ++rank) {
    const std::vector<double> &stage = stages[stageOf(rank)];
    double median = stage[(stage.size() - 1) / 2];
    if (median >= 0.1 && busy[rank] >= 1.2 * median)
      slow.push_back({int(rank), busy[rank] / median});
  }
  return slow;
}

/// The slow ranks of a run on several nodes. Ranks of one machine share it, so
/// their times say little about it.
static std::vector<SlowRank> gatherSlowRanks(tessera_rt_context *ctx,
                                             const Manifest &manifest) {
  if (!ctx->memory.place.isAcrossNodes())
    return {};
  std::vector<double> busy;
  for (int rank = 0; rank < ctx->ranks; ++rank)
    busy.push_back(ctx->memory.blocks[rank].numbers.allBusySeconds);
  return findSlowRanks(busy, manifest.stageAxis);
}

/// Formats a list such as [0.5, 0.25].
static std::string secondsJson(const std::vector<double> &values) {
  std::string list;
  for (double value : values)
    list += format("%s%.6f", list.empty() ? "" : ", ", value);
  return "[" + list + "]";
}

static std::string memoryJson(const MemoryReport &memory) {
  return format("{\"planned_bytes\": %lld, \"measured_bytes\": %lld, "
                "\"arena_bytes\": %lld, \"private_bytes\": %lld, "
                "\"private_bytes_at_start\": %lld, \"scratch_bytes\": %lld}",
                (long long)memory.planned, (long long)memory.ofTheStep(),
                (long long)memory.measured.arenaBytes,
                (long long)memory.measured.privateBytes,
                (long long)memory.measured.privateAtStart,
                (long long)memory.measured.scratchBytes);
}

/// What checkpoints took: rank 0's, with the wait of the rank that waited most.
static CheckpointUse reportCheckpoints(tessera_rt_context *ctx) {
  CheckpointUse use = ctx->memory.blocks[0].numbers.checkpoints;
  for (int rank = 0; rank < ctx->ranks; ++rank)
    use.waitSeconds =
        std::max(use.waitSeconds,
                 ctx->memory.blocks[rank].numbers.checkpoints.waitSeconds);
  return use;
}

/// Formats what the time of a run's attempts went to, with a comma after it.
static std::string runTimesJson(const RunTimes &times) {
  return format("\"run\": {\"goodput\": %.6f, \"seconds\": %.6f, "
                "\"steps_kept\": %lld, \"steps_repeated\": %lld, "
                "\"kept\": %.6f, \"repeated\": %.6f, \"start\": %.6f, "
                "\"load\": %.6f, \"checkpoint\": %.6f, \"data\": %.6f, "
                "\"evaluation\": %.6f, \"down\": %.6f}, ",
                times.goodput(), times.total(), (long long)times.stepsKept,
                (long long)times.stepsRepeated, times.kept, times.repeated,
                times.others.start, times.others.load, times.others.checkpoint,
                times.others.data, times.others.evaluation, times.down);
}

static void printJson(tessera_rt_context *ctx, const Manifest &manifest,
                      const StepTimes &times, const RunTimes *runTimes,
                      const std::vector<Comparison> &comparisons) {
  std::vector<double> cpuSeconds;
  double init = 0, initCpu = 0;
  for (int rank = 0; rank < ctx->ranks; ++rank) {
    const RankNumbers &block = ctx->memory.blocks[rank].numbers;
    cpuSeconds.push_back(block.cpuSeconds);
    init = std::max(init, block.initSeconds);
    initCpu += block.initCpuSeconds;
  }
  std::string line = format(
      "{\"program\": %s, \"hash\": %s, \"ranks\": %d, \"threads\": %d, %s, "
      "\"steps\": %zu",
      quoteJson(manifest.program).c_str(), quoteJson(manifest.hash).c_str(),
      ctx->ranks, ctx->pool->size(), ctx->target->describeJson().c_str(),
      times.seconds.size());
  // The lists may be long, so they come last.
  line += ", \"step_seconds\": " + secondsJson(times.seconds);
  line += ", \"step_cpu_seconds\": " + secondsJson(times.cpuSeconds);
  line += ", \"cpu_seconds\": " + secondsJson(cpuSeconds);
  line += format(", \"init_seconds\": %.6f, \"init_cpu_seconds\": %.6f, "
                 "\"arena_bytes\": %lld, "
                 "\"memory\": %s, \"collectives\": [",
                 init, initCpu, (long long)manifest.arenaBytes,
                 memoryJson(reportMemory(ctx, manifest)).c_str());
  const char *comma = "";
  for (const Traffic &traffic : gatherTraffic(ctx)) {
    line += format("%s{\"op\": \"%s\", \"axes\": %s, \"calls\": %lld, "
                   "\"bytes_received_per_rank\": %lld}",
                   comma, opName(OpKind(traffic.op)),
                   quoteJson(traffic.axes).c_str(), (long long)traffic.calls,
                   (long long)traffic.bytes);
    comma = ", ";
  }
  line += "], ";
  if (CheckpointUse use = reportCheckpoints(ctx); use.count > 0)
    line += format("\"checkpoints\": {\"count\": %lld, \"bytes\": %lld, "
                   "\"wait_seconds\": %.6f, \"commit_seconds\": %.6f}, ",
                   (long long)use.count, (long long)use.bytes, use.waitSeconds,
                   use.commitSeconds);
  if (ctx->memory.place.isAcrossNodes()) {
    line += "\"slow_ranks\": [";
    comma = "";
    for (const SlowRank &slow : gatherSlowRanks(ctx, manifest)) {
      line +=
          format("%s{\"rank\": %d, \"node\": %d, \"ratio\": %.3f}", comma,
                 slow.rank, ctx->memory.place.nodeOf(slow.rank), slow.ratio);
      comma = ", ";
    }
    line += "], ";
  }
  if (runTimes)
    line += runTimesJson(*runTimes);
  line += "\"compared\": [";
  comma = "";
  for (const Comparison &c : comparisons) {
    line += format("%s{\"name\": %s, \"max_difference\": %s, "
                   "\"max_magnitude\": %s}",
                   comma, quoteJson(c.name).c_str(),
                   numberJson(c.difference).c_str(),
                   numberJson(c.magnitude).c_str());
    comma = ", ";
  }
  printf("%s]}\n", line.c_str());
}

static void printText(tessera_rt_context *ctx, const Manifest &manifest,
                      std::vector<double> stepSeconds, const RunTimes *runTimes,
                      const std::vector<Comparison> &comparisons) {
  double total = sum(stepSeconds), cpu = 0;
  for (int rank = 0; rank < ctx->ranks; ++rank)
    cpu += ctx->memory.blocks[rank].numbers.cpuSeconds;
  std::sort(stepSeconds.begin(), stepSeconds.end());
  double median = stepSeconds.empty() ? 0 : stepSeconds[stepSeconds.size() / 2];
  printf("%s: %d rank%s x %d thread%s, %zu step%s in %.3f s (median %.2f ms), "
         "%.3f s CPU, arena %.1f MB per rank\n",
         manifest.program.c_str(), ctx->ranks, ctx->ranks == 1 ? "" : "s",
         ctx->pool->size(), ctx->pool->size() == 1 ? "" : "s",
         stepSeconds.size(), stepSeconds.size() == 1 ? "" : "s", total,
         median * 1e3, cpu, double(manifest.arenaBytes) / 1e6);
  for (const Traffic &traffic : gatherTraffic(ctx))
    printf("  %-14s over %-12s %8lld calls %12.3f MB received per rank\n",
           opName(OpKind(traffic.op)), traffic.axes, (long long)traffic.calls,
           double(traffic.bytes) / 1e6);
  if (CheckpointUse use = reportCheckpoints(ctx); use.count > 0)
    printf("  %lld checkpoint%s of %s: steps waited %.3f s, the last took "
           "%.3f s\n",
           (long long)use.count, use.count == 1 ? "" : "s",
           readableBytes(use.bytes).c_str(), use.waitSeconds,
           use.commitSeconds);
  for (const SlowRank &slow : gatherSlowRanks(ctx, manifest))
    printf("  %s was busy %.2f times as long as the median rank%s\n",
           nameRank(ctx->memory, slow.rank).c_str(), slow.ratio,
           manifest.stageAxis.size > 1 ? " of its stage" : "");
  if (runTimes)
    printf("  goodput %.1f %% of %.1f s: steps %.1f s, repeated %.1f s, start "
           "%.1f s, load %.1f s, checkpoints %.1f s, data %.1f s, evaluation "
           "%.1f s, down %.1f s\n",
           100 * runTimes->goodput(), runTimes->total(), runTimes->kept,
           runTimes->repeated, runTimes->others.start, runTimes->others.load,
           runTimes->others.checkpoint, runTimes->others.data,
           runTimes->others.evaluation, runTimes->down);
  for (const Comparison &c : comparisons)
    printf("  %s: largest difference %.3g, largest magnitude %.3g\n",
           c.name.c_str(), c.difference, c.magnitude);
}

void tessera::rt::printReport(tessera_rt_context *ctx, const Manifest &manifest,
                              const Options &options, const StepTimes &times,
                              const RunTimes *runTimes,
                              const std::vector<Comparison> &comparisons) {
  if (options.report == Options::JsonLine)
    printJson(ctx, manifest, times, runTimes, comparisons);
  else if (!options.quiet)
    printText(ctx, manifest, times.seconds, runTimes, comparisons);
  fflush(stdout);
}
