//===- DeviceModel.h - The constants of a device ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few numbers, each with a physical meaning, by which kernels and
// collectives are priced on a device. docs/cost.md says where their values are
// from.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_DEVICEMODEL_H
#define TESSERA_COST_DEVICEMODEL_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/Work.h"

namespace tessera::cost {

/// What a data sheet says of a device, and the constants of the model: at most
/// sixteen. The field's name is the name in a cluster file.
struct DeviceModel {
  // The data sheet. 8 and 4 bits have a peak of 0 where the device has no units
  // for them.
  double peakF32 = 0, peakBF16 = 0, peakFP8 = 0, peakMXFP8 = 0, peakFP4 = 0;
  double memoryBytes = 0;
  double memoryBandwidth = 0;
  double multiprocessors = 0;

  /// Share of the 16-bit peak that large matmuls reach.
  double matmulRate = 0.8;
  /// The same for 8-bit operands, with their casts and scaling.
  double matmulRateFP8 = 0.7;
  /// The same for 4-bit operands.
  double matmulRateFP4 = 0.6;
  /// Steps of the contracted dimension that a tile of a matmul loses to fill
  /// and drain its pipeline, in elements.
  double matmulFill = 128;
  /// Share of the memory bandwidth that a kernel reaches which passes over
  /// large tensors once.
  double memoryRate = 0.8;
  /// Share of the 16-bit peak that fused attention reaches forward, and
  /// backward, at a head dimension of 128.
  double attentionRate = 0.5;
  double attentionBackwardRate = 0.4;
  /// The same of kernels without the device's newest instructions
  /// (AttentionKind::Flash2).
  double portableRate = 0.35, portableBackwardRate = 0.3;
  /// Keys that a block of queries of fused attention loses to the half-masked
  /// tiles at the diagonal and to filling and draining its pipeline: why short
  /// sequences are slower.
  double attentionFill = 225;
  /// By how much a head dimension of 64 is slower than one of 128 (0.5: half
  /// as long again) in kernels with the device's newest instructions: softmax
  /// takes the same for both.
  double attentionNarrow = 0.3;
  /// Seconds that the device needs to start and drain a kernel.
  double kernelFloor = 3e-6;
  /// Seconds that the host needs to issue a kernel. Kernels are issued ahead:
  /// a pass takes what the slower of host and device needs.
  double hostLaunch = 8e-6;
  /// The same in layers whose experts have kernels of their own and drop no
  /// token, for what a framework does in one call: a module, or an op with its
  /// part of the backward.
  double hostCall = 122e-6;
  /// Share of the time of a hidden collective by which it slows the kernels
  /// beside it.
  double overlapSlowdown = 0.2;
  /// Seconds of a step that belong to no layer: reading the batch, clearing
  /// gradients, reading back the loss.
  double stepFloor = 5e-3;

  /// The type of the units that compute with operands of a type: that of 16
  /// bits where the device has none for 8.
  DType unitType(DType type) const;
  /// Peak FLOP/s for operands of a type.
  double peak(DType type) const;
};

/// The model of a cluster's device; constants that its file does not state keep
/// the defaults above, which are guesses.
DeviceModel makeDeviceModel(const DeviceSpec &device);

/// A constant of the model by name, as a cluster file has it.
struct NamedConstant {
  const char *name;
  double DeviceModel::*field;
};
/// All constants of the model, in the order above.
const std::vector<NamedConstant> &deviceConstants();

} // namespace tessera::cost

#endif // TESSERA_COST_DEVICEMODEL_H
