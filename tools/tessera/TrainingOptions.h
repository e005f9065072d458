//===- TrainingOptions.h - Options of training -------------------*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows that subcommands which build training steps share, made of the table
// of lib/Training.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TRAININGOPTIONS_H
#define TESSERA_TOOLS_TRAININGOPTIONS_H

#include "Options.h"
#include "tessera/Pipelines/Pipelines.h"

namespace tessera {

/// `own` with the options of training, and --forward, before its last
/// `numBehind` rows. The rows live as long as the process.
llvm::ArrayRef<OptionSpec> withTrainingOptions(llvm::ArrayRef<OptionSpec> own,
                                               size_t numBehind);

/// Reads --mesh, --strategy, --forward and the options of training.
llvm::Error readPipelineOptions(const ParsedOptions &parsed,
                                PipelineOptions &options);

} // namespace tessera

#endif // TESSERA_TOOLS_TRAININGOPTIONS_H
