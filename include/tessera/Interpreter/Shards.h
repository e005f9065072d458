//===- Shards.h - Global tensors and their blocks ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_SHARDS_H
#define TESSERA_INTERPRETER_SHARDS_H

#include "tessera/Interfaces/Axes.h"
#include "tessera/Interpreter/Tensor.h"
#include "llvm/Support/Error.h"

namespace tessera::interp {

/// The neutral element of a reduction: 0 for a sum, the type's least or
/// greatest value (infinite if it has one) for max and min.
Cell neutralElement(const ElementType &type, ReductionKind kind);

/// Combines `a` with `b`; floats are not rounded.
Cell combine(const ElementType &type, ReductionKind kind, Cell a, Cell b);

/// The elementwise reduction of tensors of one type, in the given order; sums
/// of floats in double, rounded once.
Tensor reduceTensors(llvm::ArrayRef<TensorRef> tensors, ReductionKind kind);

/// The block of each device: `global` is padded with zeros at the ends to
/// `localShape` times the number of shards of each dimension, and split. Over
/// unreduced axes coordinate 0 has the value, the others the neutral element.
/// Devices that hold the same block share one tensor.
RankTensors shardTensor(const TensorRef &global, const Sharding &sharding,
                        const Mesh &mesh, llvm::ArrayRef<int64_t> localShape);

/// The global tensor of `shape`, trimmed of its padding, from the block of each
/// device; unreduced axes are reduced. Fails if two devices that must hold the
/// same block differ inside the true shape.
llvm::Expected<TensorRef> assembleTensor(llvm::ArrayRef<TensorRef> blocks,
                                         const Sharding &sharding,
                                         const Mesh &mesh,
                                         llvm::ArrayRef<int64_t> shape);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_SHARDS_H
