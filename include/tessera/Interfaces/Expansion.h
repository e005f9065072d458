//===- Expansion.h - Foreign ops and their meanings -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A foreign op belongs to a dialect that Tessera neither defines nor models.
// Its sharding rule says how it may be partitioned; its meaning, upstream's
// linalg::AggregatedOpInterface, says what it computes, as ops of arith, math,
// tensor, linalg and nn, or as foreign ops that have a meaning. An op that has
// one can be proven, differentiated, interpreted and compiled.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_EXPANSION_H
#define TESSERA_INTERFACES_EXPANSION_H

#include "mlir/IR/DialectInterface.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"

namespace tessera {

/// Marks a dialect whose ops Tessera defines or models: their rules and
/// meanings are its own.
class ModelledDialect : public mlir::DialectInterface::Base<ModelledDialect> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ModelledDialect)
  explicit ModelledDialect(mlir::Dialect *dialect) : Base(dialect) {}
};

/// True for an op of another dialect than Tessera's and those that it models.
bool isForeign(mlir::Operation *op);

/// True for a foreign op that says what it computes.
bool hasMeaning(mlir::Operation *op);

/// Writes what `op` computes before it and returns the values that replace its
/// results; the caller replaces and erases it. Reports a meaning that fails, or
/// gives values of other types or another number, as an error at `op`. Expects
/// an op that has a meaning.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> expand(mlir::Operation *op);

/// Called before an op is replaced by `values`, which it may exchange; `made`
/// are the ops of its meaning, in order.
using OnExpansion = llvm::function_ref<void(
    mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> made,
    llvm::MutableArrayRef<mlir::Value> values)>;

/// Replaces each op below `root` that has a meaning and passes `filter` by its
/// meaning, and so the ops of meanings. Reports a meaning that has its own op
/// in it, also through others.
mlir::LogicalResult
expandOps(mlir::Operation *root,
          llvm::function_ref<bool(mlir::Operation *)> filter,
          OnExpansion onExpansion = nullptr);

/// Decomposes an op by its rule, or else by its meaning, see
/// ShardingRuleOpInterface::decompose().
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
decompose(ShardingRuleOpInterface op, mlir::OpBuilder &builder,
          const llvm::SmallBitVector &factors);

} // namespace tessera

#endif // TESSERA_INTERFACES_EXPANSION_H
