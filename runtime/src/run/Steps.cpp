//===- Steps.cpp - The loop over steps ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Steps.h. All ranks have the same facts about a step after the barrier at
// its end. So all reach the same decision without another message.
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "data/Arguments.h"
#include "nodes/Mirror.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>

using namespace tessera::rt;

/// Steps after which planned and measured memory are compared. Later ones touch
/// no new memory.
static constexpr int64_t summarySteps = 10;

StepLoop::StepLoop(tessera_rt_context *ctx, const Manifest &manifest,
                   const Options &options, const RunData &data,
                   Checkpoints &checkpoints)
    : ctx(ctx), manifest(manifest), options(options), data(data),
      checkpoints(checkpoints), runner(ctx, manifest),
      log(ctx, manifest, options), replicas(ctx, manifest) {
  for (size_t i = 0; i < numStepScalars; ++i)
    if (const Value *value = manifest.findScalar(stepScalars[i]);
        value && value->isOn(ctx->rank))
      scalars.push_back(value->blockOn(ctx->rank));
}

int StepLoop::stopSignal() const {
  return ctx->memory.control->stopDecided.load();
}

Status StepLoop::exchangeFacts() {
  bool isAcross = ctx->memory.place.isAcrossNodes();
  if (Status status = shareLoads(ctx))
    return status;
  StepExchange exchange = [&](StepFacts &own) {
    own = collectStepFacts(ctx, manifest);
  };
  if (Status status = barrier(ctx, BarrierStep, &exchange))
    return status;
  facts = isAcross ? ctx->memory.control->node.facts.step
                   : collectStepFacts(ctx, manifest);
  return TESSERA_RT_OK;
}

double StepLoop::scalar(const char *name) const {
  return getScalar(manifest, facts, name);
}

Status StepLoop::runProgram(int64_t step, const Batch &batch, bool isEvaluation,
                            double &seconds) {
  double reading = monotonicSeconds();
  if (batch.source.isOpen())
    if (Status status = fillTokens(ctx, manifest, data.inputs, batch))
      return status;
  if (Status status = runner.run(step, scalars))
    return status;
  RankNumbers &numbers = ctx->block().numbers;
  if (!isEvaluation)
    checkpoints.times().data += numbers.stepBegan - reading;
  if (step > 1 && !isEvaluation)
    numbers.allBusySeconds += numbers.busySeconds;
  numbers.cpuSeconds += numbers.stepCpuSeconds;
  ctx->target->measure(numbers.memory, manifest,
                       /*withArena=*/step <= summarySteps);
  if (ctx->rank == 0) {
    ControlBlock &control = *ctx->memory.control;
    control.stopDecided.store(control.stopSignal.load());
    if (!isEvaluation)
      checkpoints.decide(step);
  }
  if (Status status = exchangeFacts())
    return status;
  seconds = monotonicSeconds() - numbers.stepBegan;
  ctx->timeout = options.timeouts.step;
  return TESSERA_RT_OK;
}

StepRecord StepLoop::record(int64_t step, double seconds) {
  StepRecord r;
  r.step = data.numberBefore + step;
  r.seconds = seconds;
  if (options.rehearsal.isAsked)
    return r;
  r.hasLoss = manifest.isTraining() && manifest.findScalar("loss");
  r.hasGradNorm = manifest.findScalar("grad_norm");
  r.loss = scalar("loss");
  r.auxLoss = scalar("aux_loss");
  r.gradNorm = scalar("grad_norm");
  r.lr = scalar("lr");
  r.tokens = scalar("num_labels");
  r.isSkipped = scalar("skipped") == 1;
  r.scalesLoss = manifest.scalesLoss();
  int64_t tokens = data.shape.rows * data.shape.length;
  r.tokensPerSecond = double(tokens) / seconds;
  if (double best = ctx->target->secondsAtPeak())
    r.mfu = best / seconds;
  r.dataPosition = data.position(step);
  ExpertUses uses = countExpertUses(ctx, tokens);
  r.expertLoads = std::move(uses.loads);
  r.dropped = uses.dropped;
  r.overflow = facts.overflow;
  r.memoryBytes = facts.memoryBytes;
  r.slowestRank = int(facts.slowestRank);
  return r;
}

/// Returns the end of the error that refuses an invalid step.
static const char *adviceFor(const StepRecord &r, const Options &options) {
  if (r.isSkipped)
    return r.overflow.empty() ? "; --on-nan=skip would go on without this step"
                              : "; nothing has changed in this step";
  return options.onNan == Options::Skip
             ? "; --on-nan=skip cannot go on, as the step has changed its state"
             : "";
}

Status StepLoop::judge(StepRecord &r) {
  if (r.isValid() || !manifest.isTraining()) {
    numSkipped += r.isSkipped;
    log.step(r);
    return TESSERA_RT_OK;
  }
  std::string fault =
      format("step %lld: %s", (long long)r.step, r.describeFault().c_str());
  if (options.onNan == Options::Skip && r.isSkipped) {
    r.isUndone = true;
    ++numUndone;
    log.step(r);
    log.remark(r.step, r.describeFault() +
                           "; parameters and state are as before the step");
    return TESSERA_RT_OK;
  }
  log.step(r);
  // Rank 0 reports it; the others learn of it at the barrier.
  if (ctx->rank != 0)
    return barrier(ctx, BarrierEnd);
  return fail(ctx, TESSERA_RT_INVALID, fault + adviceFor(r, options));
}

/// Computes the loss of the current parameters over held-out batches. It runs
/// the training step under limits that keep it from changing anything.
Status StepLoop::evaluate(int64_t step) {
  const TokenSource &source =
      data.evaluation.isOpen() ? data.evaluation : data.source;
  double begin = monotonicSeconds(), sum = 0, weights = 0;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (Status status = setLimits(ctx, manifest, -infinity))
    return status;
  for (int64_t i = 0; i < options.evalBatches; ++i) {
    double seconds;
    Batch batch{source, i * data.shape.rows,
                /*isHeldOut=*/!data.evaluation.isOpen()};
    if (Status status =
            runProgram(step + 1, batch, /*isEvaluation=*/true, seconds))
      return status;
    double weight = scalar("num_labels");
    weight = weight > 0 ? weight : 1;
    sum += weight * scalar("loss");
    weights += weight;
  }
  if (Status status = setLimits(ctx, manifest, infinity))
    return status;
  checkpoints.times().evaluation += monotonicSeconds() - begin;
  log.evaluation(data.numberBefore + step, sum / weights, options.evalBatches,
                 monotonicSeconds() - begin);
  return TESSERA_RT_OK;
}

void StepLoop::comparePosition() {
  const SavedState *before = data.inputs.state();
  if (!before || !manifest.isTraining() || !data.source.isOpen() ||
      before->data != describeData(options) ||
      before->dataPosition == data.beginPosition)
    return;
  log.remark(0, format("the state of --inputs goes on with sequence %lld of "
                       "the data, but this run begins with %lld: see "
                       "--data-position",
                       (long long)before->dataPosition,
                       (long long)data.beginPosition));
}

Status StepLoop::checkReplicas(int64_t step, bool isLast) {
  int64_t every = options.checkReplicas, number = data.numberBefore + step;
  bool isDue = every && (number % every == 0 || checkpoints.beginsAfter(step) ||
                         (isLast && !options.checkpoint.empty()));
  if (!isDue)
    return TESSERA_RT_OK;
  return replicas.run(number);
}

void StepLoop::showRemark(int64_t step) {
  std::string remark = checkpoints.takeRemark();
  if (!remark.empty())
    log.remark(data.numberBefore + step, remark);
}

void StepLoop::reportStop() {
  int signal = stopSignal();
  if (!signal || ctx->rank != 0)
    return;
  if (!options.quiet)
    fprintf(stderr, "stopped by SIG%s after step %zu of %lld\n",
            sigabbrev_np(signal), stepTimes.seconds.size(),
            (long long)options.steps);
  if (int64_t(stepTimes.seconds.size()) == options.steps)
    return;
  // A user who stops a run keeps its results, so the run succeeds. A scheduler
  // that preempts the run must see that it has to be continued, so the run
  // exits with the code of a process that SIGTERM ended.
  bool isByHand = signal == SIGINT && !stepTimes.seconds.empty();
  ctx->memory.control->exitCode.store(
      isByHand ? 0 : 128 + (signal == SIGINT ? SIGINT : SIGTERM));
}

void StepLoop::reportUnchanged() {
  constexpr int32_t nothingLearned = 3;
  size_t steps = stepTimes.seconds.size();
  if (ctx->rank != 0 || steps == 0 || numSkipped + numUndone < steps)
    return;
  fprintf(stderr,
          "tessera: error: expects a step that changes parameters, but of %zu "
          "steps %zu were skipped because their gradients overflow, and %zu "
          "undone because loss or gradient norm were not finite\n",
          steps, numSkipped, numUndone);
  int32_t none = 0;
  ctx->memory.control->exitCode.compare_exchange_strong(none, nothingLearned);
}

Status StepLoop::summarize(int64_t step, bool isLast) {
  bool isDue = step == summarySteps || (isLast && step < summarySteps);
  bool isTraced = isLast && !options.trace.empty();
  if ((isDue || isTraced) && ctx->mirror) {
    if (Status status = shareNumbers(ctx))
      return status;
    if (Status status = barrier(ctx, BarrierStep))
      return status;
  }
  if (ctx->rank != 0)
    return TESSERA_RT_OK;
  if (isDue && manifest.isTraining() && !options.rehearsal.isAsked)
    log.memory(step);
  if (isDue && manifest.pipeline.stages > 0)
    log.pipeline(step, reportPipeline(collectStamps(ctx), manifest,
                                      options.rehearsal.link));
  if (isTraced)
    lastStamps = collectStamps(ctx);
  return TESSERA_RT_OK;
}

Status StepLoop::run() {
  log.plan();
  for (const std::string &note : data.weights.remarks())
    log.remark(0, note);
  comparePosition();
  showRemark(0);
  if (options.checkReplicas)
    log.remark(data.numberBefore, replicas.describe());
  int64_t steps = options.steps - data.numberBefore;
  if (steps == 0 && data.numberBefore > 0 && ctx->rank == 0 && !options.quiet)
    fprintf(stderr,
            "step %lld is reached: --steps with a higher number goes on\n",
            (long long)options.steps);
  bool isEvaluated =
      options.evalEvery && data.numberBefore % options.evalEvery == 0;
  if (isEvaluated && steps > 0 && !stopSignal())
    if (Status status = evaluate(0))
      return status;
  for (int64_t step = 1; step <= steps && !stopSignal(); ++step) {
    int64_t first = data.position(step - 1);
    if (data.source.wrapsIn(first))
      log.remark(step,
                 format("all %lld sequences of '%s' have been read; the first "
                        "follows again",
                        (long long)data.source.training(),
                        data.source.name().c_str()));
    double seconds;
    if (Status status = runProgram(step, {data.source, first},
                                   /*isEvaluation=*/false, seconds))
      return status;
    stepTimes.seconds.push_back(seconds);
    stepTimes.cpuSeconds.push_back(facts.cpuSeconds);
    StepRecord result = record(step, seconds);
    if (Status status = judge(result))
      return status;
    if (Status status = checkReplicas(step, step == steps || stopSignal()))
      return status;
    if (Status status = checkpoints.afterStep(step))
      return status;
    showRemark(step);
    bool isLast = step == steps || stopSignal();
    if (Status status = summarize(step, isLast))
      return status;
    if (options.evalEvery && !stopSignal() &&
        ((data.numberBefore + step) % options.evalEvery == 0 || isLast))
      if (Status status = evaluate(step))
        return status;
  }
  if (Status status = checkpoints.finish(int64_t(stepTimes.seconds.size())))
    return status;
  showRemark(int64_t(stepTimes.seconds.size()));
  reportStop();
  reportUnchanged();
  return TESSERA_RT_OK;
}
