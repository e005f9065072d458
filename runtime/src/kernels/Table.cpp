//===- Table.cpp - The kernels of one instruction set ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects this instruction set's copies of the kernels.
//
//===----------------------------------------------------------------------===//

#include "AttentionHead.h"
#include "IsaKernels.h"

#define TESSERA_RT_STRING_(x) #x
#define TESSERA_RT_STRING(x) TESSERA_RT_STRING_(x)

static int64_t packedDepth(int64_t depth) { return depth; }

/// At this depth a panel of B and a panel of A share the second-level cache
/// with a block of B.
static constexpr int64_t blockDepth = 768;

const tessera::rt::CpuKernels tessera::rt::TESSERA_RT_ISA::table = {
    TESSERA_RT_STRING(TESSERA_RT_ISA),
    reduce,
    reducePart,
    normal,
    uniform,
    {GemmTile::rows, GemmTile::columns, blockDepth, packedDepth, packA, packB,
     multiply, multiplyUnpacked},
    attentionScratch,
    attention,
    {attentionBackwardRows, attentionBackwardKeys},
    attentionBackwardScratch,
    attentionBackward,
    expertHidden,
    expertHiddenBackward,
    bf16ToF32,
    f32ToBf16,
    f32ToF16,
};
