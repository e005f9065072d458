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

/// The element that a reduction leaves as it is: 0 for a sum, the type's least
/// or greatest value (infinite if it has one) for max and min.
Cell neutralElement(const ElementType &type, ReductionKind kind);

/// `a` combined with `b`, not rounded for floats.
Cell combine(const ElementType &type, ReductionKind kind, Cell a, Cell b);

/// The elementwise reduction of tensors of one type, in the given order; sums
/// of floats in double, rounded once.
Tensor reduceTensors(llvm::ArrayRef<TensorRef> tensors, ReductionKind kind);

/// The block of each device: `global` is padded at the ends with zeros to
/// `localShape` times the number of shards of each dimension, and split. Over
/// unreduced axes coordinate 0 has the value, the others the neutral element.
/// Devices that hold one block share one tensor.
RankTensors shardTensor(const TensorRef &global, const Sharding &sharding,
                        const Mesh &mesh, llvm::ArrayRef<int64_t> localShape);

/// The global tensor of `shape`, trimmed of its padding, from the block of each
/// device; unreduced axes are reduced. Error: two devices that must hold one
/// block differ inside the true shape.
llvm::Expected<TensorRef> assembleTensor(llvm::ArrayRef<TensorRef> blocks,
                                         const Sharding &sharding,
                                         const Mesh &mesh,
                                         llvm::ArrayRef<int64_t> shape);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_SHARDS_H
