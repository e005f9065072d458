//===- DimClasses.h - Classes of equal dimensions ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_NAMING_DIMCLASSES_H
#define TESSERA_LIB_NAMING_DIMCLASSES_H

#include "tessera/Interfaces/ShardingRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/IntEqClasses.h"

namespace tessera {

/// The classes of the dimensions of a function's tensors, and their names. Two
/// dimensions with the same major factor in the sharding rule of an op are of
/// one class. A value that follows from constants alone ties nothing: ops that
/// share it are apart, as if each had a copy.
class DimClasses {
public:
  explicit DimClasses(mlir::func::FuncOp function);

  /// Returns the class of a dimension of a ranked tensor of the function.
  unsigned classOf(mlir::Value value, int64_t dim) const {
    return classes[first.lookup(value) + dim];
  }
  /// Names a class, unless it has a name.
  void name(unsigned number, llvm::StringRef name) {
    names.try_emplace(number, name);
  }
  void name(mlir::Value value, int64_t dim, llvm::StringRef word) {
    name(classOf(value, dim), word);
  }
  /// Returns the name of a class; empty if it has none.
  llvm::StringRef getName(unsigned number) const {
    return names.lookup(number);
  }
  llvm::StringRef getName(mlir::Value value, int64_t dim) const {
    return getName(classOf(value, dim));
  }
  /// Whether a value follows from constants alone.
  bool isConstant(mlir::Value value) const { return constants.contains(value); }

private:
  void add(mlir::Value value);
  void join(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, unsigned> first;
  unsigned count = 0;
  llvm::DenseSet<mlir::Value> constants;
  llvm::IntEqClasses classes;
  llvm::DenseMap<unsigned, llvm::StringRef> names;
};

/// Returns the major factor of a dimension that has factors: the first of a
/// size above 1, else the first.
unsigned getMajorFactor(const ShardingRule &rule, const DimFactors &factors);

/// Returns the type of a ranked tensor; null for any other value.
inline mlir::RankedTensorType findTensorType(mlir::Value value) {
  return mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
}

} // namespace tessera

#endif // TESSERA_LIB_NAMING_DIMCLASSES_H
