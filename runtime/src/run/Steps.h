//===- Steps.h - The loop over steps ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop over steps: loading data, running the program, copying results to
// the arguments that they replace, evaluation, and the end.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STEPS_H
#define TESSERA_RT_SRC_STEPS_H

#include "Report.h"
#include "StepFacts.h"
#include "StepLog.h"
#include "StepRunner.h"
#include "checkpoint/Checkpoints.h"
#include "checkpoint/ReplicaCheck.h"
#include "data/Manifest.h"
#include "data/Tokens.h"
#include "ranks/Context.h"

#include <vector>

namespace tessera::rt {

class StepLoop {
public:
  StepLoop(tessera_rt_context *ctx, const Manifest &manifest,
           const Options &options, const RunData &data,
           Checkpoints &checkpoints);

  /// Runs the steps, or fewer if a signal asks for an end. All ranks must have
  /// filled their arguments and passed a barrier.
  Status run();

  /// Times of each step.
  const StepTimes &times() const { return stepTimes; }
  /// Stamps of the lists in the last step, on rank 0, for --trace.
  const Stamps &stamps() const { return lastStamps; }
  /// True if a signal ended the loop.
  bool isStopped() const { return stopSignal() != 0; }

private:
  /// Fills tokens and runs the program once, with a barrier of all ranks before
  /// and after.
  Status runProgram(int64_t step, const Batch &batch, bool isEvaluation,
                    double &seconds);
  /// Waits for all ranks at the end of a step, and learns its facts.
  Status exchangeFacts();
  /// A scalar result of the program's last run; NaN if there is none.
  double scalar(const char *name) const;
  /// The results of the program's last run.
  StepRecord record(int64_t step, double seconds);
  /// Refuses an invalid step, unless it changed nothing and the options allow
  /// it.
  Status judge(StepRecord &record);
  Status evaluate(int64_t step);
  /// Reports memory and the pipeline after ten steps, or the last one.
  Status summarize(int64_t step, bool isLast);
  /// Remarks if the data does not continue where the run of --inputs ended.
  void comparePosition();
  /// Compares replicas if it is time to, or before a checkpoint.
  Status checkReplicas(int64_t step, bool isLast);
  /// Shows what checkpoints have to say.
  void showRemark(int64_t step);
  /// Reports that a signal ended the loop, and sets the exit code.
  void reportStop();
  /// Does the same if no step changed anything.
  void reportUnchanged();
  int stopSignal() const;

  tessera_rt_context *ctx;
  const Manifest &manifest;
  const Options &options;
  const RunData &data;
  Checkpoints &checkpoints;
  StepRunner runner;
  StepLog log;
  ReplicaCheck replicas;
  /// The results that are read after a step.
  std::vector<ArenaBlock> scalars;
  /// Facts about the program's last run, the same on all ranks.
  StepFacts facts;
  StepTimes stepTimes;
  /// Steps that changed nothing: after an overflow of scaled gradients, and
  /// invalid ones.
  size_t numSkipped = 0, numUndone = 0;
  Stamps lastStamps;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STEPS_H
