//===- RestLayout.h - State of sizes that do not divide ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter of 64 x 2 x 2 x 16 has no dimension that three ranks divide. Its
// optimizer state, and with zero=3 the parameter itself, then rests in another
// shape: dimensions that tensor parallelism does not cut are merged, in
// row-major order, and the merged one is padded with zeros for dp: 4096 become
// 4098, 1366 a rank. The model's own dimensions are not padded for it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_RESTLAYOUT_H
#define TESSERA_TRAINING_RESTLAYOUT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "tessera/Interfaces/Axes.h"
#include <optional>

namespace tessera {

/// Of an argument at rest: its shape without padding, and the parameter's
/// shape, which has as many elements in the same order and is that of files.
constexpr llvm::StringLiteral kStoredShapeAttr = "nn.stored_shape";
constexpr llvm::StringLiteral kLogicalShapeAttr = "nn.logical_shape";

class RestLayout {
public:
  /// The layout of a parameter of `shape` that is sharded as `inUse` and rests
  /// over `axis` as well. None if the axis divides its dimensions, or is in
  /// use, or tensor parallelism leaves no dimension to merge.
  ///
  /// A dimension of d elements that is cut in p parts becomes p x d/p first,
  /// and d/p is merged; where p does not divide d it stays as it is. Of several
  /// merged dimensions the one with the least padding is sharded.
  static std::optional<RestLayout> get(llvm::ArrayRef<int64_t> shape,
                                       const Sharding &inUse,
                                       const AxisRef &axis);

  /// With padding.
  mlir::RankedTensorType getType(mlir::Type element) const;
  /// Without.
  llvm::ArrayRef<int64_t> getStoredShape() const { return stored; }
  llvm::ArrayRef<int64_t> getLogicalShape() const { return logical; }
  /// The sharding in use, of this shape; and that at rest.
  const Sharding &getInUse() const { return inUse; }
  const Sharding &getAtRest() const { return atRest; }

  /// The attributes of an argument that rests so.
  llvm::SmallVector<mlir::NamedAttribute> getAttributes(mlir::Builder &b) const;

  /// A tensor of the parameter's shape as one of this shape, and back: views,
  /// and zeros joined or cut off.
  mlir::Value toRest(mlir::OpBuilder &b, mlir::Location loc,
                     mlir::Value value) const;
  mlir::Value fromRest(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value value) const;

private:
  using Groups = llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 4>;

  llvm::SmallVector<int64_t> logical, split, stored;
  /// Dimensions of `split` by dimension of `logical`, and of `stored`.
  Groups splitGroups, storedGroups;
  unsigned paddedDim = 0;
  int64_t paddedSize = 0;
  Sharding inUse, atRest;
};

} // namespace tessera

#endif // TESSERA_TRAINING_RESTLAYOUT_H
