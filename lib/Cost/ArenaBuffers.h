//===- ArenaBuffers.h - Buffers of an arena besides activations -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COST_ARENABUFFERS_H
#define TESSERA_LIB_COST_ARENABUFFERS_H

#include "tessera/Cost/MemoryModel.h"

namespace tessera::cost {

/// Returns the bytes recomputed while one group of `count` layers goes
/// backward.
double recomputedBytes(const LayerMemory &layer, double count,
                       const Plan &plan);

} // namespace tessera::cost

#endif // TESSERA_LIB_COST_ARENABUFFERS_H
