//===- Calibrate.cpp - Calibrates constants from measurements -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes each constant until the median of predicted over measured is one,
// over the samples that depend on it most. Uses medians, since the first runs
// of a benchmark are often slow.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Calibrate.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cost/ComputeModel.h"
#include "tessera/Report/Table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

/// Above kLargeBytes, bandwidth determines a collective's time; below
/// kSmallBytes, latency does. A matmul of kLargeFlops fills a device; the
/// kernel floor determines the time of one of kSmallFlops.
static constexpr double kLargeBytes = 64e6, kSmallBytes = 32e3;
static constexpr double kLargeFlops = 1e11, kSmallFlops = 1e7;

double tessera::cost::median(std::vector<double> values) {
  llvm::sort(values);
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

/// A constant and the samples that determine it.
namespace {
struct Fit {
  std::string field;
  Quantity *quantity;
  double low, high;
  /// Returns predicted over measured seconds of each sample.
  std::function<std::vector<double>()> ratios;
  /// True if a larger constant makes things faster.
  bool isRate;
};
} // namespace

double tessera::cost::medianError(const std::vector<double> &ratios) {
  if (ratios.empty())
    return 0;
  std::vector<double> errors;
  for (double ratio : ratios)
    errors.push_back(std::abs(ratio - 1));
  return median(errors);
}

/// Bisects on a logarithmic scale: predictions are monotone in the constant.
static std::optional<Refinement> refine(const Fit &fit,
                                        const std::string &source) {
  std::vector<double> before = fit.ratios();
  if (before.empty())
    return std::nullopt;
  Refinement result{fit.field,     fit.quantity->value, 0,
                    before.size(), medianError(before), 0};
  double low = std::log(fit.low), high = std::log(fit.high);
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    fit.quantity->value = std::exp(middle);
    bool tooSlow = median(fit.ratios()) > 1;
    (tooSlow == fit.isRate ? low : high) = middle;
  }
  result.errorAfter = medianError(fit.ratios());
  // Keep the old value if the constant does not explain the error.
  if (result.errorAfter >= result.errorBefore) {
    fit.quantity->value = result.before;
    return std::nullopt;
  }
  result.after = fit.quantity->value;
  fit.quantity->provenance = Provenance::Measured;
  fit.quantity->source = source;
  return result;
}

static LinkSpans spansOfRanks(const ClusterSpec &cluster, int64_t ranks) {
  Mesh mesh;
  mesh.names = {"ranks"};
  mesh.sizes = {ranks};
  return makeMeshLinks(cluster, mesh).axes.front();
}

/// Returns the outermost level that consecutive ranks reach.
static unsigned levelOf(const ClusterSpec &cluster, int64_t ranks) {
  unsigned level = 0;
  for (const LinkSpan &span : spansOfRanks(cluster, ranks))
    level = std::max(level, span.level);
  return level;
}

static void addLinkFits(std::vector<Fit> &fits, ClusterSpec &cluster,
                        const Measurements &measurements) {
  for (unsigned level = 0; level < cluster.levels.size(); ++level) {
    auto ratios = [&cluster, &measurements, level](bool large) {
      std::vector<double> result;
      for (const CollectiveSample &sample : measurements.collectives) {
        bool chosen =
            large ? sample.bytes >= kLargeBytes : sample.bytes <= kSmallBytes;
        if (!chosen || levelOf(cluster, sample.ranks) != level)
          continue;
        double predicted = getTensorCollectiveTime(
            sample.kind, sample.bytes, spansOfRanks(cluster, sample.ranks));
        result.push_back(predicted / sample.seconds);
      }
      return result;
    };
    LevelSpec &spec = cluster.levels[level];
    std::string path = "levels[" + std::to_string(level) + "].";
    fits.push_back({path + "efficiency", &spec.efficiency, 0.01, 1,
                    [ratios] { return ratios(true); }, true});
    double inner = level ? cluster.levels[level - 1].latency.value : 1e-9;
    fits.push_back({path + "latency_s", &spec.latency, inner, 1e-3,
                    [ratios] { return ratios(false); }, false});
  }
}

/// Returns the device's constant with that name; adds it if the file lacks it.
static Quantity *findOrAddConstant(DeviceSpec &device, StringRef name) {
  for (auto &[known, quantity] : device.constants)
    if (known == name)
      return &quantity;
  DeviceModel defaults;
  for (const NamedConstant &constant : deviceConstants())
    if (name == constant.name)
      device.constants.push_back(
          {name.str(), {defaults.*constant.field, Provenance::Guess, ""}});
  return &device.constants.back().second;
}

static void addMatmulFits(std::vector<Fit> &fits, ClusterSpec &cluster,
                          const Measurements &measurements) {
  auto ratios = [&cluster, &measurements](auto choose) {
    DeviceModel device = makeDeviceModel(cluster.device);
    std::vector<double> result;
    for (const MatmulSample &sample : measurements.matmuls) {
      OpWork op = makeMatmulOp(sample.dims, sample.type);
      if (choose(sample.type, op.flops))
        result.push_back(kernelSeconds(device, op) / sample.seconds);
    }
    return result;
  };
  auto add = [&](const char *name, double low, double high, bool isRate,
                 auto choose) {
    if (ratios(choose).empty())
      return;
    findOrAddConstant(cluster.device, name);
    // Adding a constant may move the others: look it up at each use.
    fits.push_back({std::string("device.constants.") + name, nullptr, low, high,
                    [ratios, choose] { return ratios(choose); }, isRate});
  };
  add("matmul_rate", 0.05, 1, true, [](DType type, double flops) {
    return type != DType::FP8 && flops >= kLargeFlops;
  });
  add("matmul_rate_fp8", 0.05, 1, true, [](DType type, double flops) {
    return type == DType::FP8 && flops >= kLargeFlops;
  });
  add("kernel_floor_s", 1e-7, 1e-4, false,
      [](DType, double flops) { return flops <= kSmallFlops; });
  constexpr StringLiteral kPrefix = "device.constants.";
  for (Fit &fit : fits)
    if (!fit.quantity)
      fit.quantity = findOrAddConstant(
          cluster.device, StringRef(fit.field).drop_front(kPrefix.size()));
}

Expected<std::vector<Refinement>>
tessera::cost::calibrate(ClusterSpec &cluster, const Measurements &measurements,
                         const std::string &source) {
  for (const CollectiveSample &sample : measurements.collectives)
    if (Error error = cluster.checkSize(sample.ranks))
      return std::move(error);
  std::vector<Fit> fits;
  addLinkFits(fits, cluster, measurements);
  addMatmulFits(fits, cluster, measurements);
  // Efficiency and latency of a level influence each other slightly. A second
  // round makes them converge.
  std::vector<Refinement> refinements;
  for (int round = 0; round < 2; ++round)
    for (const Fit &fit : fits) {
      std::optional<Refinement> refinement = refine(fit, source);
      if (!refinement)
        continue;
      auto known = find_if(refinements, [&](const Refinement &r) {
        return r.field == refinement->field;
      });
      if (known == refinements.end()) {
        refinements.push_back(*refinement);
        continue;
      }
      known->after = refinement->after;
      known->errorAfter = refinement->errorAfter;
    }
  if (refinements.empty())
    return createStringError(
        "expects collectives of at least 64 MB or at most 32 kB, or matmuls "
        "of at least 1e11 or at most 1e7 FLOPs, that the cluster does not "
        "explain already, but got none");
  return refinements;
}

void tessera::cost::print(ArrayRef<Refinement> refinements, raw_ostream &os) {
  Table table;
  table.addRow({"constant", "before", "after", "samples", "median error before",
                "after"});
  for (const Refinement &r : refinements)
    table.addRow({r.field, formatv("{0:e3}", r.before),
                  formatv("{0:e3}", r.after), std::to_string(r.samples),
                  formatv("{0:f1} %", 100 * r.errorBefore),
                  formatv("{0:f1} %", 100 * r.errorAfter)});
  table.print(os);
}
