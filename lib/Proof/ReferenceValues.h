//===- ReferenceValues.h - Values of the reference program ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers the values of a global function: results of the same op on the same
// values have one number. Constants are identified by their content, whatever
// their shape. A local op is looked up by its name and the numbers of its
// operands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_REFERENCEVALUES_H
#define TESSERA_LIB_PROOF_REFERENCEVALUES_H

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {

/// A splat or scalar constant, or a constant with all elements in `value`; null
/// if `op` is neither.
struct ConstantValue {
  mlir::Attribute value;
  bool isSplat = false;
};
ConstantValue getConstantValue(mlir::Operation *op);

/// An op of the reference.
struct ReferenceOp {
  mlir::Operation *op;
  /// The rule on global types; empty for an op on scalars only.
  ShardingRule rule;
  llvm::SmallVector<int, 4> operands;
  llvm::SmallVector<int, 1> results;
};

/// Facts about a numbered value.
struct ReferenceValue {
  /// The type of its first occurrence.
  mlir::Type type;
  mlir::Location loc;
  /// The content of a constant.
  ConstantValue constant;
  /// Dimensions whose size does not belong to the value: only the result type
  /// determines where they end.
  llvm::SmallBitVector freeDims;
  /// True if it is 0 everywhere, or NaN, or empty: any multiple of it equals
  /// itself.
  bool isZero = false;
  /// True if it is empty for any size of its free dimensions.
  bool isEmpty = false;
};

class ReferenceValues {
public:
  /// Numbers the values of `function`, a copy with no other user. Inserts the
  /// decompositions of ops with their own reduction: ops whose name `local` has
  /// less often, or all if `local` is null.
  void addFunction(mlir::FunctionOpInterface function,
                   mlir::FunctionOpInterface local);

  /// A new value, equal to no other.
  int addValue(mlir::Type type, mlir::Location loc);
  /// The number of a constant.
  int getConstant(ConstantValue constant, mlir::Type type, mlir::Location loc);
  /// The number of a value of the reference.
  int lookup(mlir::Value value) const { return numbers.lookup_or(value, -1); }
  const ReferenceValue &getValue(int number) const { return values[number]; }
  /// True for ops that addFunction inserted into the function.
  bool wasDecomposedInto(mlir::Operation *op) const {
    return !ownOps.contains(op);
  }

  /// Ops of this name on these values, in order. Ignores operands of type
  /// index: they are positions, not values.
  llvm::ArrayRef<unsigned> find(mlir::OperationName name,
                                mlir::OperandRange operands,
                                llvm::ArrayRef<int> numbers) const;
  const ReferenceOp &getOp(unsigned index) const { return ops[index]; }
  /// The op that makes a value, and the result number; null if no op makes it.
  std::pair<const ReferenceOp *, unsigned> findMaker(int value) const {
    auto it = makers.find(value);
    return it == makers.end()
               ? std::pair<const ReferenceOp *, unsigned>(nullptr, 0)
               : std::pair(&ops[it->second.first], it->second.second);
  }
  unsigned getNumOps() const { return ops.size(); }
  int getNumValues() const { return values.size(); }

  /// The constants of the reference that `op`, a non-splat constant, holds with
  /// zeros after them: the largest first.
  llvm::SmallVector<int, 1> findPadded(mlir::Operation *op) const;

private:
  /// Inserts nn.arg_reduce before each hand-written search, if `local` has
  /// fewer linalg.generic.
  void raiseOps(mlir::FunctionOpInterface function,
                mlir::FunctionOpInterface local);
  void decomposeOps(mlir::FunctionOpInterface function,
                    mlir::FunctionOpInterface local);
  void decomposeOp(ShardingRuleOpInterface op);
  void addOp(mlir::Operation *op);
  void addBlock(mlir::Block &block);
  /// An equal op among the candidates.
  const ReferenceOp *findEqual(const ReferenceOp &op,
                               llvm::ArrayRef<unsigned> candidates) const;
  llvm::SmallBitVector getFreeDims(const ReferenceOp &op,
                                   unsigned result) const;
  bool sumsNothing(const ReferenceOp &op) const;
  bool hasZeroResults(const ReferenceOp &op) const;

  /// The original ops of the function; only looked up.
  llvm::DenseSet<mlir::Operation *> ownOps;
  std::vector<ReferenceOp> ops;
  /// The op number and result number of a value that an op makes.
  llvm::DenseMap<int, std::pair<unsigned, unsigned>> makers;
  /// Constants that are not splats, in order.
  std::vector<mlir::Operation *> denseConstants;
  std::vector<ReferenceValue> values;
  llvm::DenseMap<mlir::Value, int> numbers;
  /// Results of decomposed ops and their replacements; only looked up.
  llvm::DenseMap<mlir::Value, mlir::Value> decomposed;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, int> constants;
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<unsigned, 1>> byKey;
};

/// True if the properties (not the discardable attributes) are equal.
bool haveSameProperties(mlir::Operation *a, mlir::Operation *b);

} // namespace tessera

#endif // TESSERA_LIB_PROOF_REFERENCEVALUES_H
