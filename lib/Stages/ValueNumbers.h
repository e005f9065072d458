//===- ValueNumbers.h - Which values are computed alike ---------*- C++ -*-===//
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

/// Value numbering (Cocke and Schwartz 1970): two values with one number are
/// computed by equal ops from values with equal numbers. An op with effects
/// equals no other. Changes no IR; ops that were numbered may not be erased.
class ValueNumbers {
public:
  /// Numbers what the ops of a block compute that were not numbered before;
  /// what they use from outside comes before.
  void add(mlir::Block &block);
  /// An op that was not numbered yet is to equal no other.
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
