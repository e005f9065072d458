//===- MoveAdditions.h - Reduces before it adds over stages -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_MOVEADDITIONS_H
#define TESSERA_LIB_STAGES_MOVEADDITIONS_H

#include "StageAssignment.h"

namespace tessera {

/// Moves additions of two stages' gradients after the linear ops that lead from
/// them to a yielded value. If an addition was moved, `stages` refers to erased
/// ops.
void moveAdditionsLast(dist::AccumulateOp op, const StageAssignment &stages);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_MOVEADDITIONS_H
