//===- NeededBlocks.h - Which blocks the uses of a value need ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a device's part may be called any block, as of equal elements, this
// says by which name its uses know it. It is a guess: a wrong one is found at
// the use.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_NEEDEDBLOCKS_H
#define TESSERA_LIB_VALIDATION_NEEDEDBLOCKS_H

#include "StateMap.h"

namespace tessera {

/// Of a dimension of a local value: the placement, of a multiple of `multiple`
/// blocks, that the first of its uses that says so needs; `states` are those of
/// the values that are known already. None if no use says.
std::optional<Placements::Id> findNeededBlocks(mlir::Value value, int64_t dim,
                                               int64_t multiple,
                                               const StateMap &states,
                                               Placements &placements);

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_NEEDEDBLOCKS_H
