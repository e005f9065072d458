//===- OpPrices.h - Prices of ops on shards ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_OPPRICES_H
#define TESSERA_LIB_SHARDINGSEARCH_OPPRICES_H

#include "ProgramReader.h"
#include "ReshardPrices.h"
#include "mlir/IR/OwningOpRef.h"
#include "tessera/Interfaces/WorkTime.h"

namespace tessera {

/// Prices ops by their copies on the types of one device.
class OpPrices {
public:
  /// Keeps references to all arguments.
  OpPrices(mlir::ModuleOp module, const ProgramReader &program,
           ReshardPrices &reshards);

  /// Picoseconds of an op in a state; search::kInfinite if the state is
  /// impossible.
  int64_t price(unsigned op, const RunState &state);

private:
  int64_t priceTie(unsigned number, const RunState &state);
  double getElementwiseTime(unsigned op, const RunState &state) const;
  std::optional<double> getLocalTime(mlir::Operation *op,
                                     const ShardingRule &rule,
                                     const FactorAxes &axes);
  std::optional<double>
  getKernelTime(mlir::Operation *part, const ShardingRule &rule,
                const FactorAxes &axes,
                const llvm::DenseMap<mlir::Value, Sharding> &known);
  std::optional<double>
  getPartTime(mlir::Operation *part,
              llvm::DenseMap<mlir::Value, Sharding> &known);
  std::optional<double> getDecomposedTime(mlir::Operation *op,
                                          const ShardingRule &rule,
                                          const RunState &state);

  const ProgramReader &program;
  ReshardPrices &reshards;
  WorkRates rates;
  mlir::OwningOpRef<mlir::ModuleOp> scratch;
};

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_OPPRICES_H
