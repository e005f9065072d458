//===- Padder.h - Pads the tensors of one function --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_PADDER_H
#define TESSERA_LIB_PARTITION_PADDER_H

#include "FactorSizes.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "tessera/Interfaces/PaddingOpInterface.h"

namespace tessera {

/// The padded types of a function's arguments and results.
struct Signature {
  llvm::SmallVector<mlir::Type> inputs, outputs;
};
/// Signatures by function.
using Signatures = llvm::DenseMap<mlir::Operation *, Signature>;

/// Pads one function.
class Padder {
public:
  Padder(mlir::FunctionOpInterface func, const Mesh &mesh, int64_t multiple)
      : func(func), mesh(mesh), sizes(func, mesh, multiple) {}

  Signature getSignature();
  bool isPadded() const { return sizes.any(); }
  void remarkAlignment();
  /// `signatures` has the signatures of the called functions.
  void run(const Signatures &signatures);

private:
  /// The properties of a padded dimension that its mask needs.
  struct Padding {
    int64_t dim;
    int64_t size;
  };

  void setBoundaryTypes();
  bool absorbOwnReductions(mlir::Operation *op, const ShardingRule &rule);
  void padOp(mlir::Operation *op);
  void padCall(mlir::CallOpInterface call);
  mlir::FailureOr<mlir::Operation *> clonePadded(mlir::Operation *op,
                                                 mlir::ValueRange operands);
  mlir::Operation *cloneAsIs(mlir::Operation *op);
  void replace(mlir::Operation *op, mlir::Operation *clone);
  mlir::Value fit(mlir::Value value, mlir::Type type, mlir::Operation *user);
  void padBlock(mlir::Block &block);
  void padAccumulate(dist::AccumulateOp op);
  /// Sets the operands of a block's last op.
  void padTerminator(mlir::Operation *op,
                     llvm::SmallVector<mlir::Value> operands);
  /// Returns the padded arguments of a block to their original positions, once
  /// nothing uses the old ones.
  void takeArguments(mlir::Block &block, unsigned numArguments);
  /// Returns the operands for the padded op, masked where the op reduces over
  /// padding or is not defined on it.
  llvm::SmallVector<mlir::Value> maskOperands(mlir::Operation *op,
                                              const ShardingRule &rule);
  void maskUndefined(mlir::Operation *op,
                     llvm::SmallVector<mlir::Value> &operands);
  mlir::Value mask(mlir::OpBuilder &builder, mlir::Value value,
                   dist::ShardingAttr sharding, Padding padding,
                   mlir::TypedAttr element);
  mlir::Value maskNonZeros(mlir::OpBuilder &builder, mlir::Value value,
                           mlir::Value now);
  /// Records which dimensions of the results have zeros as padding.
  void trackZeros(mlir::Operation *op, const ShardingRule &rule);
  bool isZeroPadded(mlir::Value value, int64_t dim) const {
    return zeros.contains({value, dim});
  }

  mlir::FunctionOpInterface func;
  const Mesh &mesh;
  FactorSizes sizes;
  const Signatures *signatures = nullptr;
  /// The padded values, keyed by original values; never iterated.
  llvm::DenseMap<mlir::Value, mlir::Value> padded;
  /// Ops replaced by padded clones, in order; and the blocks with padded
  /// arguments after the original ones, with the number of the latter.
  llvm::SmallVector<mlir::Operation *> replaced;
  llvm::SmallVector<std::pair<mlir::Block *, unsigned>> blocks;
  /// Values in other sizes, in a block.
  llvm::DenseMap<std::tuple<mlir::Value, mlir::Type, mlir::Block *>,
                 mlir::Value>
      resized;
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> zeros;
  int64_t trueElements = 0, allElements = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_PADDER_H
