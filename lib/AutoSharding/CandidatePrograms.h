//===- CandidatePrograms.h - Programs of a choice ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_AUTOSHARDING_CANDIDATEPROGRAMS_H
#define TESSERA_LIB_AUTOSHARDING_CANDIDATEPROGRAMS_H

#include "tessera/AutoSharding/AutoSharding.h"

namespace tessera {

/// Returns the options of the phases with the mesh and strategy of a choice.
PipelineOptions getPhases(const ShardingChoice &choice, PipelineOptions phases);

/// Sets `dist.decisions`; drops them for an empty text.
void setDecisions(mlir::ModuleOp module, llvm::StringRef text);

/// Returns a copy of a module at phase input as the program whose shardings are
/// searched or propagated: the training step, if there is one.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
prepareStep(mlir::ModuleOp module, const PipelineOptions &phases);

/// Returns the text of a decision file with the shardings that propagation
/// gives the program under the named strategy of `phases`, after the decisions
/// of the text `known`, if it is not empty.
mlir::FailureOr<std::string> describeNamed(mlir::ModuleOp module,
                                           const PipelineOptions &phases,
                                           llvm::StringRef known);

} // namespace tessera

#endif // TESSERA_LIB_AUTOSHARDING_CANDIDATEPROGRAMS_H
