//===- Passes.h - Passes that write and read sharding files -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGFILE_PASSES_H
#define TESSERA_SHARDINGFILE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tessera/ShardingFile/ShardingFile.h"
#include "llvm/ADT/StringSet.h"
#include <memory>

namespace tessera {

/// A file to be written, and what passes keep for it until propagation is done.
struct ShardingRecord {
  std::string path;
  /// The strategy whose seeds the program has; none: unknown.
  std::optional<Strategy> strategy;
  /// The program's dist.decisions.
  std::string decisions;
  /// Names of parameters and inputs that have a seed.
  llvm::StringSet<> seeded;
};

/// Creates the pass of phase plan that notes the strategy.
std::unique_ptr<mlir::Pass>
createKeepStrategyPass(std::shared_ptr<ShardingRecord> record,
                       const Strategy &strategy);

/// Creates the pass before propagation that notes seeds and decisions.
std::unique_ptr<mlir::Pass>
createKeepSeedsPass(std::shared_ptr<ShardingRecord> record);

/// Creates the pass after propagation that writes the file.
std::unique_ptr<mlir::Pass>
createWriteShardingFilePass(std::shared_ptr<ShardingRecord> record);

/// Creates the pass of phase plan that seeds parameters and inputs as a file
/// says. Those with a sharding of their own keep it. A mesh that it makes has
/// stages on the axis "pp" if `hasStages`.
std::unique_ptr<mlir::Pass>
createSeedShardingsPass(std::shared_ptr<const GivenShardings> shardings,
                        bool hasStages);

/// Creates the pass after propagation that fails if a parameter or an input has
/// another sharding than a file says.
std::unique_ptr<mlir::Pass>
createCheckShardingsPass(std::shared_ptr<const GivenShardings> shardings);

} // namespace tessera

#endif // TESSERA_SHARDINGFILE_PASSES_H
