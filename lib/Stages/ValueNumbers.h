//===- ValueNumbers.h - Value numbering of ops ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_VALUENUMBERS_H
#define TESSERA_LIB_STAGES_VALUENUMBERS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include <map>

namespace tessera {

/// Value numbering (Cocke and Schwartz 1970): two values have the same number
/// if equal ops compute them from values with equal numbers. An op with side
/// effects equals no other. Does not change IR; numbered ops must not be
/// erased.
class ValueNumbers {
public:
  /// Numbers the results of a block's ops, except those already numbered.
  /// Values from outside must be numbered before.
  void add(mlir::Block &block);
  /// Makes an op without a number differ from all others.
  void keepApart(mlir::Operation *op) { added.try_emplace(op, true); }
  unsigned get(mlir::Value value);
  /// The numbers of some values, ascending.
  llvm::SmallVector<unsigned> getSorted(mlir::ValueRange values);

private:
  void add(mlir::Operation *op);
  bool isEqual(mlir::Operation *a, mlir::Operation *b);

  /// Only looked up.
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Operation *, bool> added;
  std::map<size_t, llvm::SmallVector<mlir::Operation *, 1>> byHash;
  unsigned count = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_STAGES_VALUENUMBERS_H
