//===- IsaKernels.h - Declarations of one instruction set -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Definitions of this folder's files in the namespace of the instruction set
// for which they are compiled. Table.cpp collects them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_KERNELS_ISAKERNELS_H
#define TESSERA_RT_SRC_KERNELS_ISAKERNELS_H

#include "CpuKernels.h"

namespace tessera::rt::TESSERA_RT_ISA {

void reduce(int32_t dtype, int32_t reduction, const void *const *sources,
            int numSources, void *destination, int64_t count);
void reducePart(int32_t dtype, int32_t reduction, const void *carry,
                const void *const *sources, int numSources, void *destination,
                bool isPartial, int64_t count);
void bf16ToF32(const uint16_t *source, float *destination, int64_t count);
void f32ToBf16(const float *source, uint16_t *destination, int64_t count);
void f32ToF16(const float *source, _Float16 *destination, int64_t count);
void normal(uint64_t key, int64_t first, int64_t count, float mean,
            float deviation, float *out);
void uniform(uint64_t key, int64_t first, int64_t count, float low, float high,
             float *out);
void packA(const MatrixView &a, int64_t rows, int64_t depth, float *out);
void packB(const MatrixView &b, int64_t depth, int64_t columns, float *out);
void multiply(int64_t rows, int64_t columns, int64_t depth,
              const float *packedA, int64_t panelStrideA, const float *packedB,
              int64_t panelStrideB, float *c, int64_t ldc, bool accumulate);
void multiplyUnpacked(int64_t rows, int64_t columns, int64_t depth,
                      const float *a, int64_t lda, const float *packedB,
                      int64_t panelStrideB, float *c, int64_t ldc,
                      bool accumulate);
/// Packing for the tiles of attention, which are narrower.
void packAttentionRows(const MatrixView &a, int64_t rows, int64_t depth,
                       float *out);
void packAttentionColumns(const MatrixView &b, int64_t depth, int64_t columns,
                          float *out);
int64_t attentionScratch(const tessera_rt_attention_desc &desc);
void attention(const AttentionTask &task);
int64_t attentionBackwardScratch(const tessera_rt_attention_desc &desc);
void attentionBackward(const AttentionBackwardTask &task);

void expertHidden(int32_t activation, float gate, const float *g,
                  const float *u, float *h, int64_t count);
float expertHiddenBackward(int32_t activation, float gate, const float *dh,
                           const float *g, const float *u, float *dg, float *du,
                           int64_t count);

/// The table of all of the above.
extern const CpuKernels table;

} // namespace tessera::rt::TESSERA_RT_ISA

#endif // TESSERA_RT_SRC_KERNELS_ISAKERNELS_H
