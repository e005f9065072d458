//===- Decisions.h - Recorded shardings -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decision file keeps what a search decided, as JSON:
//
//     {"tessera": "decisions", "version": 2, "mesh": "a=4", "strategy": "auto",
//      "us": 812.3, "us_at_least": 810.0,
//      "arguments": [{"key": "blocks.#.wq : tensor<64x64xf32>", "seen": 2,
//                     "attributes": ["<sharding>"]}, ...],
//      "ops": [{"key": "nn.einsum ([i,k],[k,j])->([i,j]) {...} : f32 of ...",
//               "seen": 4, "attributes": ["<attributes>", ...]}, ...],
//      "results": [...], "sums": [...]}
//
// Sums are results of dist.accumulate. Where a named strategy won the file has
// its name, without times, and the shardings that propagation gives the program
// under it.
//
// Keys name no numbers of layers or values: what occurs several times has one
// entry, with one decision for all, or one for each in order. A program with
// more equal layers can take it, one with other shapes cannot.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGSEARCH_DECISIONS_H
#define TESSERA_SHARDINGSEARCH_DECISIONS_H

#include "tessera/ShardingSearch/ShardingSearch.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

/// Writes what the seeds of a module say, which applyShardings() has left.
void printDecisions(mlir::ModuleOp module, const FoundShardings &found,
                    llvm::raw_ostream &os);

/// Writes the shardings of a module, which a named strategy gave it: those that
/// propagateShardings() has left, which keeps copies of constants.
void printDecisions(mlir::ModuleOp module, llvm::StringRef strategy,
                    llvm::raw_ostream &os);

/// The strategy that a decision file names; an error if it is none.
llvm::Expected<std::string> readDecidedStrategy(llvm::StringRef text);

/// Gives a module the seeds that a decision file has for it. Reports an error
/// at the op, argument or mesh that is not the one of the file; if `isPartial`,
/// what the file does not have gets none.
mlir::LogicalResult replayDecisions(mlir::ModuleOp module, llvm::StringRef text,
                                    bool isPartial = false);

/// True if a JSON object says that it is a decision file.
bool isDecisionFile(const llvm::json::Object &file);

/// Says in what two decision files differ: mesh, strategy, time, and for each
/// key its decisions in both. An error if one of them is none.
llvm::Error compareDecisions(const llvm::json::Object &first,
                             const llvm::json::Object &second,
                             llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_SHARDINGSEARCH_DECISIONS_H
