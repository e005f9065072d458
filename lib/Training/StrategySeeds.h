//===- StrategySeeds.h - Seed shardings of a strategy -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Training: the rule by which a strategy shards a program. It
// uses only the names of dimensions, independent of the ops.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_STRATEGYSEEDS_H
#define TESSERA_LIB_TRAINING_STRATEGYSEEDS_H

#include "dialects/Dist/Dist.h"
#include "tessera/Training/Strategy.h"

namespace tessera {

/// Writes seeds into the functions of a module.
class SeedWriter {
public:
  SeedWriter(const Strategy &strategy, const Mesh &mesh,
             mlir::FlatSymbolRefAttr symbol, bool isTrained);

  void seedFunction(mlir::FunctionOpInterface func);
  /// How attention shares the sequence, for `dist-pin-context`; null if one
  /// device has the whole sequence.
  mlir::DictionaryAttr getContext() const;
  /// The axes of the ops on experts, for `dist-pin-experts`; null without ep.
  mlir::DictionaryAttr getExperts() const;
  /// Fails if the strategy asks for a sharding that nothing in the program can
  /// have.
  llvm::Error checkFound() const;

private:
  Sharding seedInput(llvm::ArrayRef<llvm::StringRef> dims,
                     mlir::RankedTensorType type);
  Sharding seedParameter(llvm::ArrayRef<llvm::StringRef> dims,
                         mlir::RankedTensorType type);
  Sharding seedResidual(llvm::ArrayRef<llvm::StringRef> dims,
                        mlir::RankedTensorType type);
  void seedHeads(Sharding &sharding, llvm::ArrayRef<llvm::StringRef> dims,
                 mlir::RankedTensorType type) const;
  dist::ConstraintOp constrainUses(mlir::Value parameter,
                                   const Sharding &inUse);
  Sharding shardStorage(mlir::FunctionOpInterface func,
                        mlir::BlockArgument parameter, const Sharding &inUse);
  dist::ShardingAttr toAttr(const Sharding &sharding) const {
    return dist::ShardingAttr::get(symbol, mesh, sharding);
  }

  const Strategy &strategy;
  const Mesh &mesh;
  mlir::FlatSymbolRefAttr symbol;
  /// True if a training step will be built, which is sharded over dp later.
  const bool isTrained;
  const AxisList dpAxes, cpAxes, tpAxes, expertAxes;
  /// Query heads per KV head: the largest "q_per_kv" of the function.
  int64_t headsPerGroup = 1;
  bool foundBatch = false, foundTensorParallel = false, foundSequence = false,
       foundParameter = false, foundTokens = false, foundExperts = false;
};

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_STRATEGYSEEDS_H
