//===- ExpectedOps.h - What an op of the reference looks like in part -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A local op is held against a copy of an op of the reference that was told, by
// the methods of its own interface, where a device's part begins and how much
// of it is no padding. What is compared: properties, operands, and bodies.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_EXPECTEDOPS_H
#define TESSERA_LIB_VALIDATION_EXPECTEDOPS_H

#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "llvm/ADT/SmallBitVector.h"
#include <map>

namespace tessera {

/// A copy of an op that knows of offsets and padding.
struct ExpectedOp {
  mlir::Operation *op;
  ShardingRule rule;
  /// By factor: the value that stands for the position of the first element;
  /// null for a factor without one.
  llvm::SmallVector<mlir::Value, 4> tokens;
  /// The factors of whose padding the op could be told.
  llvm::SmallBitVector absorbed;
};

class ExpectedOps {
public:
  explicit ExpectedOps(mlir::MLIRContext *context) : context(context) {}
  ~ExpectedOps();

  /// `op` told of the padding of `padded`, where it can be, with an offset for
  /// each factor of `positioned`.
  const ExpectedOp &get(mlir::Operation *op, const ShardingRule &rule,
                        const llvm::SmallBitVector &padded,
                        const llvm::SmallBitVector &positioned);
  /// True if `value` stands only in copies.
  bool owns(mlir::Value value) { return value.getParentBlock() == &block; }

  /// Whether `local`, whose operands are in the order of those of `expected`,
  /// has its properties, up to shapes.
  bool hasPropertiesOf(mlir::Operation *local, mlir::Operation *expected);

private:
  mlir::MLIRContext *context;
  mlir::Block block;
  using Key =
      std::tuple<mlir::Operation *, std::vector<bool>, std::vector<bool>>;
  std::map<Key, ExpectedOp> made;
};

/// Compares two bodies op by op, in order. `sameOutside` compares two values
/// from outside of them. Ops of `expected` for which `isLeftOut` holds are left
/// out.
bool isSameRegion(
    mlir::Region &local, mlir::Region &expected,
    llvm::function_ref<bool(mlir::Value, mlir::Value)> sameOutside,
    llvm::function_ref<bool(mlir::Operation *)> isLeftOut = nullptr);

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_EXPECTEDOPS_H
