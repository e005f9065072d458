//===- AutoSharding.h - The choice of --strategy auto -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides between searched shardings and named strategies by their scheduled
// programs. The choice is IR: the program of phase plan.
//
//     input --> chooseShardings --> dist.mesh, #dist.plan, and
//                                     a named strategy won: its seeds
//                                     the search won: dist.decisions
//
// The later phases read the module alone, so a program that is printed after
// phase plan compiles to the same executable.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_AUTOSHARDING_AUTOSHARDING_H
#define TESSERA_AUTOSHARDING_AUTOSHARDING_H

#include "tessera/Phases/Phases.h"
#include "tessera/ShardingSearch/ShardingSearch.h"

namespace tessera {

/// The options of a choice, in addition to the phases'.
struct AutoShardingOptions {
  ShardingSearchOptions search;
  /// Number of devices of the phases' cluster to choose a mesh for; 0: the mesh
  /// is given.
  int64_t ranks = 0;
  /// Limit of a device's arena, in bytes; 0: no limit.
  int64_t memoryLimit = 0;
  /// The text of a decision file that replaces a search, and the path to write
  /// decisions to; empty: none.
  std::string decisions, decisionsOut;
  /// Searches what `decisions` does not contain.
  bool updatesDecisions = false;
  /// Number of candidates that will be measured; 0: the model chooses.
  unsigned numMeasured = 0;
};

/// Shardings of a program, and the time of their scheduled program.
struct ShardingChoice {
  /// The chosen mesh, if the mesh is searched too.
  std::optional<Mesh> mesh;
  /// A named strategy, or a searched one.
  Strategy strategy;
  /// The found shardings; no solution for a named strategy.
  FoundShardings found;
  /// The text of a decision file with the shardings; empty: they follow from
  /// the seeds of the strategy.
  std::string decisions;
  /// Seconds and bytes of the scheduled program.
  double seconds = 0;
  int64_t arenaBytes = 0;
  /// Seconds and bytes follow from programs of few of the model's equal blocks.
  bool isEstimated = false;
  /// Number of candidates that completed the phases.
  unsigned tried = 0;
};

/// Parses a positive number of bytes, such as 450MB, with units of 10^3, 10^6
/// and 10^9. Errors name the option `name`.
llvm::Expected<int64_t> parseMemoryLimit(llvm::StringRef name,
                                         llvm::StringRef text);

/// Describes the choice in one line without a newline: "the search on
/// dp=2,tp=2", or the strategy.
std::string describeChoice(const ShardingChoice &choice);

/// Prints one line: the source of the shardings, their time, and the bound of
/// the search.
void printChoice(const ShardingChoice &choice, llvm::raw_ostream &os);

/// Returns the best shardings for a module at phase input, the fastest first:
/// as many as will be measured, or one. The strategy of `phases` is searched.
/// Reports an error if nothing is within the limit.
mlir::FailureOr<std::vector<ShardingChoice>>
findShardings(mlir::ModuleOp module, const PipelineOptions &phases,
              const AutoShardingOptions &options);

/// Writes shardings into the module, which is at phase plan then, and records
/// them in the file of the options.
mlir::LogicalResult takeShardings(mlir::ModuleOp module,
                                  const ShardingChoice &choice,
                                  const PipelineOptions &phases,
                                  const AutoShardingOptions &options);

/// Brings a module from phase input to phase plan with the shardings that the
/// model predicts to be the fastest, and returns them.
mlir::FailureOr<ShardingChoice>
chooseShardings(mlir::ModuleOp module, const PipelineOptions &phases,
                const AutoShardingOptions &options);

/// Creates the pass that does so, phase plan of a searched strategy.
std::unique_ptr<mlir::Pass>
createChooseShardingsPass(const PipelineOptions &phases,
                          const AutoShardingOptions &options);

} // namespace tessera

#endif // TESSERA_AUTOSHARDING_AUTOSHARDING_H
