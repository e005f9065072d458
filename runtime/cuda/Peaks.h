//===- Peaks.h - Peak rates of devices --------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_PEAKS_H
#define TESSERA_RT_CUDA_PEAKS_H

#include <cstdint>
#include <string>

namespace tessera::rt::cuda {

/// Floating-point operations per second of a device's matmuls with operands of
/// `dtype`, dense, from its vendor's datasheet. `tf32` lets f32 use matrix
/// units. 0: not known.
double peakFlops(const std::string &device, int32_t dtype, bool tf32);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_PEAKS_H
