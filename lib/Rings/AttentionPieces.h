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

/// Results of attention: the output and the logarithm of the sum of
/// exponentials, both in one type of 32 bits or more.
struct Attended {
  mlir::Value result, logsumexp;
};

/// Combines the attention of the same queries to two sets of keys:
///
///     l = log(e^l1 + e^l2)        o = o1 e^(l1-l) + o2 e^(l2-l)
///
/// A query that sees no key of a set has a logarithm of minus infinity there.
/// One that sees no key at all has 0 and minus infinity.
Attended combine(mlir::ImplicitLocOpBuilder &b, const Attended &x,
                 const Attended &y);

/// The number of pieces of a device's `length` elements of a sequence.
/// Positions within a piece are consecutive, wherever the device's shard
/// begins. The whole sequence is one piece; otherwise they are the fewest equal
/// pieces that end at chunk boundaries.
int64_t countPieces(nn::ZigzagAttr order, int64_t length);

/// Elements [begin, begin + size) of a tensor's sequence dimension, 1.
mlir::Value slice(mlir::ImplicitLocOpBuilder &b, mlir::Value tensor,
                  mlir::OpFoldResult begin, int64_t size);

/// Concatenates tensors along the sequence dimension.
mlir::Value concat(mlir::ImplicitLocOpBuilder &b,
                   llvm::ArrayRef<mlir::Value> parts);

/// Casts a value to the element type of `like`, which is as wide or narrower.
mlir::Value narrow(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                   mlir::Type like);

/// A tensor's type with elements of at least f32, and a value cast to it.
mlir::RankedTensorType widenType(mlir::Type type);
mlir::Value widen(mlir::ImplicitLocOpBuilder &b, mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_RINGS_ATTENTIONPIECES_H
