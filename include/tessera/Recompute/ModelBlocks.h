//===- ModelBlocks.h - The model blocks of ops ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RECOMPUTE_MODELBLOCKS_H
#define TESSERA_RECOMPUTE_MODELBLOCKS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include <vector>

namespace tessera {

/// The first op of a block that was built for gradients (`dist.backward`); null
/// if there is none.
mlir::Operation *findBackward(mlir::Block &block);

/// For each op of the forward (the ops before `firstBackward`, or all): its
/// block of the model, numbered from 1 in the order in which they begin; 0 for
/// ops outside all blocks, such as the embedding and the head. A block begins
/// with the first op that uses a parameter whose name has another number
/// ("blocks.3." after "blocks.2."), or none.
std::vector<unsigned> numberModelBlocks(mlir::Block &block,
                                        mlir::Operation *firstBackward);

} // namespace tessera

#endif // TESSERA_RECOMPUTE_MODELBLOCKS_H
