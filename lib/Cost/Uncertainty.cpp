//===- Uncertainty.cpp - Uncertainty of a prediction ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Widths come from left-out rows; independent causes add in squares.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Uncertainty.h"
#include "tessera/Cost/DeviceModel.h"
#include "tessera/Cost/MatmulFormat.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

/// 80 % of a Laplace distribution of scale 1 are within ln 5.
static const double kUnitWidth = std::log(5.0);

Doubt::Doubt(double width) : width(width) {}

double Doubt::halfWidth(double share) const {
  return -std::log(1 - share) / kUnitWidth * width;
}

double Doubt::below(double x) const {
  if (width == 0)
    return x >= 0;
  double tail = 0.5 * std::exp(-std::fabs(x) * kUnitWidth / width);
  return x < 0 ? tail : 1 - tail;
}

Doubt Doubt::plus(const Doubt &other) const {
  return Doubt(std::hypot(width, other.width));
}

namespace {

/// Widths in logarithms: of observed and of known plans, and of each new
/// property.
struct Widths {
  double observed, known, device, framework, precision, sequence, size, experts,
      feature;

  double of(const Novelty &novelty) const {
    if (novelty.isObserved)
      return observed;
    double sum = known * known;
    auto add = [&](bool isNew, double width) {
      sum += isNew ? width * width : 0;
    };
    add(novelty.device, device);
    add(novelty.framework, framework);
    add(novelty.precision, precision);
    add(novelty.sequence, sequence);
    add(novelty.size, size);
    add(novelty.experts, experts);
    sum += double(novelty.features) * feature * feature;
    return std::sqrt(sum);
  }
};

} // namespace

// Output of bench/validate_cost --leave-one-out for left-out rows.
static constexpr Widths kTime = {
    0.08, kKnownTimeWidth, 0.12, 0.10, 0.15, 0.10, 0.05, 0.17, 0.08};
static constexpr Widths kMemory = {0.06, 0.09, 0.03, 0.12, 0.05,
                                   0.03, 0,    0.05, 0.05};

Doubt tessera::cost::timeDoubt(const Novelty &novelty, double known) {
  Widths widths = kTime;
  widths.known = known;
  return Doubt(widths.of(novelty));
}

Doubt tessera::cost::memoryDoubt(const Novelty &novelty) {
  return Doubt(kMemory.of(novelty));
}

// Output of bench/validate_cost --pairs for pairs in sweeps.
static constexpr double kOtherBatch = 0.05, kOtherAxes = 0.06,
                        kOtherStages = 0.06, kOtherMemory = 0.04;

PlanDifference tessera::cost::differenceOf(const Plan &a, const Plan &b) {
  PlanDifference difference;
  difference.axes = a.tp != b.tp || a.cp != b.cp || a.ep != b.ep ||
                    a.etp != b.etp || a.sp != b.sp;
  difference.stages =
      a.pp != b.pp || a.vpp != b.vpp || a.schedule != b.schedule;
  difference.memory = a.zero != b.zero || a.recompute != b.recompute;
  return difference;
}

Doubt tessera::cost::ratioDoubt(const ExecutedPlan &a, const ExecutedPlan &b) {
  if (a == b)
    return Doubt(0);
  PlanDifference difference = differenceOf(a, b);
  double sum = kOtherBatch * kOtherBatch;
  if (difference.axes)
    sum += kOtherAxes * kOtherAxes;
  if (difference.stages)
    sum += kOtherStages * kOtherStages;
  if (difference.memory)
    sum += kOtherMemory * kOtherMemory;
  return Doubt(std::sqrt(sum));
}

Interval tessera::cost::intervalOf(double predicted, const Doubt &doubt,
                                   double share) {
  double factor = std::exp(doubt.halfWidth(share));
  return {predicted / factor, predicted * factor};
}

double tessera::cost::probabilityBelow(double predicted, double limit,
                                       const Doubt &doubt) {
  return doubt.below(std::log(limit / predicted));
}

double tessera::cost::probabilityFaster(const ExecutedPlan &a, double secondsA,
                                        const ExecutedPlan &b,
                                        double secondsB) {
  return probabilityBelow(secondsA, secondsB, ratioDoubt(a, b));
}

/// True if the price of a plan depends on a constant.
static bool isUsed(StringRef constant, const Numerics &numerics,
                   const Execution &execution) {
  if (constant == "matmul_rate_fp8" || constant == "matmul_rate_fp4") {
    bool isFour = unitsOf(numerics.precision) == DType::FP4;
    return hasNarrowMatmuls(numerics.precision) &&
           isFour == constant.ends_with("4");
  }
  if (constant == "host_call_s")
    return execution.expertsApart;
  if (constant == "attention_fill")
    return execution.attention != AttentionKind::Naive;
  if (constant.contains("attention"))
    return execution.attention != AttentionKind::Naive &&
           constant.starts_with("portable") !=
               (execution.attention == AttentionKind::Flash);
  return true;
}

/// Returns the guessed numbers that a plan's price depends on.
static std::vector<std::string> listGuesses(const Plan &plan,
                                            const Execution &execution,
                                            const ClusterSpec &cluster) {
  std::vector<std::string> guesses;
  auto add = [&](const Twine &name, const Quantity &quantity) {
    if (quantity.provenance == Provenance::Guess)
      guesses.push_back((name + " is a guess").str());
  };
  for (const NamedConstant &constant : deviceConstants()) {
    if (!isUsed(constant.name, plan, execution))
      continue;
    if (const Quantity *quantity = cluster.device.findConstant(constant.name))
      add("device constant " + Twine(constant.name), *quantity);
    else
      guesses.push_back("device constant " + std::string(constant.name) +
                        " is not stated: a default is used");
  }
  int64_t inside = 1;
  for (const LevelSpec &level : cluster.levels) {
    if (inside < plan.gpus()) {
      add("latency of level " + level.name, level.latency);
      add("bandwidth of level " + level.name, level.bandwidth);
      add("efficiency of level " + level.name, level.efficiency);
    }
    inside = level.devices;
  }
  return guesses;
}

/// Returns the plan's properties that none of the published runs have from
/// which the constants are fitted.
static std::vector<std::string> listUncovered(const Plan &plan,
                                              const ClusterSpec &cluster) {
  std::vector<std::string> uncovered;
  auto add = [&](bool condition, const char *what) {
    if (condition)
      uncovered.push_back(std::string(what) +
                          ": no measured run to compare with");
  };
  static constexpr ScheduleKind kUnmeasured[] = {ScheduleKind::ZeroBubbleV,
                                                 ScheduleKind::DualPipe,
                                                 ScheduleKind::DualPipeV};
  add(plan.pp > 1 && is_contained(kUnmeasured, plan.schedule),
      stringify(plan.schedule).data());
  add(plan.pp > 1 && !plan.scheduleFile.empty(), "a schedule of a file");
  add(plan.offload != Offload::None, "offload of optimizer state");
  add(plan.optimizer == OptimizerKind::AdamW8Bit, "8-bit moments");
  add(plan.precision == Precision::F32, "f32, whose peak is that of TF32");
  add(plan.precision == Precision::FP8 && !cluster.device.findPeak("fp8"),
      "fp8 on a device without units for it, at the peak of bf16");
  add(plan.seq > 262144, "sequences of more than 262144 tokens");
  add(plan.gpus() > 2240, "more than 2240 devices");
  add(plan.cp > 2, "a context axis of more than 2");
  return uncovered;
}

Novelty tessera::cost::noveltyOf(const Plan &plan, const Execution &execution,
                                 const ClusterSpec &cluster,
                                 StringRef framework, bool isFitted,
                                 std::vector<std::string> *reasons) {
  std::vector<std::string> guesses = listGuesses(plan, execution, cluster),
                           uncovered = listUncovered(plan, cluster);
  Novelty novelty;
  // A few guesses count as that many unseen features; with more of them, the
  // device counts as unseen.
  novelty.device = guesses.size() > 3;
  novelty.features = uncovered.size() + (novelty.device ? 0 : guesses.size());
  novelty.framework = !isFitted;
  novelty.precision = plan.precision == Precision::FP8Row ||
                      plan.precision == Precision::FP8Block ||
                      plan.precision == Precision::NVFP4;
  novelty.sequence = plan.seq > kLongSequence;
  novelty.size = plan.gpus() > kManyDevices;
  novelty.experts = plan.ep > 1;
  if (!reasons)
    return novelty;
  append_range(*reasons, guesses);
  append_range(*reasons, uncovered);
  if (novelty.experts)
    reasons->push_back("an expert axis: of its measured runs, which are of one "
                       "model and framework, one constant is fitted");
  if (novelty.framework)
    reasons->push_back(
        framework.empty() ? "it is not said which framework runs it"
                          : ("no run of " + framework + " was measured").str());
  return novelty;
}
