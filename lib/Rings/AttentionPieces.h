//===- AttentionPieces.h - Attention on pieces of a sequence ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RINGS_ATTENTIONPIECES_H
#define TESSERA_LIB_RINGS_ATTENTIONPIECES_H

#include "dialects/NN/NN.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

/// The number of pieces of a device's `length` elements of a sequence.
/// Positions within a piece are consecutive, wherever the device's shard
/// begins. The whole sequence is one piece; otherwise they are the fewest equal
/// pieces that end at chunk boundaries.
int64_t countPieces(nn::ZigzagAttr order, int64_t length);

/// The dimension of a sequence; in a bias that of queries has this number, too.
constexpr int64_t kSequenceDim = 1;

/// Elements [begin, begin + size) of a tensor's dimension `dim`.
mlir::Value slice(mlir::ImplicitLocOpBuilder &b, mlir::Value tensor,
                  mlir::OpFoldResult begin, int64_t size,
                  int64_t dim = kSequenceDim);

/// Concatenates tensors along dimension `dim`.
mlir::Value concat(mlir::ImplicitLocOpBuilder &b,
                   llvm::ArrayRef<mlir::Value> parts,
                   int64_t dim = kSequenceDim);

/// Casts a value to the element type of `like`, which is as wide or narrower.
mlir::Value narrow(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                   mlir::Type like);

/// A tensor's type with elements of at least f32, and a value cast to it.
mlir::RankedTensorType widenType(mlir::Type type);
mlir::Value widen(mlir::ImplicitLocOpBuilder &b, mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_RINGS_ATTENTIONPIECES_H
