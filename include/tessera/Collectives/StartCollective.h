//===- StartCollective.h - Splits a collective into two ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_STARTCOLLECTIVE_H
#define TESSERA_COLLECTIVES_STARTCOLLECTIVE_H

#include "dialects/Dist/Dist.h"

namespace tessera {

/// Replaces a collective in the local form by a dist.start directly followed by
/// a dist.wait.
dist::StartOp startCollective(dist::CollectiveOpInterface op);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_STARTCOLLECTIVE_H
