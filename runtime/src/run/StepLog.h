//===- StepLog.h - Lines about steps ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a run says while it runs: the plan, a line per step, evaluations,
// remarks. For readers, in columns; or as JSON, an object a line. Only rank 0
// speaks.
//
// Lines of a training step for readers go to standard output, those of a
// forward program, which has no numbers to show, to standard error. JSON goes
// to standard output. An object has "event": "step", "eval", "memory",
// "pipeline" or "remark".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STEPLOG_H
#define TESSERA_RT_SRC_STEPLOG_H

#include "PipelineReport.h"
#include "Report.h"

#include <cmath>

namespace tessera::rt {

/// What a step gave. Numbers that a program does not give are NaN.
struct StepRecord {
  /// Counted from 1.
  int64_t step = 0;
  double loss = std::nan(""), gradNorm = std::nan(""), lr = std::nan("");
  /// Label tokens that counted.
  double tokens = std::nan("");
  bool hasLoss = false, hasGradNorm = false;
  /// The step changed nothing: by itself, and because it was undone.
  bool isSkipped = false, isUndone = false;
  double seconds = 0;
  /// Tokens of the batch per second; 0: there are none.
  double tokensPerSecond = 0;
  /// The part of the device's peak that the step's matmuls and attention got;
  /// NaN: the peak is not known.
  double mfu = std::nan("");
  /// Largest resident size of a rank.
  int64_t memoryBytes = 0;
  /// The rank that waited least for others.
  int slowestRank = 0;
  /// Sequences read so far, where the data begins included.
  int64_t dataPosition = 0;

  /// Whether loss and norm can be used.
  bool isValid() const;
  /// "the loss is nan"
  std::string describeFault() const;
};

class StepLog {
public:
  StepLog(tessera_rt_context *ctx, const Manifest &manifest,
          const Options &options);

  void plan();
  void step(const StepRecord &record);
  void evaluation(int64_t step, double loss, int64_t batches, double seconds);
  /// Planned against measured memory.
  void memory(int64_t steps);
  /// Predicted against measured bubble.
  void pipeline(int64_t steps, const PipelineReport &report);
  void remark(int64_t step, const std::string &text);

private:
  bool speaks() const { return isFirst && !options.quiet; }
  bool isJson() const { return options.log == Options::JsonLog; }

  tessera_rt_context *ctx;
  const Manifest &manifest;
  const Options &options;
  bool isFirst, isTraining, hasHeader = false;
  /// Where lines for readers go.
  FILE *out;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STEPLOG_H
