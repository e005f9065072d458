//===- FlatState.h - State whose sizes do not divide ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flat padded state of a parameter, as FSDP's flat parameter: a parameter
// of 64 x 2 x 2 x 16 has no dimension that three ranks divide. Its optimizer
// state, and with zero=3 the parameter itself, is then stored in another shape:
// its dimensions are merged, in row-major order, and the merged dimension is
// padded with zeros for dp: 4096 become 4098, 1366 per rank. The model's own
// dimensions are not padded for it.
//
// If tensor parallelism splits dimensions, the tensor is split into tiles, one
// for each of its devices, and each tile is merged: 64 x 2 x 2 x 16 with tp = 2
// on the second dimension is stored as 2 x 2048, padded to 2 x 2049. On a
// device that is its own shard, in memory order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_FLATSTATE_H
#define TESSERA_TRAINING_FLATSTATE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/Axes.h"
#include <optional>

namespace tessera {

/// For argument `number` of a global function: the linear index in the stored
/// tensor of each element of its logical shape, in row-major order. None if it
/// is stored in its own shape.
std::optional<std::vector<int64_t>>
getFlatIndices(mlir::FunctionOpInterface func, unsigned number);

/// The flat layout of one parameter: shapes, sharding, and the conversion ops.
class FlatState {
public:
  /// The layout of a parameter of `shape` that is used with the sharding
  /// `inUse` and stored sharded over `axes` as well. None if `axes` divide its
  /// dimensions, or one of them is in use, or tensor parallelism leaves no
  /// dimension to merge.
  ///
  /// A dimension of d elements that is split in p shards becomes p x d/p, the p
  /// go before all others, and all others are merged. If p does not divide d,
  /// that dimension stays as it is and all stay in their order: then neighbours
  /// are merged, and the merged dimension with the least padding is sharded.
  static std::optional<FlatState> get(llvm::ArrayRef<int64_t> shape,
                                      const Sharding &inUse,
                                      llvm::ArrayRef<AxisRef> axes);

  /// The stored type, with padding.
  mlir::RankedTensorType getType(mlir::Type element) const;
  /// The stored shape, without padding.
  llvm::ArrayRef<int64_t> getStoredShape() const { return stored; }
  llvm::ArrayRef<int64_t> getLogicalShape() const { return logical; }
  /// The sharding in use, for this shape; and the sharding that it is stored
  /// with.
  const Sharding &getInUse() const { return inUse; }
  const Sharding &getSharding() const { return sharding; }

  /// The attributes of an argument that is stored this way.
  llvm::SmallVector<mlir::NamedAttribute> getAttributes(mlir::Builder &b) const;

  /// Converts a tensor of the parameter's shape to this layout, and back: with
  /// views, a transposition that moves nothing within a device's shard, and
  /// zeros that are appended or removed.
  mlir::Value flatten(mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Value value) const;
  mlir::Value unflatten(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value value) const;

private:
  using Groups = llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 4>;

  void splitDims(const Sharding &used,
                 llvm::SmallVectorImpl<std::optional<DimSharding>> &kept);
  bool isPermuted() const;

  /// `ordered` is `split` in `order`.
  llvm::SmallVector<int64_t> logical, split, order, ordered, stored;
  /// Number of tiles of each dimension of `logical`.
  llvm::SmallVector<int64_t> tiles;
  /// For each dimension of `logical`, its dimensions of `split`; for each of
  /// `stored`, its dimensions of `ordered`.
  Groups splitGroups, storedGroups;
  unsigned paddedDim = 0;
  int64_t paddedSize = 0;
  Sharding inUse, sharding;
};

} // namespace tessera

#endif // TESSERA_TRAINING_FLATSTATE_H
