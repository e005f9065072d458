//===- DecisionFile.h - The head of a decision file -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decision file is JSON with recorded shardings. Its head says so, and names
// the strategy that the shardings are of: phase train reads no more of it.
// ShardingSearch/Decisions.h has the rest.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_DECISIONFILE_H
#define TESSERA_TRAINING_DECISIONFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Training/Strategy.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// Returns a file without decisions.
llvm::json::Object makeDecisionFile(const Strategy &strategy);

/// Fails for an object that is no decision file of this version.
llvm::Error checkDecisionFile(const llvm::json::Object &file);

/// True if a JSON object is marked as a decision file.
bool isDecisionFile(const llvm::json::Object &file);

/// Parses a decision file; fails for other texts.
llvm::Expected<llvm::json::Object> readDecisionFile(llvm::StringRef text);

/// The strategy that a decision file names: a search or a named one.
llvm::Expected<Strategy> readDecidedStrategy(llvm::StringRef text);

/// True if a search decides the shardings of a program: its `dist.decisions`
/// are of one. Reports an error for decisions that cannot be read.
mlir::FailureOr<bool> isSearched(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TRAINING_DECISIONFILE_H
