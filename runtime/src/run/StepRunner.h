//===- StepRunner.h - One run of a program's step ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STEPRUNNER_H
#define TESSERA_RT_SRC_STEPRUNNER_H

#include "data/Manifest.h"
#include "ranks/Context.h"

#include <vector>

namespace tessera::rt {

/// Runs the step of a program on all ranks.
class StepRunner {
public:
  StepRunner(tessera_rt_context *ctx, const Manifest &manifest)
      : ctx(ctx), manifest(manifest) {}

  /// Waits until all ranks have filled their arguments, runs step number
  /// `step`, moves results to the arguments that they replace, and makes the
  /// blocks `results` readable in this rank's host arena. Other ranks may still
  /// be in the step when it returns. Sets the times of the step in RankNumbers.
  Status run(int64_t step, const std::vector<ArenaBlock> &results);

private:
  /// Copies results to the arguments that they replace, if their memory
  /// differs.
  Status returnResults();

  tessera_rt_context *ctx;
  const Manifest &manifest;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STEPRUNNER_H
