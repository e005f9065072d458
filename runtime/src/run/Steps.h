//===- Steps.h - Steps in a row ---------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop over steps: data in, the program, results back to the arguments that
// they follow, evaluation, and the end.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STEPS_H
#define TESSERA_RT_SRC_STEPS_H

#include "Report.h"
#include "StepLog.h"
#include "data/Manifest.h"
#include "data/Saving.h"
#include "data/Tokens.h"
#include "ranks/Context.h"

#include <vector>

namespace tessera::rt {

class StepLoop {
public:
  StepLoop(tessera_rt_context *ctx, const Manifest &manifest,
           const Options &options, const RunData &data, Saver &saver);

  /// Runs the steps, or fewer where a signal asks for an end. All ranks must
  /// have filled their arguments and met.
  Status run();

  /// What each step took.
  const StepTimes &times() const { return stepTimes; }
  /// What the lists did in the last step, on rank 0, for --trace.
  const Stamps &stamps() const { return lastStamps; }
  /// Whether a signal ended it.
  bool isStopped() const { return stopSignal() != 0; }

private:
  /// Fills tokens and runs the program once, with a meeting of all ranks before
  /// and after.
  Status runProgram(int64_t step, const Batch &batch, double &seconds);
  /// The results of the program's last run.
  StepRecord record(int64_t step, double seconds);
  /// Undoes or refuses a step that is not valid.
  Status judge(StepRecord &record);
  Status evaluate(int64_t step);
  /// What there is to say after ten steps, or the last.
  void summarize(int64_t step, bool isLast);
  /// Moves results to the arguments that they follow, where they are elsewhere.
  Status returnResults();
  /// Remarks on data that does not go on where that of --inputs ended.
  void comparePosition();
  /// Says so, and leaves the exit code, where a signal ended the loop.
  void reportStop();
  /// The same where no step changed anything.
  void reportUnchanged();
  int stopSignal() const;

  tessera_rt_context *ctx;
  const Manifest &manifest;
  const Options &options;
  const RunData &data;
  Saver &saver;
  StepLog log;
  /// The arguments that a step changes, and the results that are read after it.
  std::vector<ArenaBlock> changed, scalars;
  StepTimes stepTimes;
  /// Steps that changed nothing: skipped by the program, or undone.
  size_t numSkipped = 0, numUndone = 0;
  Stamps lastStamps;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STEPS_H
