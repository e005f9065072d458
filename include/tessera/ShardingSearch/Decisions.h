//===- Decisions.h - Recorded shardings -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decision file keeps the decisions of a search, as JSON:
//
//     {"tessera": "decisions", "version": 2, "mesh": "a=4", "strategy": "auto",
//      "us": 812.3, "us_at_least": 810.0,
//      "arguments": [{"key": "blocks.#.wq : tensor<64x64xf32>", "seen": 2,
//                     "attributes": ["<sharding>"]}, ...],
//      "ops": [{"key": "nn.einsum ([i,k],[k,j])->([i,j]) {...} : f32 of ...",
//               "seen": 4, "attributes": ["<attributes>", ...]}, ...],
//      "results": [...], "sums": [...]}
//
// Sums are results of dist.accumulate. If a named strategy won, the file has
// its name, without times, and the shardings that propagation gives the program
// under it.
//
// Keys contain no numbers of layers or values: things that occur several times
// have one entry, with one decision for all, or one for each in order. The
// decisions fit a program with more equal layers, but not one with other
// shapes.
//
// The attribute `dist.decisions` of a module is the text of such a file. Phase
// propagate takes it, since the training step has ops that the program before
// it has not.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGSEARCH_DECISIONS_H
#define TESSERA_SHARDINGSEARCH_DECISIONS_H

#include "tessera/ShardingSearch/ShardingSearch.h"
#include "tessera/Training/DecisionFile.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

/// Writes the decisions of the seeds that applyShardings() set in a module.
void printDecisions(mlir::ModuleOp module, const FoundShardings &found,
                    llvm::raw_ostream &os);

/// Writes the shardings that a named strategy gave a module, after
/// propagateShardings() with `keepsCopies`.
void printDecisions(mlir::ModuleOp module, const Strategy &strategy,
                    llvm::raw_ostream &os);

/// Gives a module the seeds from a decision file. Reports an error at the op,
/// argument or mesh that does not match the file; if `isPartial`, anything
/// absent from the file gets no seed.
mlir::LogicalResult replayDecisions(mlir::ModuleOp module, llvm::StringRef text,
                                    bool isPartial = false);

/// Prints the differences of two decision files: mesh, strategy, time, and for
/// each key its decisions in both. Fails if one is not a decision file.
llvm::Error compareDecisions(const llvm::json::Object &first,
                             const llvm::json::Object &second,
                             llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_SHARDINGSEARCH_DECISIONS_H
