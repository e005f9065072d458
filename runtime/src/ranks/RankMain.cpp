//===- RankMain.cpp - The main function of every rank ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run of one rank from start to end: arguments, steps, results, report. All
// ranks synchronize between these, so a failure in one stops all.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"
#include "checkpoint/Checkpoints.h"
#include "data/Arguments.h"
#include "data/Saving.h"
#include "kernels/CpuKernels.h"
#include "nodes/Meeting.h"
#include "nodes/Mirror.h"
#include "run/MemoryUsage.h"
#include "run/Report.h"
#include "run/Serve.h"
#include "run/Steps.h"
#include "run/Trace.h"

using namespace tessera::rt;

/// Checks options against the program. Returns a message, or nothing.
static std::string checkOptions(const Manifest &manifest,
                                const Options &options, const RunData &data) {
  bool isOpen = data.source.isOpen();
  if (options.evalEvery &&
      (!manifest.isTraining() || !isOpen || !manifest.findScalar("loss")))
    return "--eval-every expects a training step with a loss, and --data or "
           "--random-data";
  bool skips = options.onNan == Options::Skip && manifest.isTraining();
  if ((options.evalEvery || skips) && !manifest.hasLimits())
    return std::string(options.evalEvery ? "--eval-every" : "--on-nan=skip") +
           " expects a training step that can leave its state as it was, with "
           "arguments of the role control and the result 'skipped': the "
           "compiler makes it of a forward function with a loss";
  if (options.steps < data.numberBefore)
    return format("--steps expects at least %lld, the step that the run has "
                  "reached, but got %lld",
                  (long long)data.numberBefore, (long long)options.steps);
  if (options.steps == 0 &&
      (!options.saveOutputs.empty() || !options.compare.empty()))
    return "--steps 0 gives no results for --save-outputs or --compare";
  return std::string();
}

/// Describes files by facts other than their names.
static std::vector<Fact> describeFiles(const RunData &data) {
  auto size = [](const TokenSource &source) {
    return std::to_string(source.fileSize());
  };
  return {{"files in --inputs", data.inputs.fingerprint()},
          {"files in --weights", data.weights.fingerprint()},
          {"bytes in --data", size(data.source)},
          {"bytes in --eval-data", size(data.evaluation)}};
}

/// Compares the options of all ranks.
static Status compareOptions(tessera_rt_context *ctx, const Options &options) {
  std::vector<Fact> facts = comparedOptions(options);
  facts.push_back({"instruction set (TESSERA_RT_ISA)", cpuKernels().name});
  return agree(ctx, facts);
}

/// Checks that each parameter has one file: a parameter that both --weights and
/// --inputs have is an error.
static std::string checkBoth(const Manifest &manifest, const RunData &data) {
  for (const Value &value : manifest.arguments)
    if (value.role == Role::Param && data.weights.find(value) &&
        !data.inputs.fileOf(value).empty())
      return "expects parameters in --weights or in --inputs, but both have '" +
             value.name + "'";
  return std::string();
}

/// Opens the data of the run. All ranks have the same data afterwards.
static Status openData(tessera_rt_context *ctx, const Manifest &manifest,
                       const Options &options, RunData &data) {
  std::string error;
  if (!options.inputs.empty())
    error = data.inputs.open(options.inputs);
  if (error.empty() && !options.weights.empty() && !data.isResumed)
    error = data.weights.open(options.weights);
  data.findPosition(options);
  if (error.empty())
    error = data.open(options, options.serve.areGiven()
                                   ? std::vector<const Value *>()
                                   : dataArguments(manifest, data.inputs));
  if (error.empty())
    error = checkOptions(manifest, options, data);
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  if (Status status = agree(ctx, describeFiles(data)))
    return status;
  if (data.weights.isOpen())
    error = data.weights.bind(manifest, options.initMissing);
  if (error.empty() && !data.isResumed)
    error = checkBoth(manifest, data);
  // All ranks read the same file, so one rank checks its ids.
  if (error.empty() && ctx->rank == 0 && data.inputs.isOpen())
    error = data.inputs.check(manifest,
                              options.initMissing || data.weights.isOpen());
  if (error.empty() && ctx->rank == 0)
    error = data.check(options, *ctx->pool);
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  // Rank 0 reports the mismatches of all files; the barrier stops the others.
  if (Status status = barrier(ctx, BarrierAgreed))
    return status;
  error = data.inputs.verify(*ctx->pool, ctx->rank, ctx->ranks);
  return error.empty() ? TESSERA_RT_OK
                       : fail(ctx, statusOfFailure(error), error);
}

/// Runs everything before the first step.
static Status prepare(tessera_rt_context *ctx, const Manifest &manifest,
                      const Options &options, RunData &data, Saver &saver,
                      Checkpoints &checkpoints, TraceFile &trace) {
  if (Status status = openNodes(ctx, options.timeouts.join))
    return status;
  ctx->block().numbers.memory.privateAtStart = privateResidentBytes();
  std::string error = ctx->target->limitMemory(manifest, options.memoryLimit);
  if (!error.empty())
    return fail(ctx, TESSERA_RT_INVALID, error);
  if (Status status = compareOptions(ctx, options))
    return status;
  if (ctx->rank == 0 && !options.trace.empty())
    error = trace.open(options.trace);
  if (!error.empty())
    return fail(ctx, TESSERA_RT_INVALID, error);
  if (Status status = checkpoints.open())
    return status;
  if (!options.rehearsal.isAsked)
    if (Status status = openData(ctx, manifest, options, data))
      return status;
  if (Status status = saver.prepare())
    return status;
  int64_t stage = getBlockIndex(&manifest.stageAxis, 1, ctx->rank);
  if (Status status =
          ctx->target->open(manifest, options, tessera_program_steps[stage]))
    return status;
  double begin = monotonicSeconds(), cpu = processCpuSeconds();
  if (!options.rehearsal.isAsked)
    if (Status status = fillArguments(ctx, manifest, options, data))
      return status;
  checkpoints.times().load += monotonicSeconds() - begin;
  if (Status status = checkpoints.prepare())
    return status;
  ctx->block().numbers.initSeconds = monotonicSeconds() - begin;
  ctx->block().numbers.initCpuSeconds = processCpuSeconds() - cpu;
  ControlBlock &control = *ctx->memory.control;
  if (ctx->rank == 0)
    control.stopDecided.store(control.stopSignal.load());
  return barrier(ctx, BarrierReady);
}

/// Compares and reports results, on rank 0, and writes the trace.
static Status report(tessera_rt_context *ctx, const Manifest &manifest,
                     const Options &options, const StepLoop &loop,
                     const RunTimes *times, TraceFile &trace) {
  std::vector<Comparison> comparisons;
  if (!loop.times().seconds.empty() && !options.compare.empty())
    if (Status status = compareResults(ctx, manifest, options, comparisons))
      return status;
  printReport(ctx, manifest, options, loop.times(), times, comparisons);
  // Why output was lost is not known at its end; most often a disk is full.
  std::string error = flushOutput();
  if (!error.empty())
    return fail(ctx, TESSERA_RT_FULL, error);
  if (!loop.stamps().empty())
    error = trace.write(loop.stamps(), manifest.stageAxis);
  return error.empty() ? TESSERA_RT_OK
                       : fail(ctx, statusOfFailure(error), error);
}

static Status runAll(tessera_rt_context *ctx, const Manifest &manifest,
                     const Options &options) {
  RunData data;
  Saver saver(ctx, manifest, options, data);
  Checkpoints checkpoints(ctx, manifest, options, data);
  TraceFile trace;
  if (Status status =
          prepare(ctx, manifest, options, data, saver, checkpoints, trace))
    return status;
  if (options.serve.areGiven())
    return serveRequests(ctx, manifest, options);
  if (Status status = saver.saveInitial())
    return status;
  StepLoop loop(ctx, manifest, options, data, checkpoints);
  if (Status status = loop.run())
    return status;
  // A signal may come before the first step; the files saved before this run
  // are then kept.
  int64_t steps = int64_t(loop.times().seconds.size());
  if (steps > 0 || !loop.isStopped()) {
    if (Status status = saver.saveFinal(steps))
      return status;
    if (Status status = saver.saveWeights())
      return status;
  }
  if (steps > 0)
    if (Status status = saver.saveOutputs(steps))
      return status;
  if (steps > 0 && !options.compare.empty())
    if (Status status = fetchValues(ctx, saver.results()))
      return status;
  if (ctx->mirror) {
    if (Status status = shareNumbers(ctx))
      return status;
    if (Status status = barrier(ctx, BarrierOutputs))
      return status;
  }
  if (ctx->rank == 0)
    if (Status status =
            report(ctx, manifest, options, loop, checkpoints.runTimes(), trace))
      return status;
  return barrier(ctx, BarrierEnd);
}

int tessera::rt::runRank(tessera_rt_context *ctx, const Manifest &manifest,
                         const Options &options) {
  Status status = runAll(ctx, manifest, options);
  ctx->block().state.store(status ? RankState::Failed : RankState::Finished);
  return status ? failureExitCode(*ctx->memory.control, status) : 0;
}
