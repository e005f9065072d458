//===- FactorSizes.h - Padded sizes of factors ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension that a mesh does not divide is padded, and with it every
// dimension that ops tie to it. This computes the connected components of
// dimensions and factors of a function, and the padded size of each.
//
// All members of a component grow by one ratio: a dimension that merges heads
// and head_dim is tied to its major factor, heads, and 12 -> 16 heads make it
// 768 -> 1024. A minor factor cannot grow: the padding would separate true
// elements.
//
// A dimension that an op cannot pad is not tied to the op. If the rest of the
// program pads it, the op gets a slice of the true elements, and zeros are
// appended to its results.
//
// The minor dimension of a matmul's tensor may also be rounded up, to a
// multiple that suits matrix units and vectors (FactorAlignment.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_FACTORSIZES_H
#define TESSERA_LIB_PARTITION_FACTORSIZES_H

#include "dialects/Dist/Dist.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {

/// Chooses the multiple by size: 64 if that adds no more than 1 %, else the
/// elements in 16 bytes of the matmuls' operands, at least 8, if that adds no
/// more than an eighth.
constexpr int64_t kAutoMultiple = -1;

/// Returns the multiple to which a shard of `size` elements is rounded up; 1 if
/// it stays. `multiple` is kAutoMultiple, 0 for none, or the multiple itself.
/// `vector` is the number of elements in 16 bytes of the narrowest operand of
/// the matmuls.
int64_t getAlignment(int64_t size, int64_t multiple, int64_t vector);

/// True for ops that pass values on unchanged: they tie nothing and fix
/// nothing.
bool passesOn(mlir::Operation *op);

/// The components of one function whose tensors all have shardings.
class FactorSizes {
public:
  /// Rounds up minor dimensions of matmuls, by getAlignment() with `multiple`,
  /// in each shard that a matmul has, if that changes nothing but sizes. With
  /// 0, pads only to divisible sizes.
  FactorSizes(mlir::FunctionOpInterface func, const Mesh &mesh,
              int64_t multiple = 0);

  /// Returns the padded size of a dimension of a tensor; its own size if it
  /// divides.
  int64_t getPadded(mlir::Value value, int64_t dim) const;
  /// Returns the padded size of a factor of an op.
  int64_t getPadded(mlir::Operation *op, unsigned factor) const;
  /// Returns the types of an operand and of a result for the op: dimensions
  /// that are not tied to the op have their true sizes. Types other than ranked
  /// tensors are unchanged.
  mlir::Type getTypeAt(mlir::OpOperand &operand) const;
  mlir::Type getTypeAt(mlir::OpResult result) const;
  /// Returns the padded type of a tensor; any other type is unchanged.
  mlir::Type getPaddedType(mlir::Value value) const;
  /// True if something is padded.
  bool any() const { return anyPadded; }

  /// A minor dimension of matmuls whose size is not the requested multiple.
  struct Unaligned {
    /// The true size, and the padded size.
    int64_t size, padded;
    /// The reason why it stays; null if it is rounded up.
    const char *why;
  };
  /// Returns them in the order of the values in which they first appear.
  llvm::ArrayRef<Unaligned> getUnaligned() const { return unaligned; }

private:
  struct Node {
    unsigned parent;
    int64_t size;
    /// At the root: axes used on members of one size in a component.
    llvm::SmallVector<std::pair<int64_t, AxisList>, 1> uses;
    /// At the root: the padded size.
    int64_t padded = 0;
    /// At the root: the number of shards into which matmuls split it as their
    /// minor dimension (0 if it is none), and why its size may not be rounded
    /// up for that, or null.
    int64_t minorShards = 0;
    /// The number of elements in 16 bytes of the narrowest of these matmuls.
    int64_t vector = 1;
    const char *whyFixed = nullptr;
  };

  unsigned add(int64_t size);
  unsigned find(unsigned node) const;
  bool unite(unsigned a, unsigned b);
  unsigned getNode(mlir::Value value, int64_t dim);
  void addAxes(unsigned node, llvm::ArrayRef<AxisRef> axes);
  void addOp(mlir::Operation *op);
  void addAccumulate(dist::AccumulateOp op);
  bool isTied(mlir::Operation *op, llvm::ArrayRef<TensorFactors> tensors,
              unsigned index, unsigned dim) const;
  mlir::Type getTypeAt(mlir::Operation *op, mlir::Value value, unsigned index,
                       llvm::ArrayRef<TensorFactors> tensors) const;
  void findAligned(llvm::ArrayRef<mlir::Block *> blocks);
  void findMinor(mlir::Operation *op);
  void findFixed(mlir::Operation *op);
  void tieDonated(mlir::FunctionOpInterface func);
  void fix(unsigned node, const char *why);
  void solve(int64_t multiple);
  int64_t getPaddedNode(unsigned node) const;

  const Mesh &mesh;
  mutable std::vector<Node> nodes;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, unsigned> dims;
  llvm::DenseMap<mlir::Operation *, unsigned> firstFactor;
  /// Factors that cannot be padded, for ops that have any.
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> unpaddable;
  llvm::SmallVector<Unaligned, 1> unaligned;
  bool anyPadded = false;
};

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_FACTORSIZES_H
