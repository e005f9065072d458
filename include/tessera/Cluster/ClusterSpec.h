//===- ClusterSpec.h - The hardware of a cluster ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cluster as data: the device, the links from the inside out, the host. Every
// number names its source. Peaks are dense and links are one direction. This
// file reads and checks a cluster; it does not price programs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_CLUSTERSPEC_H
#define TESSERA_CLUSTER_CLUSTERSPEC_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// The source of a number, from the most to the least certain.
enum class Provenance { Measured, Fitted, Datasheet, Guess };

/// "measured", "fitted", "datasheet" or "guess".
llvm::StringRef stringify(Provenance provenance);

/// A number with its origin.
struct Quantity {
  double value = 0;
  Provenance provenance = Provenance::Guess;
  /// The publication, data sheet or file.
  std::string source;
};

/// One kind of device. Rates are for one device, in units of 1/s and bytes/s.
struct DeviceSpec {
  std::string name;
  /// Dense peak FLOP/s of the matrix units by operand type: "f32" (TF32 if the
  /// device has it), "bf16" (also f16), "f16" on devices without bf16, "fp8",
  /// "mxfp8" and "fp4" (block scales applied by the units).
  std::vector<std::pair<std::string, Quantity>> peakFlops;
  Quantity memoryBytes;
  Quantity memoryBandwidth;
  /// Streaming multiprocessors: the number of matmul tiles that run at once.
  Quantity multiprocessors;
  /// The cost model's constants of this device, by name; DeviceModel.h lists
  /// and explains them.
  std::vector<std::pair<std::string, Quantity>> constants;

  /// Null if there is no peak of that name.
  const Quantity *findPeak(llvm::StringRef dtype) const;
  const Quantity *findConstant(llvm::StringRef name) const;
  /// Fails with one error for each impossible number, as
  /// ClusterSpec::validate() does, and names it after `path`.
  llvm::Error validate(llvm::StringRef path) const;
};

/// Links that join groups of the level below (devices on the innermost level).
struct LevelSpec {
  /// "nvlink", "rack", "infiniband", ...
  std::string name;
  /// Devices in one group of this level.
  int64_t devices = 1;
  /// Seconds of one step of a collective between neighbours.
  Quantity latency;
  /// Bytes per second and device in one direction, as the hardware states.
  Quantity bandwidth;
  /// Share of `bandwidth` that large transfers reach.
  Quantity efficiency;
  /// "ring", "tree"; "direct": each pair of devices has its own links
  /// instead of a switch, so that a part of a group has only its part of the
  /// bandwidth.
  std::vector<std::string> algorithms;
  /// Devices per group that a job gets if it is larger than one group and does
  /// not fill a whole number of groups; 0: all. Domains of 72 devices are
  /// allocated by whole hosts in powers of two (64), so that axes fill them.
  int64_t segment = 0;
  /// Share of `efficiency` that a device reaches if its group has no other
  /// device of its node: fewer channels drive its link. Optional: 1.
  Quantity alone{1, Provenance::Guess, ""};
};

/// The constants of the library that runs collectives, as in
/// CollectiveConstants (MeshLinks.h).
struct CollectiveSpec {
  /// Seconds before the first byte moves, for the low-latency and bulk
  /// protocols.
  Quantity baseLow, baseBulk;
  /// Latency of a step of the bulk protocol, relative to the link's latency.
  Quantity bulkStep;
  /// Share of the bandwidth that the low-latency protocol reaches.
  Quantity lowShare;
};

/// Host memory, disk and their links, per device.
struct HostSpec {
  Quantity memoryBytes;
  /// Bandwidth between device and host memory, in one direction.
  Quantity linkBandwidth;
  Quantity diskBytes;
  Quantity diskBandwidth;
};

/// A cluster of one kind of device, as a cluster file describes it. Bytes,
/// seconds, bytes/s and FLOP/s, without prefixes.
struct ClusterSpec {
  std::string name;
  DeviceSpec device;
  /// Levels from the inside out; each joins whole groups of the one before.
  std::vector<LevelSpec> levels;
  HostSpec host;
  /// None: the fitted constants of NCCL.
  std::optional<CollectiveSpec> collectives;

  /// Fails with one error for each impossible number: missing, negative, not
  /// finite, in the wrong unit (a bandwidth of 450, a latency of 5), sizes that
  /// do not nest. Each error names its field, the expected and the actual
  /// value.
  llvm::Error validate() const;
  /// Fails if the cluster is too small for a number of devices.
  llvm::Error checkSize(int64_t numDevices) const;
  /// Devices of the outermost level.
  int64_t numDevices() const;
  /// Devices of one group of the innermost level.
  int64_t innerDevices() const;
};

/// Reads a cluster and validates it. A device that the text names is the file
/// of this name in ../devices next to `fileName`, otherwise in share/devices.
/// Errors are one line with `fileName` and the field.
llvm::Expected<ClusterSpec> parseClusterSpec(llvm::StringRef text,
                                             llvm::StringRef fileName);
llvm::Expected<ClusterSpec> readClusterSpec(llvm::StringRef path);
/// Writes the format that parseClusterSpec reads.
llvm::json::Value toJson(const ClusterSpec &spec);

} // namespace tessera

#endif // TESSERA_CLUSTER_CLUSTERSPEC_H
