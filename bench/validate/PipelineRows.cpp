//===- PipelineRows.cpp - Bubbles of profiled pipelines ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineRows.h"
#include "tessera/Schedule/Generators.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::schedule;
using namespace tessera::validate;

namespace {

/// Seconds of the passes of a stage.
struct Profile {
  std::optional<double> forward, inputGrad, weightGrad, link;
};

} // namespace

/// The key of a run, which all its rows share.
static std::string keyOf(const Table &table, size_t row) {
  return formatv("{0} {1} {2} {3} {4}", table.get(row, "model"),
                 table.get(row, "n_gpus"), table.get(row, "pp"),
                 table.get(row, "micro_batch"), table.get(row, "global_batch"));
}

static std::map<std::string, Profile>
readProfiles(const Table &table, std::map<size_t, Sample> &samples) {
  std::map<std::string, Profile> profiles;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    StringRef metric = table.get(row, "metric_name");
    std::optional<double> value = number(table.get(row, "metric_value"));
    if (!metric.consume_front("profiled_") || !value)
      continue;
    Profile &profile = profiles[keyOf(table, row)];
    std::optional<double> *field = nullptr;
    if (metric.starts_with("TF"))
      field = &profile.forward;
    else if (metric.starts_with("TB"))
      field = &profile.inputGrad;
    else if (metric.starts_with("TW"))
      field = &profile.weightGrad;
    else if (metric.starts_with("Tcomm"))
      field = &profile.link;
    if (!field)
      continue;
    *field = *value * 1e-3;
    samples[row].measured = samples[row].predicted = *value * 1e-3;
  }
  return profiles;
}

/// The share of a micro-batch's activations that the weight gradient needs: 32
/// sbh of sbh (34 + 5 a s / h) bytes (Qi et al. 2024, section 2.2).
static double keptForWeightGrad(const Table &table, size_t row) {
  auto heads = number(table.get(row, "heads"));
  auto seq = number(table.get(row, "seq"));
  auto hidden = number(table.get(row, "hidden"));
  if (!heads || !seq || !hidden)
    return 1;
  return 32 / (34 + 5 * *heads * *seq / *hidden);
}

/// The idle share of a step: (span - m (F + B + W)) / span.
static std::optional<double> simulate(const Table &table, size_t row,
                                      const Profile &profile) {
  if (!profile.forward || !profile.inputGrad || !profile.weightGrad)
    return std::nullopt;
  std::optional<ScheduleKind> kind =
      parseName<ScheduleKind>(table.get(row, "schedule"));
  auto count = [&](StringRef column) {
    return static_cast<int>(number(table.get(row, column)).value_or(1));
  };
  if (!kind)
    return std::nullopt;
  int micro = count("global_batch") / (count("micro_batch") * count("dp"));
  Expected<ScheduleProblem> problem =
      makeProblem(*kind, count("pp"), std::max(1, count("vpp")), micro);
  if (!problem) {
    consumeError(problem.takeError());
    return std::nullopt;
  }
  ChunkTimes stage{*profile.forward, *profile.inputGrad, *profile.weightGrad};
  double link = profile.link.value_or(0);
  AutoOptions options;
  options.stages = {stage};
  options.link = link;
  options.keptForWeightGrad = keptForWeightGrad(table, row);
  CompiledSchedule schedule(*problem, generate(*kind, *problem, options));
  return schedule.simulate(PipelineTimes::uniform(*problem, stage, link))
      .bubbleRate();
}

std::map<size_t, Sample> tessera::validate::scoreBubbles(const Table &table) {
  std::map<size_t, Sample> samples;
  std::map<std::string, Profile> profiles = readProfiles(table, samples);
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (table.get(row, "metric_name") != "bubble_rate_computed_from_profile")
      continue;
    auto found = profiles.find(keyOf(table, row));
    std::optional<double> measured = number(table.get(row, "metric_value"));
    if (found == profiles.end() || !measured)
      continue;
    if (std::optional<double> rate = simulate(table, row, found->second)) {
      samples[row].measured = *measured;
      samples[row].predicted = *rate;
    }
  }
  return samples;
}
