//===-- Table.cpp - The kernels of one instruction set --------------------===//
//
// Part of the Tessera Project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects what this instruction set's copies of the kernels are.
//
//===----------------------------------------------------------------------===//

#include "IsaKernels.h"
#include "Tile.h"

#define TESSERA_RT_STRING_(x) #x
#define TESSERA_RT_STRING(x) TESSERA_RT_STRING_(x)

const tessera::rt::HotKernels tessera::rt::TESSERA_RT_ISA::table = {
    TESSERA_RT_STRING(TESSERA_RT_ISA),
    reduce,
    normal,
    uniform,
    GemmTile::rows,
    GemmTile::columns,
    packA,
    packB,
    multiply,
    attentionScratch,
    attention,
    bf16ToF32,
    f32ToBf16,
};
