//===- KeepBoundaries.h - Keeps received values -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_KEEPBOUNDARIES_H
#define TESSERA_LIB_STAGES_KEEPBOUNDARIES_H

#include "StageAssignment.h"

namespace tessera {

/// Removes copies in the backward (`dist.recompute`) of forward values that a
/// later stage uses: their uses read the value that the later stage has
/// received. The copy would belong to the earlier stage, which the backward
/// reaches too late.
void keepBoundaries(dist::AccumulateOp op, const StageAssignment &stages);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_KEEPBOUNDARIES_H
