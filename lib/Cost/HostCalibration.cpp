//===- HostCalibration.cpp - Constants of this machine's ranks ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/HostCalibration.h"
#include "tessera/Cost/DeviceModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

/// Other work on a machine only slows a program down, so a term is the lower
/// quartile of the rounds. Calibration fails if the distance to the median, as
/// a share of the term, is more than kMostSpread.
static constexpr double kBelieved = 0.25, kMostSpread = 0.2;
static constexpr unsigned kSweeps = 100;
/// Minimum latency of a link or a library in a cluster file.
static constexpr double kLeastLatency = 1e-9;

/// Constants of a processor, which the model of a GPU does not have.
static constexpr StringLiteral kMatmulBytes = "matmul_bytes";
static constexpr StringLiteral kFunctionSeconds = "function_s";
static constexpr StringLiteral kTransferShare = "transfer_share";

llvm::ArrayRef<StringLiteral> tessera::cost::processorConstants() {
  static constexpr StringLiteral names[] = {kMatmulBytes, kFunctionSeconds,
                                            kTransferShare};
  return names;
}

StringRef tessera::cost::getHostField(HostTerm term) {
  constexpr StringLiteral kFields[kNumHostTerms] = {
      "device.constants.kernel_floor_s",
      "device.memory_bytes_per_s",
      "device.constants.function_s",
      "device.constants.matmul_bytes",
      "device.peak_flops.f32",
      "collectives.base_low_s",
      "levels[0].latency_s",
      "levels[0].bytes_per_s"};
  return kFields[static_cast<size_t>(term)];
}

/// Returns the quantile of sorted numbers, with linear interpolation.
static double quantile(ArrayRef<double> sorted, double share) {
  double at = share * double(sorted.size() - 1);
  auto low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - double(low)) * (sorted[high] - sorted[low]);
}

/// True if a term may be zero: a step between neighbours, if groups of two and
/// of all ranks take equally long; and the base of a collective, if its steps
/// take all of the time.
static bool mayBeNone(HostTerm term) {
  return term == HostTerm::Step || term == HostTerm::Collective;
}

Expected<HostSeconds> tessera::cost::fitHost(ArrayRef<HostProbe> probes) {
  std::vector<std::vector<double>> sorted;
  for (const HostProbe &probe : probes) {
    sorted.push_back(probe.seconds);
    llvm::sort(sorted.back());
  }
  HostSeconds seconds{};
  for (unsigned sweep = 0; sweep < kSweeps; ++sweep)
    for (auto [probe, times] : llvm::zip_equal(probes, sorted)) {
      auto own = static_cast<size_t>(probe.term);
      double left = quantile(times, kBelieved);
      for (size_t term = 0; term < kNumHostTerms; ++term)
        if (term != own)
          left -= probe.work[term] * seconds[term];
      seconds[own] = std::max(0.0, left / probe.work[own]);
    }
  for (auto [probe, times] : llvm::zip_equal(probes, sorted)) {
    auto own = static_cast<size_t>(probe.term);
    double mine = probe.work[own] * seconds[own];
    if (mine <= 0 && !mayBeNone(probe.term))
      return createStringError(formatv(
          "{0}: expects a program that takes longer by it but got {1:f1} us, "
          "no more than its other work; is the machine busy?",
          getHostField(probe.term), quantile(times, kBelieved) * 1e6));
    double spread = quantile(times, 0.5) - quantile(times, kBelieved);
    double of = mayBeNone(probe.term) ? quantile(times, kBelieved) : mine;
    if (spread > kMostSpread * of)
      return createStringError(formatv(
          "{0}: expects rounds that differ by at most {1:P0} but got {2:P0}; "
          "is the machine busy?",
          getHostField(probe.term), kMostSpread, spread / of));
  }
  return seconds;
}

/// An all-reduce over all n ranks takes base + 2 (n - 1) steps. It is no slower
/// than one over pairs and one over the halves that they join, which take two
/// bases and n steps together. A measurement that contradicts this was
/// disturbed by other work. Then shrinks the step and raises the base, with the
/// same total.
static void keepWhole(double &base, double &step, int64_t ranks) {
  // The factor makes one all-reduce strictly faster than two.
  constexpr double kFaster = 0.9;
  double most = ranks > 2 ? kFaster / double(ranks - 2) : 0;
  if (ranks <= 2 || step <= most * base)
    return;
  double turn = 2 * double(ranks - 1);
  base = (base + turn * step) / (1 + turn * most);
  step = most * base;
}

ClusterSpec tessera::cost::makeHostCluster(const HostSeconds &seconds,
                                           const HostMachine &machine) {
  std::string source =
      formatv("tessera doctor --calibrate, {0} ranks on {1} processors",
              machine.ranks, machine.processors);
  auto measured = [&](double value) {
    return Quantity{value, Provenance::Measured, source};
  };
  auto known = [](double value, const char *why) {
    return Quantity{value, Provenance::Guess, why};
  };
  // Each rank has a share of a processor if there are more ranks.
  double slower = std::max(1.0, double(machine.ranks) / machine.processors);
  auto of = [&](HostTerm term) {
    return seconds[static_cast<size_t>(term)] * slower;
  };
  ClusterSpec spec;
  spec.name = formatv("host-{0}", machine.ranks);
  DeviceSpec &device = spec.device;
  device.name = machine.name;
  device.peakFlops = {{"f32", measured(1 / of(HostTerm::MatmulFlop))}};
  device.memoryBytes =
      known(machine.memoryBytes / double(machine.ranks), "an equal share");
  device.memoryBandwidth = measured(1 / of(HostTerm::KernelByte));
  device.multiprocessors = known(1, "a rank of one thread");
  Quantity all = known(1, "the rate is measured");
  device.constants = {
      {kFunctionSeconds.str(), measured(of(HostTerm::Function))},
      {"host_launch_s", known(0, "a rank runs its kernels itself")},
      {"kernel_floor_s", measured(of(HostTerm::Kernel))},
      {kMatmulBytes.str(),
       measured(
           std::max(1.0, of(HostTerm::MatmulByte) / of(HostTerm::KernelByte)))},
      {"matmul_rate", all},
      {"memory_rate", all},
      {"overlap_slowdown", known(1, "a rank moves its data itself")},
      {kTransferShare.str(), known(1, "a rank moves its data itself")}};
  double start = of(HostTerm::Collective), step = of(HostTerm::Step);
  keepWhole(start, step, machine.ranks);
  LevelSpec &level = spec.levels.emplace_back();
  level.name = "shared memory";
  level.devices = machine.ranks;
  level.latency = measured(std::max(kLeastLatency, step));
  level.bandwidth = measured(1 / of(HostTerm::LinkByte));
  level.efficiency = all;
  level.algorithms = {"ring"};
  Quantity base = measured(std::max(kLeastLatency, start));
  Quantity one = known(1, "there is one protocol");
  spec.collectives = CollectiveSpec{base, base, one, one};
  const char *unused = "not used";
  spec.host.memoryBytes = known(machine.memoryBytes, "all of it");
  spec.host.linkBandwidth = known(1e9, unused);
  spec.host.diskBytes = known(1e9, unused);
  spec.host.diskBandwidth = known(1e9, unused);
  return spec;
}

WorkRates tessera::cost::makeWorkRates(const DeviceSpec &spec, bool isNarrow) {
  DeviceModel device = makeDeviceModel(spec);
  WorkRates rates = kGpuRates;
  rates.bytesPerSecond = device.memoryBandwidth * device.memoryRate;
  rates.matmulFlops = device.peak(isNarrow ? DType::BF16 : DType::F32) *
                      device.matmulRate / rates.bytesPerSecond;
  rates.kernelFloor = device.kernelFloor;
  for (auto [name, field] :
       {std::pair(kMatmulBytes, &WorkRates::matmulBytes),
        std::pair(kFunctionSeconds, &WorkRates::functionSeconds),
        std::pair(kTransferShare, &WorkRates::transferShare)})
    if (const Quantity *constant = spec.findConstant(name))
      rates.*field = constant->value;
  return rates;
}
