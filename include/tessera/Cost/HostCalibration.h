//===- HostCalibration.h - Constants of this machine's ranks ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ranks of a host program take, from small programs whose work is
// known. A step of a program takes a rank, in seconds of a processor,
//
//   kernels x k + kernel bytes x b + functions x f + matmul bytes x p +
//   matmul operations x m + collectives x c + steps x l + bytes received x r,
//
// and each probe is mostly one of these terms. The terms become a cluster of N
// devices, by which the compiler prices programs. Running the probes is not
// done here.
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

/// The field of a cluster file that a term becomes, as
/// "device.memory_bytes_per_s".
llvm::StringRef getHostField(HostTerm term);

/// A program that was run in several rounds.
struct HostProbe {
  /// The term that it determines.
  HostTerm term = HostTerm::Kernel;
  /// How much of each term a step of a rank has.
  std::array<double, kNumHostTerms> work{};
  /// Seconds of a processor that a step of a rank took, one number a round,
  /// without what a step of an empty program takes.
  std::vector<double> seconds;
};

/// Seconds of a processor for one unit of each term; 0 of a term without a
/// probe.
using HostSeconds = std::array<double, kNumHostTerms>;

/// The terms that explain the lower quartiles of the probes, by Gauss-Seidel
/// (Y. Saad: Iterative Methods for Sparse Linear Systems, 2003, section 4.1).
/// One error names the field of a term whose probe differs too much from round
/// to round, or that would take no time.
llvm::Expected<HostSeconds> fitHost(llvm::ArrayRef<HostProbe> probes);

/// The machine on which the probes ran.
struct HostMachine {
  /// Of the processor, for the file.
  std::string name;
  int64_t ranks = 1, processors = 1;
  /// All memory, in bytes.
  double memoryBytes = 0;
};

/// A cluster of the machine's ranks. Where there are more of them than
/// processors, ranks share them: all times are longer by that.
ClusterSpec makeHostCluster(const HostSeconds &seconds,
                            const HostMachine &machine);

/// What the passes ask of a cluster's device; `isNarrow`: matmuls are in 16
/// bits.
WorkRates makeWorkRates(const DeviceSpec &device, bool isNarrow);

} // namespace tessera::cost

#endif // TESSERA_COST_HOSTCALIBRATION_H
