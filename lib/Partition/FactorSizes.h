//===- FactorSizes.h - Padded sizes of factors ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension that a mesh does not divide is padded, and with it every
// dimension that ops tie to it. This finds the connected components of
// dimensions and factors of a function and the padded size of each.
//
// All members of a component grow by one ratio: a dimension made of heads and
// head_dim is tied to its major factor, heads, and 12 -> 16 heads make it
// 768 -> 1024. A minor factor cannot grow: the padding would separate true
// elements.
//
// A dimension that an op cannot pad is not tied to the op. Where the rest of
// the program pads it, the op gets a slice of the true elements, and zeros are
// put after those that it makes.
//
// The minor dimension of a matmul's tensor may be rounded up as well, to a
// multiple that matrix units and vectors like (FactorAlignment.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_FACTORSIZES_H
#define TESSERA_LIB_PARTITION_FACTORSIZES_H

#include "dialects/Dist/Dist.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {

/// The multiple is chosen by size: 64 where that adds no more than 1 %, else
/// what makes 16 bytes of what matmuls read, 8 elements at least, where that
/// adds no more than an eighth.
constexpr int64_t kAutoMultiple = -1;

/// What a shard of `size` elements is rounded up to a multiple of: `multiple`,
/// which is kAutoMultiple, 0 for none, or the multiple itself; 1: it stays.
/// `vector` elements make 16 bytes of what the narrowest matmul reads.
int64_t getAlignment(int64_t size, int64_t multiple, int64_t vector);

/// Ops that hand values on as they are: nothing is tied, nothing is in the way.
bool passesOn(mlir::Operation *op);

/// The components of one function whose tensors all have shardings.
class FactorSizes {
public:
  /// Minor dimensions of matmuls are rounded up, as getAlignment() says for
  /// `multiple`, in each shard that a matmul has of them, where that changes
  /// nothing but sizes; 0: to what divides.
  FactorSizes(mlir::FunctionOpInterface func, const Mesh &mesh,
              int64_t multiple = 0);

  /// Padded size of a dimension of a tensor; its own size where it divides.
  int64_t getPadded(mlir::Value value, int64_t dim) const;
  /// Padded size of a factor of an op.
  int64_t getPadded(mlir::Operation *op, unsigned factor) const;
  /// The types of an operand and of a result as the op takes and makes them:
  /// dimensions that are not tied to the op have their true sizes. Types that
  /// are no ranked tensors are themselves.
  mlir::Type getTypeAt(mlir::OpOperand &operand) const;
  mlir::Type getTypeAt(mlir::OpResult result) const;
  /// The padded type of a tensor; any other type is itself.
  mlir::Type getPaddedType(mlir::Value value) const;
  /// True if something is padded.
  bool any() const { return anyPadded; }

  /// A dimension that matmuls have as their minor one and whose size is no
  /// multiple as asked for.
  struct Unaligned {
    /// True size, and what it is padded to.
    int64_t size, padded;
    /// Why it stays as it is; null if it is rounded up.
    const char *why;
  };
  /// In order of the values they first appear with.
  llvm::ArrayRef<Unaligned> getUnaligned() const { return unaligned; }

private:
  struct Node {
    unsigned parent;
    int64_t size;
    /// Axes used on members of one size in a component; at the root.
    llvm::SmallVector<std::pair<int64_t, AxisList>, 1> uses;
    /// Padded size; at the root.
    int64_t padded = 0;
    /// At the root: into how many shards matmuls have it split as their minor
    /// dimension, 0 if it is none of theirs; why its size may not be rounded up
    /// for that, or null.
    int64_t minorShards = 0;
    /// Elements that make 16 bytes in the narrowest of these matmuls.
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
  /// Factors of an op that cannot be padded, where there are any.
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> unpaddable;
  llvm::SmallVector<Unaligned, 1> unaligned;
  bool anyPadded = false;
};

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_FACTORSIZES_H
