//===- Floats.cpp - Conversion between types of numbers -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Floats.h.
//
//===----------------------------------------------------------------------===//

#include "Floats.h"

#include "kernels/CpuKernels.h"

#include <cstring>

using namespace tessera::rt;

void tessera::rt::widenFloats(const void *source, int32_t dtype, float *out,
                              int64_t count) {
  if (dtype == TESSERA_RT_F32)
    memcpy(out, source, size_t(count) * 4);
  else if (dtype == TESSERA_RT_BF16)
    cpuKernels().bf16ToF32(static_cast<const uint16_t *>(source), out, count);
  else
    for (int64_t i = 0; i < count; ++i)
      out[i] = float(static_cast<const _Float16 *>(source)[i]);
}

void tessera::rt::convertFloats(const float *source, int32_t dtype, void *out,
                                int64_t count) {
  if (dtype == TESSERA_RT_F32) {
    memcpy(out, source, size_t(count) * 4);
    return;
  }
  if (dtype == TESSERA_RT_BF16)
    return cpuKernels().f32ToBf16(source, static_cast<uint16_t *>(out), count);
  for (int64_t i = 0; i < count; ++i) {
    float x = source[i];
    if (dtype == TESSERA_RT_F16)
      static_cast<_Float16 *>(out)[i] = _Float16(x);
    else if (dtype == TESSERA_RT_F64)
      static_cast<double *>(out)[i] = double(x);
    else if (dtype == TESSERA_RT_I32)
      static_cast<int32_t *>(out)[i] = int32_t(x);
    else if (dtype == TESSERA_RT_I64)
      static_cast<int64_t *>(out)[i] = int64_t(x);
    else if (dtype == TESSERA_RT_I16)
      static_cast<int16_t *>(out)[i] = int16_t(x);
    else
      static_cast<int8_t *>(out)[i] = int8_t(x);
  }
}
