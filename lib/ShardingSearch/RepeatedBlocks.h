//===- RepeatedBlocks.h - Equal layers of a program -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the blocks that a program repeats. Ops look equal if their rules,
// types, attributes and seeds are equal, and the ops a few steps around them
// look equal. A run is a range of the program that repeats a sequence of such
// ops:
//
//     embed  norm dot add  norm dot add  norm dot add  norm loss
//            \__________/  \__________/  \__________/
//               layer 0       layer 1       layer 2
//
// A training step has one run for the forward, one for the backward, and one
// for the update of the parameters.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_REPEATEDBLOCKS_H
#define TESSERA_LIB_SHARDINGSEARCH_REPEATEDBLOCKS_H

#include "ShardingProblem.h"

namespace tessera {

/// Ops and tensors that are equal in all layers.
struct RepeatedBlocks {
  RepeatedBlocks() = default;
  /// A result without repetition.
  explicit RepeatedBlocks(const ShardingProblem &problem);

  /// The first op or tensor at the same position of another layer; itself if
  /// there is none.
  std::vector<unsigned> ops, tensors;
  /// The layer of each op, from 0. An op outside of runs has the layer of the
  /// nearest op. All 0 if nothing repeats.
  std::vector<int> layers;
  int numLayers = 0;
};

RepeatedBlocks findRepeatedBlocks(const ShardingProblem &problem);

/// Describes a tensor without its uses: equal for similar tensors.
std::vector<int64_t> describeTensor(const ShardingProblem::Tensor &tensor);

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_REPEATEDBLOCKS_H
