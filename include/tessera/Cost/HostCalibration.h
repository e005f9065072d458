//===- HostCalibration.h - Constants of this machine's ranks ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Determines the speed of the ranks of a host program from small programs with
// known work. A step of a program takes, in processor seconds per rank,
//
//   kernels x k + kernel bytes x b + functions x f + matmul bytes x p +
//   matmul operations x m + collectives x c + steps x l + bytes received x r,
//
// and each probe consists mostly of one of these terms. The terms become a
// cluster of N devices, which the compiler uses to price programs. Other code
// runs the probes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_HOSTCALIBRATION_H
#define TESSERA_COST_HOSTCALIBRATION_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Interfaces/WorkTime.h"
#include <array>

namespace tessera::cost {

/// The terms, in the order above.
enum class HostTerm {
  Kernel,
  KernelByte,
  Function,
  MatmulByte,
  MatmulFlop,
  Collective,
  Step,
  LinkByte,
};
inline constexpr size_t kNumHostTerms = 8;

/// The field of a cluster file that a term determines, such as
/// "device.memory_bytes_per_s".
llvm::StringRef getHostField(HostTerm term);

/// A program that was run in several rounds.
struct HostProbe {
  /// The term that the probe determines.
  HostTerm term = HostTerm::Kernel;
  /// Amount of each term in a step of one rank.
  std::array<double, kNumHostTerms> work{};
  /// Processor seconds of a step of one rank, one number per round, minus the
  /// time of a step of an empty program.
  std::vector<double> seconds;
};

/// Processor seconds for one unit of each term; 0 for a term without a probe.
using HostSeconds = std::array<double, kNumHostTerms>;

/// Solves for the terms that explain the lower quartiles of the probes, by
/// Gauss-Seidel (Y. Saad: Iterative Methods for Sparse Linear Systems, 2003,
/// section 4.1). Fails, with the name of a term's field, if the term's probe
/// varies too much between rounds or the term would take no time.
llvm::Expected<HostSeconds> fitHost(llvm::ArrayRef<HostProbe> probes);

/// The machine on which the probes ran.
struct HostMachine {
  /// Name of the processor, for the file.
  std::string name;
  int64_t ranks = 1, processors = 1;
  /// All memory, in bytes.
  double memoryBytes = 0;
};

/// A cluster of the machine's ranks. If there are more ranks than processors,
/// the ranks share them and all times get longer accordingly.
ClusterSpec makeHostCluster(const HostSeconds &seconds,
                            const HostMachine &machine);

/// The rates of a cluster's device that the passes use; `isNarrow`: matmuls are
/// in 16 bits.
WorkRates makeWorkRates(const DeviceSpec &device, bool isNarrow);

/// Names of the constants of a processor in a cluster file, which the model of
/// a GPU does not have (WorkRates).
llvm::ArrayRef<llvm::StringLiteral> processorConstants();

} // namespace tessera::cost

#endif // TESSERA_COST_HOSTCALIBRATION_H
