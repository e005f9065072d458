//===- WorkTime.h - Roughly how long a device works on an op ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For choices in which only the order of magnitude matters. What an op takes on
// a device is priced by the cost model.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_WORKTIME_H
#define TESSERA_INTERFACES_WORKTIME_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// What a device is taken to do, within a factor of a few.
struct WorkRates {
  /// Bytes per second through its memory, reads and writes together.
  double bytesPerSecond;
  /// Operations of a matmul, and others, in the time of a byte.
  double matmulFlops, otherFlops;
  /// Seconds that any kernel takes to start and to end.
  double kernelFloor = 3e-6;
  /// Bytes through memory for each byte of the operands and results of a matmul
  /// or attention: more than 1 where operands are packed before.
  double matmulBytes = 1;
  /// Seconds of exp, tanh and the like of one element; 0 where they are done
  /// while bytes move.
  double functionSeconds = 0;
  /// Share of the time of a transfer that the device itself moves its data and
  /// computes nothing, though the transfer runs beside kernels: 1 on a
  /// processor, 0 where there are engines for it.
  double transferShare = 0;

  bool operator==(const WorkRates &o) const {
    return bytesPerSecond == o.bytesPerSecond && matmulFlops == o.matmulFlops &&
           otherFlops == o.otherFlops && kernelFloor == o.kernelFloor &&
           matmulBytes == o.matmulBytes &&
           functionSeconds == o.functionSeconds &&
           transferShare == o.transferShare;
  }
};

/// The GPU that is assumed where no cluster is given; its memory is ten times
/// as fast as a link is taken to be then.
inline constexpr WorkRates kGpuRates{1e12, 100, 10};

/// A processor core.
inline constexpr WorkRates kCoreRates{1e10, 10, 1};

/// The time of an op that computes, in bytes moved through memory at the same
/// time: those that it reads and writes, and its operations. 0 for views and
/// constants; what moves between devices is not counted.
double getWorkBytes(mlir::Operation *op, const WorkRates &rates);

/// The same in seconds.
inline double getWorkTime(mlir::Operation *op, const WorkRates &rates) {
  return getWorkBytes(op, rates) / rates.bytesPerSecond;
}

/// Seconds of an op as a kernel of its own: its time, and the floor of each
/// kernel that it is done by. 0 for what is none.
double getKernelSeconds(mlir::Operation *op, const WorkRates &rates);

/// Seconds of the kernel that copies `bytes` in another order before or after a
/// collective: NCCL moves whole blocks, so the chunks of a dimension that is
/// not the outermost one go through a buffer. A processor moves each element to
/// where it belongs.
inline double getReorderSeconds(double bytes, const WorkRates &rates) {
  return rates.transferShare > 0
             ? 0
             : rates.kernelFloor + 2 * bytes / rates.bytesPerSecond;
}

} // namespace tessera

#endif // TESSERA_INTERFACES_WORKTIME_H
