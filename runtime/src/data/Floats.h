//===- Floats.h - Conversion between types of numbers -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_FLOATS_H
#define TESSERA_RT_SRC_FLOATS_H

#include <cstdint>

namespace tessera::rt {

/// Widens `count` numbers of F32, BF16 or F16, aligned, to f32.
void widenFloats(const void *source, int32_t dtype, float *out, int64_t count);

/// Converts `count` f32 values to `dtype`, an aligned array. Floats are rounded
/// to nearest, integers towards zero.
void convertFloats(const float *source, int32_t dtype, void *out,
                   int64_t count);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_FLOATS_H
