//===- RankMain.cpp - What every rank does --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run of one rank from its start to its end: arguments, steps, results,
// report. All ranks meet between these, so a failure in one stops all.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Launcher.h"
#include "Report.h"
#include "Residency.h"
#include "Steps.h"

using namespace tessera::rt;

/// Checks options against the program. Returns a message, or nothing.
static std::string checkOptions(const Manifest &manifest,
                                const Options &options, const RunData &data) {
  bool isOpen = data.source.isOpen();
  if (options.evalEvery &&
      (!manifest.isTraining() || !isOpen || !manifest.findScalar("loss")))
    return "--eval-every expects a training step with a loss, and --data or "
           "--random-data";
  if (options.steps == 0 &&
      (!options.saveOutputs.empty() || !options.compare.empty()))
    return "--steps 0 gives no results for --save-outputs or --compare";
  return std::string();
}

/// Everything before the first step.
static Status prepare(tessera_rt_context *ctx, const Manifest &manifest,
                      const Options &options, RunData &data) {
  ctx->block().memory.privateAtStart = privateResidentBytes();
  std::string error = ctx->target->limitMemory(manifest, options.memoryLimit);
  if (error.empty())
    error = data.open(options, dataArguments(manifest, options));
  if (error.empty())
    error = checkOptions(manifest, options, data);
  // All ranks read one file: one looks at its ids.
  if (error.empty() && ctx->rank == 0)
    error = data.check(options, *ctx->pool);
  if (!error.empty())
    return fail(ctx, TESSERA_RT_INVALID, error);
  if (Status status =
          ctx->target->open(manifest, options, tessera_program_step))
    return status;
  double begin = monotonicSeconds();
  if (Status status = fillArguments(ctx, manifest, options))
    return status;
  ctx->block().initSeconds = monotonicSeconds() - begin;
  ControlBlock &control = *ctx->memory.control;
  if (ctx->rank == 0)
    control.stopDecided.store(control.stopSignal.load());
  return barrier(ctx, BarrierReady);
}

/// Makes all ranks' blocks of these values readable by all.
static Status fetch(tessera_rt_context *ctx,
                    const std::vector<const Value *> &values) {
  std::vector<ArenaBlock> blocks;
  for (const Value *value : values)
    blocks.push_back({value->offset, value->bytes});
  if (Status status = ctx->target->fetch(blocks))
    return status;
  return barrier(ctx, BarrierOutputs);
}

/// Writes parameters and state as they are.
static Status saveState(tessera_rt_context *ctx, const Manifest &manifest,
                        const std::string &directory) {
  if (directory.empty())
    return TESSERA_RT_OK;
  std::vector<const Value *> values;
  for (const Value &value : manifest.arguments)
    if (value.role == Role::Param || value.role == Role::State)
      values.push_back(&value);
  if (Status status = fetch(ctx, values))
    return status;
  if (Status status = writeValues(ctx, values, directory))
    return status;
  return barrier(ctx, BarrierOutputs);
}

/// Writes the results where they are wanted. Afterwards all ranks' results can
/// be read by all.
static Status saveOutputs(tessera_rt_context *ctx, const Manifest &manifest,
                          const Options &options) {
  if (options.saveOutputs.empty() && options.compare.empty())
    return TESSERA_RT_OK;
  std::vector<const Value *> values;
  for (const Value &value : manifest.results)
    values.push_back(&value);
  if (Status status = fetch(ctx, values))
    return status;
  if (options.saveOutputs.empty())
    return TESSERA_RT_OK;
  if (Status status = writeValues(ctx, values, options.saveOutputs))
    return status;
  return barrier(ctx, BarrierOutputs);
}

static Status runAll(tessera_rt_context *ctx, const Manifest &manifest,
                     const Options &options) {
  RunData data;
  if (Status status = prepare(ctx, manifest, options, data))
    return status;
  if (Status status = saveState(ctx, manifest, options.saveInitial))
    return status;
  StepLoop loop(ctx, manifest, options, data);
  if (Status status = loop.run())
    return status;
  if (Status status = saveState(ctx, manifest, options.saveFinal))
    return status;
  // A signal may have come before the first step.
  bool hasResults = !loop.seconds().empty();
  if (hasResults)
    if (Status status = saveOutputs(ctx, manifest, options))
      return status;
  if (ctx->rank == 0) {
    std::vector<Comparison> comparisons;
    if (hasResults && !options.compare.empty())
      if (Status status = compareResults(ctx, manifest, options, comparisons))
        return status;
    printReport(ctx, manifest, options, loop.seconds(), comparisons);
  }
  return barrier(ctx, BarrierEnd);
}

int tessera::rt::runRank(tessera_rt_context *ctx, const Manifest &manifest,
                         const Options &options) {
  Status status = runAll(ctx, manifest, options);
  ctx->block().state.store(status ? RankState::Failed : RankState::Finished);
  return status ? 1 : 0;
}
