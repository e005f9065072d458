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

using namespace tessera::rt;

/// Seconds a wait may last once the first step, in which memory is touched for
/// the first time, is over.
static constexpr double stepDeadline = 60;

static Status runSteps(tessera_rt_context *ctx, const Manifest &manifest,
                       const Options &options, const TokenSource &tokens,
                       std::vector<double> &stepSeconds) {
  RankBlock &block = ctx->block();
  for (int64_t step = 0; step < options.steps; ++step) {
    if (Status status = fillTokens(ctx, manifest, options, tokens, step))
      return status;
    if (Status status = barrier(ctx, BarrierArguments))
      return status;
    double begin = monotonicSeconds(), cpu = processCpuSeconds();
    if (int32_t status = tessera_program_step(ctx)) {
      // The runtime has recorded why, unless the program failed by itself.
      if (!ctx->memory.control->aborted.load())
        fail(
            ctx, status,
            format("step %lld failed with status %d", (long long)step, status));
      return status;
    }
    if (Status status = barrier(ctx, BarrierStep))
      return status;
    double seconds = monotonicSeconds() - begin;
    block.cpuSeconds += processCpuSeconds() - cpu;
    stepSeconds.push_back(seconds);
    if (ctx->rank == 0 && !options.quiet)
      fprintf(stderr, "step %lld of %lld: %.2f ms\n", (long long)step + 1,
              (long long)options.steps, seconds * 1e3);
    if (options.deadline <= 0)
      ctx->deadlineSeconds = stepDeadline;
  }
  return TESSERA_RT_OK;
}

static Status runAll(tessera_rt_context *ctx, const Manifest &manifest,
                     const Options &options) {
  if (ctx->rank == 0 && !options.quiet)
    for (const std::string &line : manifest.plan)
      fprintf(stderr, "plan: %s\n", line.c_str());
  TokenSource tokens;
  std::string error = tokens.open(options);
  if (!error.empty())
    return fail(ctx, TESSERA_RT_SYSTEM, error);
  double begin = monotonicSeconds();
  if (Status status = fillArguments(ctx, manifest, options, tokens))
    return status;
  ctx->block().initSeconds = monotonicSeconds() - begin;
  std::vector<double> stepSeconds;
  if (Status status = runSteps(ctx, manifest, options, tokens, stepSeconds))
    return status;
  if (!options.saveOutputs.empty()) {
    if (Status status = writeResults(ctx, manifest, options))
      return status;
    if (Status status = barrier(ctx, BarrierOutputs))
      return status;
  }
  if (ctx->rank == 0) {
    std::vector<Comparison> comparisons;
    if (!options.compare.empty())
      if (Status status = compareResults(ctx, manifest, options, comparisons))
        return status;
    printReport(ctx, manifest, options, stepSeconds, comparisons);
  }
  return barrier(ctx, BarrierEnd);
}

int tessera::rt::runRank(tessera_rt_context *ctx, const Manifest &manifest,
                         const Options &options) {
  Status status = runAll(ctx, manifest, options);
  ctx->block().state.store(status ? RankState::Failed : RankState::Finished);
  return status ? 1 : 0;
}
