//===- WarpOperations.h - Cooperative operations of warps -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warp operations of CUDA that the kernels use, as defined in the PTX ISA:
// shuffles, votes, and the matrix instructions m16n8k16 of bf16 and f16 with
// their loads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_WARPOPERATIONS_H
#define TESSERA_RT_CUDA_EMULATOR_WARPOPERATIONS_H

#include <cstdint>

namespace tessera::emu {

/// `value` of lane `source` (0..31), which must be among `mask`.
uint32_t shuffle(uint32_t mask, uint32_t value, int source);
/// The lanes of `mask` whose `vote` holds.
uint32_t ballot(uint32_t mask, bool vote);
/// The lanes of `mask` that hold the same value.
uint32_t matchAny(uint32_t mask, uint32_t value);
/// Waits for the lanes in `mask`.
void warpBarrier(uint32_t mask);

/// ldmatrix .x4 of 8x8 matrices of 16-bit elements. Lane 8*i + j gives the
/// address of row j of matrix i, a multiple of 16. Register i of lane l gets
/// elements 2*(l%4) and the next of row l/4 of matrix i, or of its transpose.
void loadMatrices(uint32_t result[4], const void *row, bool transposed);

/// mma.sync m16n8k16, row by column, bf16 or f16 with f32 sums: d += a * b. The
/// order of a sum may differ from the hardware's, which is not specified.
void multiplyMatrices(float d[4], const uint32_t a[4], const uint32_t b[2],
                      bool isF16);

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_WARPOPERATIONS_H
