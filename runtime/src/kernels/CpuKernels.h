//===- CpuKernels.h - Inner loops by processor ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inner loops, which take most of the time. Every file in this folder is
// compiled once per instruction set, in a namespace of its own
// (TESSERA_RT_ISA). The first call chooses the best set that the processor has.
// Results of reductions and random numbers do not depend on that choice.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_KERNELS_CPUKERNELS_H
#define TESSERA_RT_SRC_KERNELS_CPUKERNELS_H

#include "tessera_rt.h"

#include <cstdint>

namespace tessera::rt {

/// A matrix of F32, BF16 or F16 whose element (i, j) is at data + (i *
/// rowStride + j * columnStride).
struct MatrixView {
  const void *data;
  int32_t dtype;
  int64_t rowStride;
  int64_t columnStride;
};

/// One batch element and key/value head of an attention call, for queries
/// [queryBegin, queryEnd). Positions count in rows of the head's group.
struct AttentionTask {
  const tessera_rt_attention_desc *desc;
  const void *q, *k, *v;
  void *out;
  /// May be null.
  float *logsumexp;
  int64_t qOffset, kOffset;
  /// First visible positions of documents, or null.
  const int32_t *starts;
  /// Numbers added to scores, or null.
  const float *bias;
  int64_t batch, group;
  int64_t queryBegin, queryEnd;
  /// Room for at least attentionScratch floats.
  float *scratch;
};

/// One batch element and key/value head of a backward call: the gradients
/// between queries [queryBegin, queryEnd) and keys [keyBegin, keyEnd). Both
/// ranges begin at multiples of attentionBackwardBlock.
struct AttentionBackwardTask {
  const tessera_rt_attention_desc *desc;
  const void *grad, *q, *k, *v, *out;
  const float *logsumexp;
  /// dq, which needs all keys, or null; dk and dv, which need all queries, or
  /// both null.
  void *dq, *dk, *dv;
  int64_t qOffset, kOffset;
  /// First visible positions of documents, or null.
  const int32_t *starts;
  /// Numbers added to scores, or null.
  const float *bias;
  int64_t batch, group;
  int64_t queryBegin, queryEnd, keyBegin, keyEnd;
  /// Room for at least attentionBackwardScratch floats.
  float *scratch;
};

/// Rows and keys at whose multiples a backward task may begin, so that sums
/// have the same terms however a call is split into tasks.
struct AttentionBackwardBlock {
  int64_t rows, keys;
};

/// Packing and multiplying for matmuls. A packed panel holds packedDepth(k)
/// floats' worth of elements, of any type, for each of its tileRows rows (or
/// tileColumns columns).
struct GemmKernels {
  /// The tile of C that the innermost loop keeps in registers.
  int64_t tileRows, tileColumns;
  /// Best packed depth of a pass over C.
  int64_t blockDepth;
  int64_t (*packedDepth)(int64_t depth);
  /// Packs rows x depth of A as panels of tileRows rows, zero-padded.
  void (*packA)(const MatrixView &a, int64_t rows, int64_t depth, float *out);
  /// Packs depth x columns of B as panels of tileColumns columns, zero-padded.
  void (*packB)(const MatrixView &b, int64_t depth, int64_t columns,
                float *out);
  /// C [rows, columns] (+)= A * B over a part of the packed depth (a multiple
  /// of 16, or the last), from panels that begin panelStrideA (B) floats apart.
  void (*multiply)(int64_t rows, int64_t columns, int64_t packedDepth,
                   const float *packedA, int64_t panelStrideA,
                   const float *packedB, int64_t panelStrideB, float *c,
                   int64_t ldc, bool accumulate);
  /// The same with unpacked f32 rows of A, `lda` floats apart; null for kernels
  /// that multiply packed panels only.
  void (*multiplyUnpacked)(int64_t rows, int64_t columns, int64_t depth,
                           const float *a, int64_t lda, const float *packedB,
                           int64_t panelStrideB, float *c, int64_t ldc,
                           bool accumulate);
};

struct CpuKernels {
  /// Name of the set, such as "avx512".
  const char *name;

  /// destination[i] = reduction over sources in order; bf16 and f16 in f32.
  void (*reduce)(int32_t dtype, int32_t reduction, const void *const *sources,
                 int numSources, void *destination, int64_t count);
  /// One part of such a reduction: begins with `carry`, if it is not null, and
  /// leaves a carry if `isPartial`. A carry is of accumulatedSize(dtype) bytes
  /// an element: f32 for bf16 and f16, else of the type itself.
  void (*reducePart)(int32_t dtype, int32_t reduction, const void *carry,
                     const void *const *sources, int numSources,
                     void *destination, bool isPartial, int64_t count);

  /// Values `first` .. first + count - 1 of the stream `key`; see Random.h.
  void (*normal)(uint64_t key, int64_t first, int64_t count, float mean,
                 float deviation, float *out);
  void (*uniform)(uint64_t key, int64_t first, int64_t count, float low,
                  float high, float *out);

  GemmKernels gemm;

  /// Floats of scratch that a task needs.
  int64_t (*attentionScratch)(const tessera_rt_attention_desc &desc);
  void (*attention)(const AttentionTask &task);
  AttentionBackwardBlock attentionBackwardBlock;
  int64_t (*attentionBackwardScratch)(const tessera_rt_attention_desc &desc);
  void (*attentionBackward)(const AttentionBackwardTask &task);

  /// h = gate act(g) u, elementwise, by a tessera_rt_activation.
  void (*expertHidden)(int32_t activation, float gate, const float *g,
                       const float *u, float *h, int64_t count);
  /// From the gradient of h: dg = gate dh u act'(g) and du = gate dh act(g);
  /// returns the sum of dh act(g) u, the gradient of the gate.
  float (*expertHiddenBackward)(int32_t activation, float gate, const float *dh,
                                const float *g, const float *u, float *dg,
                                float *du, int64_t count);

  /// Conversions of `count` elements.
  void (*bf16ToF32)(const uint16_t *source, float *destination, int64_t count);
  void (*f32ToBf16)(const float *source, uint16_t *destination, int64_t count);
  void (*f32ToF16)(const float *source, _Float16 *destination, int64_t count);
};

/// The kernels for this processor. TESSERA_RT_ISA in the environment (a name)
/// chooses a less capable set, for tests.
const CpuKernels &cpuKernels();

/// The kernels for operands of this type: matrix units for bf16, if there are
/// any.
const GemmKernels &gemmKernels(int32_t dtype);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_KERNELS_CPUKERNELS_H
