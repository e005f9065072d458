//===- Uncertainty.cpp - How far a prediction may be off ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Widths are those of left-out rows; independent causes add in squares.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Uncertainty.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

/// Of a Laplace distribution of scale 1, four of five are within ln 5.
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

/// Widths by what is new, in logarithms: of what is not, and of each cause.
struct Widths {
  double known, device, framework, precision, sequence, size;

  double of(const Novelty &novelty) const {
    double sum = known * known;
    auto add = [&](bool isNew, double width) {
      sum += isNew ? width * width : 0;
    };
    add(novelty.device, device);
    add(novelty.framework, framework);
    add(novelty.precision, precision);
    add(novelty.sequence, sequence);
    add(novelty.size, size);
    return std::sqrt(sum);
  }
};

} // namespace

// What bench/validate_cost --leave-one-out prints of left-out rows.
static constexpr Widths kTime = {0.10, 0.20, 0.18, 0.12, 0.15, 0.06};
static constexpr Widths kMemory = {0.09, 0.03, 0.12, 0.05, 0.03, 0};

Doubt tessera::cost::timeDoubt(const Novelty &novelty) {
  return Doubt(kTime.of(novelty));
}

Doubt tessera::cost::memoryDoubt(const Novelty &novelty) {
  return Doubt(kMemory.of(novelty));
}

// What bench/validate_cost --pairs prints of pairs in sweeps.
static constexpr double kSamePipeline = 0.05, kOtherAxes = 0.06,
                        kOtherStages = 0.06, kOtherMemory = 0.04;

Doubt tessera::cost::ratioDoubt(const Plan &a, const Plan &b) {
  if (a == b)
    return Doubt(0);
  double sum = kSamePipeline * kSamePipeline;
  if (a.tp != b.tp || a.cp != b.cp || a.ep != b.ep || a.sp != b.sp)
    sum += kOtherAxes * kOtherAxes;
  if (a.pp != b.pp || a.vpp != b.vpp || a.schedule != b.schedule)
    sum += kOtherStages * kOtherStages;
  if (a.zero != b.zero || a.recompute != b.recompute)
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

double tessera::cost::probabilityFaster(const Plan &a, double secondsA,
                                        const Plan &b, double secondsB) {
  return probabilityBelow(secondsA, secondsB, ratioDoubt(a, b));
}

Novelty tessera::cost::noveltyOf(const Plan &plan, const ClusterSpec &cluster,
                                 StringRef framework) {
  // Presets with runs among those that the constants are fitted on.
  static constexpr StringRef fitted[] = {"megatron-2021", "nemo", "torchtitan",
                                         "fsdp", "deepspeed"};
  Novelty novelty;
  size_t guesses = count_if(cluster.device.constants, [](const auto &entry) {
    return entry.second.provenance == Provenance::Guess;
  });
  novelty.device = guesses > 3;
  novelty.framework = !is_contained(fitted, framework);
  novelty.precision = plan.precision == Precision::F32 ||
                      plan.precision == Precision::FP8Row ||
                      plan.precision == Precision::FP8Block ||
                      plan.precision == Precision::NVFP4;
  novelty.sequence = plan.seq > 16384;
  novelty.size = plan.gpus() > 1024;
  return novelty;
}
