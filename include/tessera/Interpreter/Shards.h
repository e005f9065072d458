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
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

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

/// The blocks of one global value on the devices of a mesh.
struct DeviceBlocks {
  RankTensors blocks;
  Sharding sharding;
  Mesh mesh;
  /// The global shape, without padding.
  llvm::SmallVector<int64_t> shape;

  /// Calls fn(device, block, offsets) for each device that has elements of the
  /// value: with its block, reduced over unreduced axes and trimmed of its
  /// padding, and the place of the block's first element in the global value.
  void forEach(llvm::function_ref<void(int64_t device, const TensorRef &block,
                                       llvm::ArrayRef<int64_t> offsets)>
                   fn) const;
};

/// The global tensor of the blocks, of each the first device's.
TensorRef assembleTensor(const DeviceBlocks &value);

/// Returns the first two devices that must hold the same block and differ in
/// any bit.
std::optional<std::pair<int64_t, int64_t>>
findConflict(const DeviceBlocks &value);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_SHARDS_H
