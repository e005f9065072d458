//===- NeededBlocks.h - Blocks that uses of a value need --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If any block may name a device's shard, as all elements are equal, the uses
// of the value determine the name. This is a guess: a wrong name is found at
// the use.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_NEEDEDBLOCKS_H
#define TESSERA_LIB_PROOF_NEEDEDBLOCKS_H

#include "StateMap.h"

namespace tessera {

/// The placement of a dimension of a local value that its first decisive use
/// needs; it has a multiple of `multiple` blocks. `states` holds the known
/// values. None if no use is decisive.
std::optional<Placements::Id> findNeededBlocks(mlir::Value value, int64_t dim,
                                               int64_t multiple,
                                               const StateMap &states,
                                               Placements &placements);

} // namespace tessera

#endif // TESSERA_LIB_PROOF_NEEDEDBLOCKS_H
