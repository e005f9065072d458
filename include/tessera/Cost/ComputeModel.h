//===- ComputeModel.h - Seconds of a kernel ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel takes what the slower of its arithmetic and its memory traffic
// needs, and never less than a floor. Matmuls run as tiles in waves over the
// multiprocessors.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_COMPUTEMODEL_H
#define TESSERA_COST_COMPUTEMODEL_H

#include "tessera/Cost/DeviceModel.h"
#include "tessera/Cost/Work.h"

namespace tessera::cost {

/// Seconds of the arithmetic of a matmul on one device: the best of a few tile
/// shapes and splits of the contracted dimension,
///   waves * (2 tm tn (k / splits + fill)) / (rate of one multiprocessor),
///   waves = ceil(tiles / multiprocessors) (wave quantisation).
/// A small tile reuses each element less and runs at a lower rate. An operand
/// or result whose rows are no multiple of 16 bytes is read in narrower
/// accesses, at a third of the rate.
double matmulSeconds(const DeviceModel &device, const MatmulDims &dims,
                     DType type);

/// Seconds of attention in one kernel. `flops` counts the scores that are
/// computed (half of them under a causal mask).
double attentionSeconds(const DeviceModel &device, const OpWork &op);

/// Seconds of any kernel on the device, floor included.
double kernelSeconds(const DeviceModel &device, const OpWork &op);

/// Seconds of a group of kernels, by what bounds them.
struct KernelTime {
  /// Of matmuls and attention.
  double compute = 0;
  /// Of kernels that are bound by memory traffic.
  double memory = 0;
  /// That the host needs to issue them.
  double host = 0;
  /// What passes: the slower of device and host.
  double seconds() const {
    double device = compute + memory;
    return device > host ? device : host;
  }
  KernelTime &operator+=(const KernelTime &o) {
    compute += o.compute;
    memory += o.memory;
    host += o.host;
    return *this;
  }
};

/// Adds one record's kernels.
void addKernel(KernelTime &time, const DeviceModel &device, const OpWork &op);

} // namespace tessera::cost

#endif // TESSERA_COST_COMPUTEMODEL_H
