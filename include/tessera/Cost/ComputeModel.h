//===- ComputeModel.h - Seconds of a kernel ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel takes the longer of its arithmetic time and its memory time, and at
// least a floor. Matmuls run as tiles in waves over the multiprocessors.
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
/// or result whose rows are not a multiple of 16 bytes is read in narrower
/// accesses, at a third of the rate.
double matmulSeconds(const DeviceModel &device, const MatmulDims &dims,
                     DType type);

/// A matmul whose operands and result have this type, each moved once.
OpWork makeMatmulOp(const MatmulDims &dims, DType type);

/// Seconds of attention in one kernel. `flops` counts the computed scores only
/// (half of them under a causal mask).
double attentionSeconds(const DeviceModel &device, const OpWork &op);

/// Seconds of any kernel on the device, including the floor.
double kernelSeconds(const DeviceModel &device, const OpWork &op);

/// Seconds of a group of kernels, by bottleneck.
struct KernelTime {
  /// Seconds of matmuls and attention.
  double compute = 0;
  /// Seconds of memory-bound kernels.
  double memory = 0;
  /// Seconds that the host needs to issue the kernels.
  double host = 0;
  /// The time that passes: the longer of device and host.
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

/// Adds the kernels of one record.
void addKernel(KernelTime &time, const DeviceModel &device, const OpWork &op);

} // namespace tessera::cost

#endif // TESSERA_COST_COMPUTEMODEL_H
