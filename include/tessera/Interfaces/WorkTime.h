//===- WorkTime.h - Rough times of ops on a device --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For choices that depend only on the order of magnitude. The cost model
// computes precise times.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_WORKTIME_H
#define TESSERA_INTERFACES_WORKTIME_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Assumed rates of a device, within a factor of a few.
struct WorkRates {
  /// Bytes per second through its memory, reads and writes together.
  double bytesPerSecond;
  /// Operations of a matmul, and other operations, in the time of a byte.
  double matmulFlops, otherFlops;
  /// Seconds that any kernel takes to start and to end.
  double kernelFloor = 3e-6;
  /// Bytes through memory per byte of the operands and results of a matmul or
  /// attention: more than 1 if operands are packed first.
  double matmulBytes = 1;
  /// Seconds of exp, tanh and the like per element; 0 if memory traffic hides
  /// them.
  double functionSeconds = 0;
  /// Share of a transfer's time in which the device itself moves data and
  /// computes nothing, though the transfer overlaps with kernels: 1 on a
  /// processor, 0 with copy engines.
  double transferShare = 0;

  bool operator==(const WorkRates &o) const {
    return bytesPerSecond == o.bytesPerSecond && matmulFlops == o.matmulFlops &&
           otherFlops == o.otherFlops && kernelFloor == o.kernelFloor &&
           matmulBytes == o.matmulBytes &&
           functionSeconds == o.functionSeconds &&
           transferShare == o.transferShare;
  }
};

/// The GPU that is assumed without a cluster; its memory is ten times as fast
/// as the link that is then assumed.
inline constexpr WorkRates kGpuRates{1e12, 100, 10};

/// A processor core.
inline constexpr WorkRates kCoreRates{1e10, 10, 1};

/// The time of an op that computes, expressed in bytes moved through memory in
/// that time: bytes read and written, plus its operations. 0 for views and
/// constants; transfers between devices do not count.
double getWorkBytes(mlir::Operation *op, const WorkRates &rates);

/// The same in seconds.
inline double getWorkTime(mlir::Operation *op, const WorkRates &rates) {
  return getWorkBytes(op, rates) / rates.bytesPerSecond;
}

/// Seconds of an op that runs on its own: its time, and the floor of each of
/// its kernels. 0 for ops without a kernel.
double getKernelSeconds(mlir::Operation *op, const WorkRates &rates);

/// Seconds of the kernel that reorders `bytes` before or after a collective:
/// NCCL moves whole blocks, so the chunks of a dimension that is not the
/// outermost one go through a buffer. A processor writes each element directly
/// to its destination.
inline double getReorderSeconds(double bytes, const WorkRates &rates) {
  return rates.transferShare > 0
             ? 0
             : rates.kernelFloor + 2 * bytes / rates.bytesPerSecond;
}

} // namespace tessera

#endif // TESSERA_INTERFACES_WORKTIME_H
