//===- ExpectedOps.h - Ops of the reference on a shard --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A local op is compared with a copy of an op of the reference. Methods of the
// op's own interface tell this copy where a device's shard begins and how much
// of it is true data. Properties, operands, and bodies are compared.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_EXPECTEDOPS_H
#define TESSERA_LIB_PROOF_EXPECTEDOPS_H

#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "llvm/ADT/SmallBitVector.h"
#include <map>

namespace tessera {

/// A copy of an op that was told offsets and padding.
struct ExpectedOp {
  mlir::Operation *op;
  ShardingRule rule;
  /// Per factor: the value that represents the position of the first element;
  /// null for a factor without one.
  llvm::SmallVector<mlir::Value, 4> tokens;
  /// The factors whose padding the op could be told.
  llvm::SmallBitVector absorbed;
};

class ExpectedOps {
public:
  explicit ExpectedOps(mlir::MLIRContext *context) : context(context) {}
  ~ExpectedOps();

  /// A copy of `op` that is told the padding of `padded` where possible, with
  /// an offset for each factor of `positioned`.
  const ExpectedOp &get(mlir::Operation *op, const ShardingRule &rule,
                        const llvm::SmallBitVector &padded,
                        const llvm::SmallBitVector &positioned);
  /// True if `value` occurs only in copies.
  bool owns(mlir::Value value) { return value.getParentBlock() == &block; }

  /// Whether `local` has the properties of `expected`, up to shapes. Their
  /// operands are in the same order.
  bool hasPropertiesOf(mlir::Operation *local, mlir::Operation *expected);

private:
  mlir::MLIRContext *context;
  mlir::Block block;
  using Key =
      std::tuple<mlir::Operation *, std::vector<bool>, std::vector<bool>>;
  std::map<Key, ExpectedOp> made;
};

/// Compares two bodies op by op, in order. `sameOutside` compares two values
/// from outside the bodies. Skips ops of `expected` for which `isLeftOut`
/// holds.
bool isSameRegion(
    mlir::Region &local, mlir::Region &expected,
    llvm::function_ref<bool(mlir::Value, mlir::Value)> sameOutside,
    llvm::function_ref<bool(mlir::Operation *)> isLeftOut = nullptr);

} // namespace tessera

#endif // TESSERA_LIB_PROOF_EXPECTEDOPS_H
