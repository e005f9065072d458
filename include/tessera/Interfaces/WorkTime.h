//===- WorkTime.h - Roughly how long a device works on an op ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For choices in which only the order of magnitude matters and no device is
// known. What an op takes on a device is priced by the cost model.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_WORKTIME_H
#define TESSERA_INTERFACES_WORKTIME_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Bytes per second that a device is taken to move through its memory, reads
/// and writes together: ten times what a link is taken to carry when no cluster
/// is given.
inline constexpr double kWorkBytesPerSecond = 1e12;

/// The time of an op that computes, in bytes moved through memory at the same
/// time: those that it reads and writes, and its operations, of which a device
/// does a hundred of a matmul and ten others in the time of a byte. 0 for
/// views and constants; what moves between devices is not counted.
double getWorkBytes(mlir::Operation *op);

/// The same in seconds.
inline double getWorkTime(mlir::Operation *op) {
  return getWorkBytes(op) / kWorkBytesPerSecond;
}

/// Seconds that any kernel takes to start and to end.
inline constexpr double kKernelFloorSeconds = 3e-6;

/// Seconds of an op as a kernel of its own: its time and the floor of a kernel.
/// 0 for what is none.
inline double getKernelSeconds(mlir::Operation *op) {
  double seconds = getWorkTime(op);
  return seconds > 0 ? kKernelFloorSeconds + seconds : 0;
}

} // namespace tessera

#endif // TESSERA_INTERFACES_WORKTIME_H
