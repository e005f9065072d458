//===- RepeatedBlocks.h - Equal layers of a program -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the blocks that a program repeats. Ops look equal if rules, types,
// attributes and seeds are, and those of the ops around them, a few steps far.
// A run is a stretch of the program that repeats a sequence of such ops:
//
//     embed  norm dot add  norm dot add  norm dot add  norm loss
//            \__________/  \__________/  \__________/
//               layer 0       layer 1       layer 2
//
// A training step has a run for the forward, one backwards, and one for the
// update of the parameters.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_REPEATEDBLOCKS_H
#define TESSERA_LIB_SHARDINGSEARCH_REPEATEDBLOCKS_H

#include "ShardingProblem.h"

namespace tessera {

/// What is equal in all layers.
struct RepeatedBlocks {
  RepeatedBlocks() = default;
  /// Nothing is repeated.
  explicit RepeatedBlocks(const ShardingProblem &problem);

  /// For each op and each tensor the first one that has its place in another
  /// layer; itself where there is none.
  std::vector<unsigned> ops, tensors;
  /// The layer of each op, from 0; that of the nearest one for an op that is in
  /// no run. All 0 if nothing is repeated.
  std::vector<int> layers;
  int numLayers = 0;
};

RepeatedBlocks findRepeatedBlocks(const ShardingProblem &problem);

/// What a tensor is, without its uses: equal for tensors that are alike.
std::vector<int64_t> describeTensor(const ShardingProblem::Tensor &tensor);

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_REPEATEDBLOCKS_H
