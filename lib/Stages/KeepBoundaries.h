//===- KeepBoundaries.h - What stages receive is not repeated ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_KEEPBOUNDARIES_H
#define TESSERA_LIB_STAGES_KEEPBOUNDARIES_H

#include "StageAssignment.h"

namespace tessera {

/// Of a value that a later stage of the forward uses there is no copy in the
/// backward (`dist.recompute`): its uses become those of the value, which the
/// later stage has received. A copy would be made in the earlier stage, to
/// which the backward returns too late.
void keepBoundaries(dist::AccumulateOp op, const StageAssignment &stages);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_KEEPBOUNDARIES_H
