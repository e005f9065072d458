//===- Saving.cpp - Saving values of a run --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Saving.h. Node 0 writes all files; see Results.cpp.
//
//===----------------------------------------------------------------------===//

#include "Saving.h"

#include "Folders.h"
#include "SavedState.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace tessera::rt;

Saver::Saver(tessera_rt_context *ctx, const Manifest &manifest,
             const Options &options, const RunData &data)
    : ctx(ctx), manifest(manifest), options(options), data(data) {
  for (const Value &value : manifest.arguments)
    if (value.role == Role::Param || value.role == Role::State)
      state.push_back(&value);
  for (const Value &value : manifest.results)
    resultValues.push_back(&value);
}

static int64_t bytesOf(const std::vector<const Value *> &values) {
  int64_t bytes = 0;
  for (const Value *value : values)
    bytes += npyBytes(value->dtype, value->logicalShape);
  return bytes;
}

Status Saver::open(StagedFolder &folder, const std::string &path,
                   int64_t bytes) {
  if (path.empty() || ctx->rank != 0)
    return TESSERA_RT_OK;
  std::string error = folder.open(path, promised + bytes);
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  promised += bytes;
  return TESSERA_RT_OK;
}

Status Saver::prepare() {
  if (Status status = open(initial, options.saveInitial, bytesOf(state)))
    return status;
  if (Status status = open(outputs, options.saveOutputs, bytesOf(resultValues)))
    return status;
  if (Status status = open(final, options.saveFinal, bytesOf(state)))
    return status;
  if (!options.saveWeights.empty()) {
    std::string error = weightsLayout.plan(manifest);
    if (!error.empty())
      return fail(ctx, TESSERA_RT_INVALID, error);
    if (Status status =
            open(weights, options.saveWeights, weightsLayout.bytes()))
      return status;
  }
  return TESSERA_RT_OK;
}

std::string Saver::writeManifest(const std::string &folder,
                                 const Values &values, int64_t steps) {
  SavedState saved;
  saved.kind = &values == &resultValues ? "results" : "state";
  saved.program = manifest.program;
  saved.hash = manifest.hash;
  saved.ranks = ctx->ranks;
  saved.step = data.stepsBefore + steps;
  saved.dataPosition = data.position(steps);
  saved.data = describeData(options);
  return writeStateManifest(folder, values, *ctx->pool, std::move(saved));
}

Status Saver::save(StagedFolder &folder, const std::string &path,
                   const Values &values, int64_t steps) {
  if (path.empty())
    return TESSERA_RT_OK;
  double timeout = ctx->timeout;
  ctx->timeout = options.timeouts.saveOf(bytesOf(values));
  if (Status status = fetchValues(ctx, values))
    return status;
  std::string staging = stagingPath(resolvePath(path));
  if (Status status = writeValues(ctx, values, staging))
    return status;
  if (Status status = barrier(ctx, BarrierOutputs))
    return status;
  if (ctx->rank == 0) {
    std::string error = writeManifest(staging, values, steps);
    if (!error.empty())
      return fail(ctx, statusOfFailure(error), error);
  }
  Status status = publish(folder, bytesOf(values));
  ctx->timeout = timeout;
  return status;
}

/// Rank 0 publishes the folder; the others wait.
Status Saver::publish(StagedFolder &folder, int64_t bytes) {
  if (ctx->rank == 0) {
    std::string error = folder.publish();
    if (!error.empty())
      return fail(ctx, statusOfFailure(error), error);
    promised -= bytes;
    ctx->memory.forgetOtherNodes();
  }
  return barrier(ctx, BarrierOutputs);
}

Status Saver::saveInitial() {
  return save(initial, options.saveInitial, state, 0);
}

Status Saver::saveFinal(int64_t steps) {
  return save(final, options.saveFinal, state, steps);
}

Status Saver::saveOutputs(int64_t steps) {
  return save(outputs, options.saveOutputs, resultValues, steps);
}

Status Saver::saveWeights() {
  if (options.saveWeights.empty())
    return TESSERA_RT_OK;
  double timeout = ctx->timeout;
  ctx->timeout = options.timeouts.saveOf(weightsLayout.bytes());
  std::string staging = stagingPath(resolvePath(options.saveWeights));
  std::string error;
  if (ctx->rank == 0)
    error = weightsLayout.create(staging);
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  // No rank writes before the files exist.
  if (Status status = fetchValues(ctx, weightsLayout.values()))
    return status;
  error = weightsLayout.write(ctx, staging);
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  if (Status status = barrier(ctx, BarrierOutputs))
    return status;
  Status status = publish(weights, weightsLayout.bytes());
  ctx->timeout = timeout;
  return status;
}
