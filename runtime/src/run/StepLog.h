//===- StepLog.h - Lines about steps ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages of a run: the plan, a line per step, evaluations, remarks. They are
// text in columns, or JSON with one object per line. Only rank 0 prints.
//
// Text lines of a training step go to standard output. The lines of a forward
// program, which has no numbers to show, go to standard error. JSON goes to
// standard output. An object has "event": "step", "eval", "memory", "pipeline"
// or "remark".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STEPLOG_H
#define TESSERA_RT_SRC_STEPLOG_H

#include "PipelineReport.h"
#include "Report.h"

#include <cmath>
#include <utility>
#include <vector>

namespace tessera::rt {

/// Numbers of a step. A number that the program does not give is NaN.
struct StepRecord {
  /// Number of the step, counted from 1.
  int64_t step = 0;
  double loss = std::nan(""), gradNorm = std::nan(""), lr = std::nan("");
  /// The losses of routers, which are trained beside `loss`.
  double auxLoss = std::nan("");
  /// Label tokens in the loss.
  double tokens = std::nan("");
  bool hasLoss = false, hasGradNorm = false;
  /// True if the program scales its loss: gradients may overflow at times.
  bool scalesLoss = false;
  /// The step changed nothing; it counts as not done, as --on-nan=skip asks.
  bool isSkipped = false, isUndone = false;
  double seconds = 0;
  /// Tokens of the batch per second; 0: there are none.
  double tokensPerSecond = 0;
  /// Fraction of the device's peak that the step's matmuls and attention
  /// reached; NaN: the peak is not known.
  double mfu = std::nan("");
  /// Largest resident size of any rank.
  int64_t memoryBytes = 0;
  /// The rank that waited least for others.
  int slowestRank = 0;
  /// Uses of each expert, by layer of experts; empty without them.
  std::vector<std::vector<int64_t>> expertLoads;
  /// Choices of all layers that no expert took, beyond its capacity.
  int64_t dropped = 0;
  /// Describes experts with too little room for their rows; empty if none has.
  std::string overflow;
  /// Sequences read so far, including the position at which the data begins.
  int64_t dataPosition = 0;

  /// The loads of the most and the least used expert of all layers, over an
  /// even one; NaN without experts.
  std::pair<double, double> loadRange() const;

  /// True if loss and norm are usable.
  bool isValid() const;
  /// Describes an invalid number: "the loss is nan".
  std::string describeFault() const;
};

class StepLog {
public:
  StepLog(tessera_rt_context *ctx, const Manifest &manifest,
          const Options &options);

  void plan();
  void step(const StepRecord &record);
  void evaluation(int64_t step, double loss, int64_t batches, double seconds);
  /// Compares planned with measured memory.
  void memory(int64_t steps);
  /// Compares the predicted with the measured bubble.
  void pipeline(int64_t steps, const PipelineReport &report);
  void remark(int64_t step, const std::string &text);

private:
  bool speaks() const { return isFirst && !options.quiet; }
  bool isJson() const { return options.log == Options::JsonLog; }

  tessera_rt_context *ctx;
  const Manifest &manifest;
  const Options &options;
  bool isFirst, isTraining, hasHeader = false;
  /// Stream for text lines.
  FILE *out;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STEPLOG_H
