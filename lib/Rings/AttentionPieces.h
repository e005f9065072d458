//===- AttentionPieces.h - Attention by parts of a sequence -----*- C++ -*-===//
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

/// What attention returns: the result and the logarithm of sums, both in one
/// type of 32 bits or more.
struct Attended {
  mlir::Value result, logsumexp;
};

/// The attention of the same queries to the keys of both:
///
///     l = log(e^l1 + e^l2)        o = o1 e^(l1-l) + o2 e^(l2-l)
///
/// A query that sees nothing in one has a logarithm of minus infinity there;
/// one that sees nothing at all has 0 and minus infinity.
Attended combine(mlir::ImplicitLocOpBuilder &b, const Attended &x,
                 const Attended &y);

/// The pieces of a device's `length` elements of a sequence of which each has
/// positions that follow each other, wherever the device's shard begins: one of
/// all of the sequence, else the fewest equal ones that end where chunks do.
int64_t countPieces(nn::ZigzagAttr order, int64_t length);

/// Elements [begin, begin + size) of a tensor's sequence, dimension 1.
mlir::Value slice(mlir::ImplicitLocOpBuilder &b, mlir::Value tensor,
                  mlir::OpFoldResult begin, int64_t size);

/// Tensors one after the other along that dimension.
mlir::Value concat(mlir::ImplicitLocOpBuilder &b,
                   llvm::ArrayRef<mlir::Value> parts);

/// A value in another type's element type, which is as wide or narrower.
mlir::Value narrow(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                   mlir::Type like);

/// A tensor's type with elements of f32 at least, and a value in that type.
mlir::RankedTensorType widenType(mlir::Type type);
mlir::Value widen(mlir::ImplicitLocOpBuilder &b, mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_RINGS_ATTENTIONPIECES_H
