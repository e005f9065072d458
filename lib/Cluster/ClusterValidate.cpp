//===- ClusterValidate.cpp - Checks the numbers of a cluster ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranges are wide: they catch a swapped unit or an error of three orders of
// magnitude, not a wrong data sheet.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Support/Errors.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace tessera;

namespace {

/// The valid range of a number, with hints at the usual mistake below and above
/// it.
struct Range {
  double low, high;
  const char *unit;
  const char *tooLow;
  const char *tooHigh;
};

} // namespace

static const Range kFlops{1e9, 1e18, "FLOP/s", "is it TFLOP/s?", ""};
static const Range kRate{1e7, 1e14, "bytes per second", "is it GB/s?",
                         "is it in bits?"};
static const Range kBytes{1e6, 1e16, "bytes", "is it GB?", ""};
static const Range kLatency{1e-9, 1e-2, "seconds", "", "is it microseconds?"};
static const Range kShare{1e-3, 1, "a share of 1", "", "is it percent?"};
static const Range kStep{1, 1e3, "a number of latencies", "", ""};
static const Range kCount{1, 1e5, "a count", "", ""};

static void check(Error &errors, const Twine &field, const Quantity &quantity,
                  const Range &range) {
  double value = quantity.value;
  if (std::isfinite(value) && value >= range.low && value <= range.high)
    return;
  bool low = value > 0 && value < range.low;
  StringRef hint = low ? range.tooLow : value > range.high ? range.tooHigh : "";
  addError(errors, formatv("{0}: expects {1} from {2:e2} to {3:e2} but got "
                           "{4:e2}{5}{6}",
                           field.str(), range.unit, range.low, range.high,
                           value, hint.empty() ? "" : "; ", hint));
}

Error DeviceSpec::validate(StringRef path) const {
  Error errors = Error::success();
  std::string prefix = path.empty() ? "" : (path + ".").str();
  if (name.empty())
    addError(errors, prefix + "name: expects a name but got ''");
  if (!findPeak("bf16") && !findPeak("f32"))
    addError(errors,
             prefix +
                 "peak_flops: expects an entry 'bf16' or 'f32' but got none");
  for (const auto &[dtype, peak] : peakFlops)
    check(errors, prefix + "peak_flops." + dtype, peak, kFlops);
  check(errors, prefix + "memory_bytes", memoryBytes, kBytes);
  check(errors, prefix + "memory_bytes_per_s", memoryBandwidth, kRate);
  check(errors, prefix + "multiprocessors", multiprocessors, kCount);
  for (const auto &[constant, quantity] : constants)
    if (!std::isfinite(quantity.value) || quantity.value < 0)
      addError(errors, formatv("{0}constants.{1}: expects a number of 0 or "
                               "more but got {2}",
                               prefix, constant, quantity.value));
  return errors;
}

static void checkLevels(Error &errors, ArrayRef<LevelSpec> levels) {
  if (levels.empty())
    addError(errors, "levels: expects at least one level but got none");
  for (auto [index, level] : llvm::enumerate(levels)) {
    std::string path = formatv("levels[{0}]", index);
    if (level.name.empty())
      addError(errors, path + ".name: expects a name but got ''");
    if (level.devices < 1)
      addError(errors, formatv("{0}.devices: expects a number of 1 or more but "
                               "got {1}",
                               path, level.devices));
    if (level.segment < 0 || level.segment > level.devices)
      addError(errors,
               formatv("{0}.segment: expects at most the {1} devices of "
                       "the level but got {2}",
                       path, level.devices, level.segment));
    check(errors, path + ".latency_s", level.latency, kLatency);
    check(errors, path + ".bytes_per_s", level.bandwidth, kRate);
    check(errors, path + ".efficiency", level.efficiency, kShare);
    check(errors, path + ".alone", level.alone, kShare);
    if (index == 0 || levels[index - 1].devices < 1)
      continue;
    const LevelSpec &inner = levels[index - 1];
    if (level.devices <= inner.devices || level.devices % inner.devices)
      addError(errors, formatv("{0}.devices: expects a larger multiple of the "
                               "{1} devices of '{2}' "
                               "but got {3}",
                               path, inner.devices, inner.name, level.devices));
    if (level.latency.value < inner.latency.value)
      addError(errors, formatv("{0}.latency_s: expects at least the {1:e2} of "
                               "'{2}' inside it but got {3:e2}; are the levels "
                               "from the inside out?",
                               path, inner.latency.value, inner.name,
                               level.latency.value));
  }
}

static void checkCollectives(Error &errors, const CollectiveSpec &spec) {
  check(errors, "collectives.base_low_s", spec.baseLow, kLatency);
  check(errors, "collectives.base_bulk_s", spec.baseBulk, kLatency);
  check(errors, "collectives.bulk_step", spec.bulkStep, kStep);
  check(errors, "collectives.low_share", spec.lowShare, kShare);
}

Error ClusterSpec::validate() const {
  Error errors = Error::success();
  if (name.empty())
    addError(errors, "name: expects a name but got ''");
  errors = joinErrors(std::move(errors), device.validate("device"));
  checkLevels(errors, levels);
  if (collectives)
    checkCollectives(errors, *collectives);
  check(errors, "host.memory_bytes", host.memoryBytes, kBytes);
  check(errors, "host.link_bytes_per_s", host.linkBandwidth, kRate);
  check(errors, "host.disk_bytes", host.diskBytes, kBytes);
  check(errors, "host.disk_bytes_per_s", host.diskBandwidth, kRate);
  return errors;
}

Error ClusterSpec::checkSize(int64_t wanted) const {
  if (wanted <= numDevices())
    return Error::success();
  return createStringError(formatv(
      "levels: expects a level of at least {0} devices but the "
      "outermost, '{1}', has {2}",
      wanted, levels.empty() ? "none" : levels.back().name, numDevices()));
}
