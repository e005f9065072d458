//===- DeviceModel.h - The constants of a device ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few constants, each with a physical meaning, that determine the price of
// kernels and collectives on a device. docs/cost.md lists the sources of their
// values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_DEVICEMODEL_H
#define TESSERA_COST_DEVICEMODEL_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/Work.h"

namespace tessera::cost {

/// The data sheet of a device and the constants of the model: at most sixteen.
/// Field names are the names in a cluster file.
struct DeviceModel {
  /// A device without a data sheet, with the default of each constant.
  DeviceModel();

  // The data sheet. The peaks for 8 and 4 bits are 0 if the device has no units
  // for them.
  double peakF32 = 0, peakBF16 = 0, peakFP8 = 0, peakMXFP8 = 0, peakFP4 = 0;
  double memoryBytes = 0;
  double memoryBandwidth = 0;
  double multiprocessors = 0;

  /// Share of the 16-bit peak that large matmuls reach.
  double matmulRate;
  /// Share of the peak that large matmuls with 8-bit operands reach, including
  /// their casts and scaling.
  double matmulRateFP8;
  /// The same for 4-bit operands.
  double matmulRateFP4;
  /// Elements of the contracted dimension that a matmul tile loses while it
  /// fills and drains its pipeline.
  double matmulFill;
  /// Share of the memory bandwidth that a kernel reaches in one pass over large
  /// tensors.
  double memoryRate;
  /// Share of the 16-bit peak that fused attention reaches at a head dimension
  /// of 128, forward and backward.
  double attentionRate;
  double attentionBackwardRate;
  /// The same for kernels without the device's newest instructions
  /// (AttentionKind::Flash2).
  double portableRate, portableBackwardRate;
  /// Keys that a block of queries of fused attention loses to the half-masked
  /// tiles at the diagonal and to filling and draining its pipeline. They make
  /// short sequences slower.
  double attentionFill;
  /// Extra time at a head dimension of 64, relative to 128, in kernels with the
  /// device's newest instructions (0.5: 1.5 times as long). Softmax takes the
  /// same time for both.
  double attentionNarrow;
  /// Seconds that the device needs to start and drain a kernel.
  double kernelFloor;
  /// Seconds that the host needs to issue a kernel. The host issues kernels
  /// ahead of the device: a pass takes the longer of host and device time.
  double hostLaunch;
  /// The same in layers whose experts run as separate kernels and drop no
  /// token. It covers one call of a framework: a module, or an op with its part
  /// of the backward.
  double hostCall;
  /// Slowdown of the kernels that run during a hidden collective, as a share of
  /// the collective's time.
  double overlapSlowdown;
  /// Seconds of a step outside all layers: reading the batch, clearing
  /// gradients, reading back the loss.
  double stepFloor;

  /// The type of the units that compute with operands of this type: the 16-bit
  /// type if the device has no 8-bit units.
  DType unitType(DType type) const;
  /// Peak FLOP/s for operands of a type.
  double peak(DType type) const;
};

/// The model of a cluster's device. Constants that the cluster file does not
/// state keep their defaults, which are guesses.
DeviceModel makeDeviceModel(const DeviceSpec &device);

/// A constant of the model, by its name in a cluster file.
struct NamedConstant {
  const char *name;
  double DeviceModel::*field;
  /// The value without one in the cluster file.
  double byDefault;
};
/// All constants of the model.
const std::vector<NamedConstant> &deviceConstants();

/// Fails if the device states a constant that neither this model nor that for
/// processors (HostCalibration.h) has:
/// "device.constants.NAME: expects a known constant", with a suggestion.
llvm::Error checkConstants(const DeviceSpec &device);

} // namespace tessera::cost

#endif // TESSERA_COST_DEVICEMODEL_H
