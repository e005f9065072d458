//===- ReferenceValues.h - What a program should compute --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers the values of a global function: values that the same op makes of the
// same values have one number. Constants are known by what they hold, whatever
// their shape. A local op is looked up by its name and the numbers of its
// operands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_REFERENCEVALUES_H
#define TESSERA_LIB_VALIDATION_REFERENCEVALUES_H

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {

/// A constant that holds one element everywhere (or is that scalar), or all of
/// whose elements are in `value`; null if `op` is neither.
struct ConstantValue {
  mlir::Attribute value;
  bool isSplat = false;
};
ConstantValue getConstantValue(mlir::Operation *op);

/// An op of the reference.
struct ReferenceOp {
  mlir::Operation *op;
  /// On global types; empty for an op on scalars alone.
  ShardingRule rule;
  llvm::SmallVector<int, 4> operands;
  llvm::SmallVector<int, 1> results;
};

/// What is known of a numbered value.
struct ReferenceValue {
  /// Of its first occurrence.
  mlir::Type type;
  mlir::Location loc;
  /// Constants only.
  ConstantValue constant;
  /// Dimensions whose size is no part of the value: nothing but the result
  /// type says where they end.
  llvm::SmallBitVector freeDims;
  /// It is 0 everywhere, or NaN, or empty: any number of times itself is
  /// itself.
  bool isZero = false;
  /// It has no elements, in any size that its free dimensions may have.
  bool isEmpty = false;
};

class ReferenceValues {
public:
  /// Numbers the values of `function`, which gets ops that a reduction of an
  /// op's own decomposes into: a copy that nobody else uses. Such ops are
  /// decomposed whose name `local` has less often, or all if it is null.
  void addFunction(mlir::FunctionOpInterface function,
                   mlir::FunctionOpInterface local);

  /// A new value, equal to no other.
  int addValue(mlir::Type type, mlir::Location loc);
  /// The number of a constant.
  int getConstant(ConstantValue constant, mlir::Type type, mlir::Location loc);
  /// Of a value of the reference.
  int lookup(mlir::Value value) const { return numbers.lookup_or(value, -1); }
  const ReferenceValue &getValue(int number) const { return values[number]; }
  /// True of what addFunction put beside the ops of the function.
  bool wasDecomposedInto(mlir::Operation *op) const {
    return !ownOps.contains(op);
  }

  /// Ops of this name on these values, in order. Operands of type index are
  /// left out of the comparison: they say where, not what.
  llvm::ArrayRef<unsigned> find(mlir::OperationName name,
                                mlir::OperandRange operands,
                                llvm::ArrayRef<int> numbers) const;
  const ReferenceOp &getOp(unsigned index) const { return ops[index]; }
  /// The op that makes a value, and as which of its results; null for a value
  /// that no op makes.
  std::pair<const ReferenceOp *, unsigned> findMaker(int value) const {
    auto it = makers.find(value);
    return it == makers.end()
               ? std::pair<const ReferenceOp *, unsigned>(nullptr, 0)
               : std::pair(&ops[it->second.first], it->second.second);
  }
  unsigned getNumOps() const { return ops.size(); }
  int getNumValues() const { return values.size(); }

  /// The constants of the reference that `op`, one that is no splat, holds with
  /// zeros after them: those with most elements first.
  llvm::SmallVector<int, 1> findPadded(mlir::Operation *op) const;

private:
  /// Puts nn.arg_reduce before each search by hand, if `local` has fewer
  /// linalg.generic.
  void raiseOps(mlir::FunctionOpInterface function,
                mlir::FunctionOpInterface local);
  void decomposeOps(mlir::FunctionOpInterface function,
                    mlir::FunctionOpInterface local);
  void decomposeOp(ShardingRuleOpInterface op);
  void addOp(mlir::Operation *op);
  void addBlock(mlir::Block &block);
  /// An equal op that is there already.
  const ReferenceOp *findEqual(const ReferenceOp &op,
                               llvm::ArrayRef<unsigned> candidates) const;
  llvm::SmallBitVector getFreeDims(const ReferenceOp &op,
                                   unsigned result) const;
  bool sumsNothing(const ReferenceOp &op) const;
  bool hasZeroResults(const ReferenceOp &op) const;

  /// The ops that the function had; only looked up.
  llvm::DenseSet<mlir::Operation *> ownOps;
  std::vector<ReferenceOp> ops;
  /// Of a value that an op makes: number of the op and of its result.
  llvm::DenseMap<int, std::pair<unsigned, unsigned>> makers;
  /// Constants that are no splats, in order.
  std::vector<mlir::Operation *> denseConstants;
  std::vector<ReferenceValue> values;
  llvm::DenseMap<mlir::Value, int> numbers;
  /// Results of ops that were decomposed and what they became; only looked up.
  llvm::DenseMap<mlir::Value, mlir::Value> decomposed;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, int> constants;
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<unsigned, 1>> byKey;
};

/// True if the properties (not the discardable attributes) are equal.
bool haveSameProperties(mlir::Operation *a, mlir::Operation *b);

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_REFERENCEVALUES_H
