//===- LayerTime.h - Seconds of a layer -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices the records of one layer on a device and its links. What comes out is
// all that the price of a step needs, so that a layer that repeats, or that
// many layouts share, is priced once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_LAYERTIME_H
#define TESSERA_COST_LAYERTIME_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cost/ComputeModel.h"
#include "tessera/Support/Plan.h"

namespace tessera::cost {

/// What is around the devices, for one device, in bytes and bytes/s.
struct HostModel {
  double memoryBytes = 0, linkBandwidth = 0, diskBytes = 0, diskBandwidth = 0;
};

/// A cluster as a plan uses it.
class Machine {
public:
  /// The axes are on the cluster in the order pp, dp, cp, tp, the last one
  /// innermost.
  Machine(const ClusterSpec &cluster, const Plan &plan)
      : Machine(cluster, makeDeviceModel(cluster.device), plan) {}
  /// The same with the model of the cluster's device.
  Machine(const ClusterSpec &cluster, const DeviceModel &device,
          const Plan &plan);

  /// The links of a group that spans these axes ("pp", "dp", "cp", "tp"), major
  /// to minor. "ep" is the minor sub-axis of dp over which experts are sharded,
  /// "edp" the rest of it; "shard" the minor part of dp and cp over which
  /// ZeRO shards state.
  LinkSpans spans(llvm::ArrayRef<std::string> axes) const;
  double seconds(const CommWork &comm) const;
  double seconds(CollectiveKind kind, double bytes,
                 llvm::ArrayRef<std::string> axes) const;

  /// What slows kernels by this share of the usual: collectives of registered
  /// buffers take 4 (all-gather) and 5 (reduce-scatter) multiprocessors over
  /// NVLink instead of 16, and 1 and 4 over the network alone (documentation of
  /// Megatron-FSDP's nccl_ub). Over both they take as many as others.
  static constexpr double kRegisteredShare = 0.3;
  /// Whether the buffers of parameters and gradients are registered, over these
  /// axes to any effect.
  bool registersBuffers() const { return registered; }
  bool registersBuffers(llvm::ArrayRef<std::string> axes) const;
  /// Share of the time of a hidden collective of parameters or gradients over
  /// these axes by which kernels beside it slow.
  double dataSlowdown(llvm::ArrayRef<std::string> axes) const;
  /// What sends and receives to and from another node slow kernels by, as a
  /// share of what collectives do: they take 2 channels, and so multiprocessors
  /// (NCCL_NCHANNELS_PER_NET_PEER), where collectives take 16. Over NVLink they
  /// take as many as there are links.
  static constexpr double kNetworkTransferShare = 2.0 / 16;
  /// Share of the time of a hidden transfer between stages by which kernels
  /// beside it slow.
  double transferSlowdown() const;

  DeviceModel device;
  HostModel host;

private:
  Mesh mesh;
  MeshLinks links;
  int64_t expertRanks = 1, shardRanks = 1, nodeDevices = 1;
  /// Plan::pxn.
  bool pxn = true;
  /// Plan::registeredBuffers.
  bool registered = false;
  /// Neighbours on the context axis that share heads of attention.
  int64_t headRanks = 1;
};

/// Seconds of collectives on the links of one axis.
struct AxisTime {
  std::string axis;
  double seconds = 0;
};

/// One pass of a layer over one micro-batch.
struct PassTime {
  KernelTime kernels;
  /// Collectives that kernels wait for, by axis.
  std::vector<AxisTime> inLine;
  /// Collectives beside kernels: gathers of parameters and scatters of their
  /// gradients, by no axis, and those of activations, by theirs.
  std::vector<AxisTime> beside;
  /// Seconds of those beside kernels whose buffers are registered.
  double registered = 0;
  /// Seconds of those beside kernels by which they are longer than the one
  /// matmul that they can run beside (CommWork::beside).
  double unhidden = 0;
  /// The host does not run ahead: what it takes adds to what the device takes.
  bool hostWaits = false;

  /// Sums of `inLine` and of `beside`.
  double inLineSeconds() const;
  double besideSeconds() const;
  /// What passes. Collectives in line add to the kernels'; the host issues both
  /// ahead. What is hidden beside kernels slows them by a share of its time;
  /// the rest is exposed.
  double seconds(const DeviceModel &device) const;
  /// The part of seconds() in which nothing but a collective runs.
  double exposed(const DeviceModel &device) const;
  PassTime &operator+=(const PassTime &o);
};

/// Seconds of the passes of one layer over one micro-batch on one device.
struct LayerTime {
  /// Recomputation is a part of backwardInput.
  PassTime forward, backwardInput, backwardWeight;
  /// Of `forward` and `backwardInput`: the kernels that run again.
  KernelTime recompute;
};

/// Seconds of each pass of a layer that has been through buildTrainingWork().
LayerTime priceLayer(const LayerWork &layer, const Machine &machine);

} // namespace tessera::cost

#endif // TESSERA_COST_LAYERTIME_H
