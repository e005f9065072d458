//===- Peaks.cpp - Peak rates of devices ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Peaks.h. The numbers are from NVIDIA's datasheets, without sparsity.
//
//===----------------------------------------------------------------------===//

#include "Peaks.h"

#include "tessera_rt.h"

#include <cstring>

namespace {
/// 10^12 operations per second for bf16 and f16; for f32 with matrix units
/// (TF32), and without; for f64. 8-bit matmuls are twice as fast as bf16, on
/// devices with units for them.
struct Peak {
  /// A part of the device's name; more specific ones come first.
  const char *name;
  double half, tf32, single, wide;
};
constexpr Peak peaks[] = {
    {"B200", 2250, 1125, 75, 37},         {"H200", 989.4, 494.7, 67, 67},
    {"GH200", 989.4, 494.7, 67, 67},      {"H100 PCIe", 756, 378, 51, 51},
    {"H100 NVL", 835, 417.5, 60, 60},     {"H100", 989.4, 494.7, 67, 67},
    {"H800", 989.4, 494.7, 67, 1},        {"A100", 312, 156, 19.5, 19.5},
    {"A800", 312, 156, 19.5, 9.7},        {"L40S", 362, 183, 91.6, 1.4},
    {"A10G", 70, 35, 31.2, 0.5},          {"A6000", 154.8, 77.4, 38.7, 1.2},
    {"RTX 4090", 165.2, 82.6, 82.6, 1.3},
};
} // namespace

/// True for the only generation here without units for 8-bit floats. Only names
/// of its devices begin with A.
static bool isAmpere(const Peak &peak) { return peak.name[0] == 'A'; }

double tessera::rt::cuda::peakFlops(const std::string &device, int32_t dtype,
                                    bool tf32) {
  for (const Peak &peak : peaks) {
    if (!strstr(device.c_str(), peak.name))
      continue;
    if (dtype == TESSERA_RT_BF16 || dtype == TESSERA_RT_F16)
      return peak.half * 1e12;
    if (dtype == TESSERA_RT_F8E4M3 || dtype == TESSERA_RT_F8E5M2)
      return isAmpere(peak) ? 0 : 2 * peak.half * 1e12;
    if (dtype == TESSERA_RT_F64)
      return peak.wide * 1e12;
    return dtype == TESSERA_RT_F32 ? (tf32 ? peak.tf32 : peak.single) * 1e12
                                   : 0;
  }
  return 0;
}
