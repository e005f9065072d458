//===- LayerTime.h - Seconds of a layer -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices the records of one layer on a device and its links. The result holds
// all that the price of a step needs, so that a layer that repeats, or that
// many layouts share, is priced once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_LAYERTIME_H
#define TESSERA_COST_LAYERTIME_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cost/ComputeModel.h"
#include "tessera/Cost/Execution.h"

namespace tessera::cost {

/// Host memory, disk and their links, per device, in bytes and bytes/s.
struct HostModel {
  double memoryBytes = 0, linkBandwidth = 0, diskBytes = 0, diskBandwidth = 0;
};

/// A cluster as a plan uses it.
class Machine {
public:
  /// Places the axes on the cluster in the order pp, dp, cp, tp, the last one
  /// innermost.
  Machine(const ClusterSpec &cluster, const Layout &layout,
          const Execution &execution)
      : Machine(cluster, makeDeviceModel(cluster.device), layout, execution) {}
  /// The same with the model of the cluster's device.
  Machine(const ClusterSpec &cluster, const DeviceModel &device,
          const Layout &layout, const Execution &execution);

  /// The links of a group that spans these axes, major to minor.
  LinkSpans spans(llvm::ArrayRef<PlanAxis> axes) const;
  double seconds(const CommWork &comm) const;
  double seconds(CollectiveKind kind, double bytes,
                 llvm::ArrayRef<PlanAxis> axes) const;

  /// Slowdown of kernels by collectives on registered buffers, relative to
  /// other collectives: they take 4 (all-gather) and 5 (reduce-scatter)
  /// multiprocessors over NVLink instead of 16, and 1 and 4 over the network
  /// alone (documentation of Megatron-FSDP's nccl_ub). Over both they take as
  /// many as others.
  static constexpr double kRegisteredShare = 0.3;
  /// Whether buffers of parameters and gradients are registered; with axes: and
  /// registration helps collectives over these.
  bool registersBuffers() const { return execution.registeredBuffers; }
  bool registersBuffers(llvm::ArrayRef<PlanAxis> axes) const;
  /// Slowdown of the kernels during a hidden collective of parameters or
  /// gradients over these axes, as a share of the collective's time.
  double dataSlowdown(llvm::ArrayRef<PlanAxis> axes) const;
  /// Slowdown of kernels by sends and receives between nodes, relative to
  /// collectives: they take 2 channels, and so multiprocessors
  /// (NCCL_NCHANNELS_PER_NET_PEER), while collectives take 16. Over NVLink they
  /// take as many as there are links.
  static constexpr double kNetworkTransferShare = 2.0 / 16;
  /// Slowdown of the kernels during a hidden transfer between stages, as a
  /// share of the transfer's time.
  double transferSlowdown() const;

  DeviceModel device;
  HostModel host;
  /// The way in which steps are run; its times of the host are in `device`.
  Execution execution;

private:
  Mesh mesh;
  MeshLinks links;
  int64_t shardRanks = 1, nodeDevices = 1;
  /// The innermost devices of dp and cp that experts are sharded over, and the
  /// rest of both.
  AxisList expertAxes, otherAxes;
  /// Number of neighbours on the context axis that share heads of attention.
  int64_t headRanks = 1;
};

/// Seconds of collectives over the same axes; gathers of parameters and
/// scatters of their gradients have none.
struct AxisTime {
  llvm::SmallVector<PlanAxis, 2> axes;
  double seconds = 0;
};

/// One pass of a layer over one micro-batch.
struct PassTime {
  KernelTime kernels;
  /// Exposed collectives, which kernels wait for, by axis.
  std::vector<AxisTime> inLine;
  /// Collectives that overlap with kernels: gathers of parameters and scatters
  /// of their gradients, without an axis, and collectives of activations, by
  /// axis.
  std::vector<AxisTime> beside;
  /// Seconds of the overlapped collectives whose buffers are registered.
  double registered = 0;
  /// Seconds that overlapped collectives exceed the one matmul that they may
  /// overlap with (CommWork::beside).
  double unhidden = 0;
  /// The host does not run ahead: its time adds to the device's.
  bool hostWaits = false;

  /// Sums of `inLine` and of `beside`.
  double inLineSeconds() const;
  double besideSeconds() const;
  /// The time that passes. Collectives in line add to the kernels' time; the
  /// host issues both ahead. Hidden collectives slow the kernels by a share of
  /// their time; the rest is exposed.
  double seconds(const DeviceModel &device) const;
  /// The part of seconds() in which nothing but a collective runs.
  double exposed(const DeviceModel &device) const;
  PassTime &operator+=(const PassTime &o);
};

/// Seconds of the passes of one layer over one micro-batch on one device.
struct LayerTime {
  /// Recomputation is part of backwardInput.
  PassTime forward, backwardInput, backwardWeight;
  /// The kernels in `forward` and `backwardInput` that run again.
  KernelTime recompute;
};

/// Seconds of each pass of a layer that has been through buildTrainingWork().
LayerTime priceLayer(const LayerWork &layer, const Machine &machine);

} // namespace tessera::cost

#endif // TESSERA_COST_LAYERTIME_H
