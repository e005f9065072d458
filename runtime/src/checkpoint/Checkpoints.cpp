//===- Checkpoints.cpp - The checkpoints of a run -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Checkpoints.h.
//
//===----------------------------------------------------------------------===//

#include "Checkpoints.h"

#include "data/Folders.h"
#include "data/Npy.h"
#include "nodes/Mirror.h"
#include "support/Hash.h"
#include "support/Json.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>
#include <utility>

using namespace tessera::rt;

Checkpoints::Checkpoints(tessera_rt_context *ctx, const Manifest &manifest,
                         const Options &options, RunData &data)
    : ctx(ctx), manifest(manifest), options(options), data(data),
      values(stateOf(manifest)) {}

Checkpoints::~Checkpoints() {
  ctx->stateReader = nullptr;
  // Its thread uses the other members, and this one.
  if (writer) {
    writer->cancel();
    writer->end();
  }
}

bool Checkpoints::isAsked() const { return !options.checkpoint.empty(); }

//===----------------------------------------------------------------------===//
// The start of a run
//===----------------------------------------------------------------------===//

/// Finds the checkpoints that --load names. Returns a message, or nothing.
static std::string findLoad(const std::string &path, std::string &folder,
                            std::vector<int64_t> &steps) {
  folder = resolvePath(path);
  if (!exists(folder))
    return "expects a checkpoint at '" + path + "', but there is none";
  int64_t step = readStepName(folder.substr(folder.rfind('/') + 1));
  if (step >= 0) {
    folder = parentOf(folder);
    steps = {step};
    return std::string();
  }
  std::string error = findSteps(folder, steps);
  return error.empty() && steps.empty()
             ? "expects checkpoints in '" + path + "', but there are none"
             : error;
}

Status Checkpoints::tryStep(const std::string &path, bool &isDamaged) {
  ControlBlock &control = *ctx->memory.control;
  auto reader = std::make_unique<CheckpointReader>();
  bool isForeign;
  std::string fault = reader->open(path, isForeign);
  double timeout = ctx->timeout;
  ctx->timeout = options.timeouts.saveOf(reader->bytes());
  if (fault.empty())
    fault = reader->verify(*ctx->pool, ctx->rank, ctx->ranks);
  else if (isForeign)
    return fail(ctx, TESSERA_RT_INVALID, fault);
  if (!fault.empty() && control.checkpointIsDamaged.exchange(1) == 0)
    fprintf(stderr, "tessera: warning: damaged checkpoint: %s\n",
            fault.c_str());
  if (Status status = barrier(ctx, BarrierAgreed))
    return status;
  isDamaged = control.checkpointIsDamaged.load() != 0;
  if (!isDamaged)
    data.checkpoint = std::move(reader);
  ctx->timeout = timeout;
  // Rank 0 may change what it decided once all have seen it.
  return barrier(ctx, BarrierAgreed);
}

Status Checkpoints::choose(const std::string &from,
                           std::vector<int64_t> candidates) {
  ControlBlock &control = *ctx->memory.control;
  size_t count = candidates.size();
  for (;;) {
    if (ctx->rank == ctx->memory.place.firstRank())
      control.checkpointIsDamaged.store(0);
    if (ctx->rank == 0) {
      control.checkpointTried.store(candidates.empty() ? -1
                                                       : candidates.back());
    }
    if (Status status = barrier(ctx, BarrierAgreed))
      return status;
    int64_t tried = control.checkpointTried.load();
    if (tried < 0)
      break;
    bool isDamaged = false;
    if (Status status = tryStep(from + "/" + stepName(tried), isDamaged))
      return status;
    if (!isDamaged)
      return use();
    damaged.insert(tried);
    if (ctx->rank == 0)
      candidates.pop_back();
  }
  if (ctx->rank == 0 && count > 0)
    return fail(ctx, TESSERA_RT_INVALID,
                format("expects a whole checkpoint in '%s', but %s; nothing "
                       "was deleted",
                       from.c_str(),
                       count == 1
                           ? "the only one is damaged"
                           : format("all %zu are damaged", count).c_str()));
  return barrier(ctx, BarrierAgreed);
}

/// Compares the options of a run that goes on with those that it began with.
std::string Checkpoints::checkPosition() const {
  const RunPosition &saved = data.checkpoint->manifest().position;
  std::string other = "; for other data, a checkpoint of a new folder can "
                      "begin with --load " +
                      data.checkpoint->path();
  std::string now = describeData(options);
  if (now != saved.data)
    return "expects the data '" + saved.data +
           "', which the run began with, but got '" + now + "'" + other;
  if (options.seed != saved.seed)
    return format("expects --seed %llu, which the run began with, but got %llu",
                  (unsigned long long)saved.seed,
                  (unsigned long long)options.seed) +
           other;
  if (options.dataPosition >= 0 && options.dataPosition != saved.dataBegin)
    return format("expects --data-position %lld, which the run began with, but "
                  "got %lld",
                  (long long)saved.dataBegin, (long long)options.dataPosition) +
           other;
  return std::string();
}

/// Checks the chosen checkpoint against the program and the options.
Status Checkpoints::use() {
  const CheckpointReader &reader = *data.checkpoint;
  bool parametersAlone = options.loadsParametersAlone && !data.isResumed;
  std::string error = reader.check(manifest, parametersAlone);
  if (error.empty() && data.isResumed)
    error = checkPosition();
  if (data.isResumed)
    newest = reader.manifest().position.step;
  // Rank 0 reports what all see; the barrier stops the others.
  if (ctx->rank == 0 && !error.empty())
    return fail(ctx, TESSERA_RT_INVALID, error);
  if (ctx->rank == 0 && !parametersAlone)
    remark = format("goes on after step %lld, with '%s'",
                    (long long)reader.manifest().position.step,
                    reader.path().c_str());
  else if (ctx->rank == 0)
    remark = "begins with the parameters of '" + reader.path() + "'";
  return barrier(ctx, BarrierAgreed);
}

/// Seconds that a start waits for another run to end.
static double patienceOf(const Options &options) {
  return 2 * options.timeouts.join;
}

std::string Checkpoints::openFolder(std::vector<int64_t> &steps) {
  if (!manifest.isTraining())
    return "--checkpoint expects a training step, but this program has none";
  std::string error = folder.open(options.checkpoint, patienceOf(options));
  return error.empty() ? findSteps(folder.path(), steps) : error;
}

Status Checkpoints::open() {
  if (!isAsked() && options.load.empty())
    return TESSERA_RT_OK;
  std::vector<int64_t> steps, loaded;
  std::string error, from;
  if (ctx->rank == 0 && isAsked())
    error = openFolder(steps);
  if (ctx->rank == 0 && isAsked() && error.empty())
    ctx->memory.control->checkpointFolder.store(readRunNumber(folder.path()));
  if (error.empty() && !options.load.empty())
    error = findLoad(options.load, from, loaded);
  if (error.empty() && isAsked() && from == resolvePath(options.checkpoint))
    error = "expects --load from another folder than that of --checkpoint, "
            "which goes on by itself; to go back, name a new folder for "
            "--checkpoint and --load " +
            from + "/step-N, with --data-position for other data";
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  double timeout = ctx->timeout;
  ctx->timeout += patienceOf(options);
  if (Status status = barrier(ctx, BarrierAgreed))
    return status;
  ctx->timeout = timeout;
  if (isAsked() && ctx->memory.place.isAcrossNodes() &&
      readRunNumber(resolvePath(options.checkpoint)) !=
          ctx->memory.control->checkpointFolder.load())
    return fail(ctx, TESSERA_RT_INVALID,
                "expects a folder of --checkpoint that all nodes see, but '" +
                    resolvePath(options.checkpoint) +
                    "' here is not that of node 0");
  double begin = monotonicSeconds();
  Status status = chooseAll(steps, from, loaded);
  attempt.load += monotonicSeconds() - begin;
  return status;
}

/// Chooses among the run's own checkpoints, or else among those of --load.
Status Checkpoints::chooseAll(const std::vector<int64_t> &steps,
                              const std::string &from,
                              const std::vector<int64_t> &loaded) {
  if (isAsked()) {
    data.isResumed = true;
    if (Status status = choose(resolvePath(options.checkpoint), steps))
      return status;
    data.isResumed = data.checkpoint != nullptr;
  }
  if (data.isResumed || options.load.empty())
    return TESSERA_RT_OK;
  return choose(from, loaded);
}

Status Checkpoints::prepare() {
  if (!isAsked())
    return TESSERA_RT_OK;
  std::vector<std::vector<CheckpointFile>> all;
  std::string error = layoutFiles(values, ctx->ranks, all);
  if (!error.empty())
    return fail(ctx, TESSERA_RT_INVALID, "--checkpoint: " + error);
  for (const std::vector<CheckpointFile> &own : all) {
    names.emplace_back();
    for (const CheckpointFile &file : own) {
      names.back().push_back(file.name);
      bytesOfAll += file.bytes;
    }
  }
  files = std::move(all[size_t(ctx->rank)]);
  if (ctx->rank == 0)
    error = checkRoom(folder.path(), bytesOfAll);
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  std::unique_ptr<StateSource> source;
  if (Status status = ctx->target->createStateSource(source))
    return status;
  writer = std::make_unique<CheckpointWriter>(
      files, ctx->arena(), std::move(source), ctx->rank,
      options.timeouts.saveOf(bytesOfAll));
  int64_t whole = std::max<int64_t>(writer->bytes(), 1);
  error = writer->allocate(options.checkpointMemory
                               ? std::min(options.checkpointMemory, whole)
                               : whole);
  if (!error.empty())
    return fail(ctx, TESSERA_RT_INVALID, error);
  begunAt = monotonicSeconds();
  return ctx->rank == 0 ? openRecord() : TESSERA_RT_OK;
}

Status Checkpoints::openRecord() {
  attempt.start = monotonicSeconds() - startedAt - attempt.load;
  std::string error =
      record.open(folder.path(), data.stepsBefore, beganAt,
                  "\"program\": " + quoteJson(manifest.program) +
                      format(", \"process\": %d, \"ranks\": %d, ",
                             int(getpid()), ctx->ranks) +
                      "\"mesh\": " + quoteJson(describeMesh(manifest)));
  return error.empty() ? TESSERA_RT_OK
                       : fail(ctx, statusOfFailure(error), error);
}

Status Checkpoints::closeRecord(int64_t steps) {
  std::string error = record.close(data.stepsBefore + steps, attempt);
  if (error.empty())
    error = record.sum(whole);
  return error.empty() ? TESSERA_RT_OK
                       : fail(ctx, statusOfFailure(error), error);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Seconds between checkpoints of which each makes the run wait `stall`
/// seconds, so that these and the steps that a failure makes it repeat are
/// together the fewest, if it fails once in `betweenFailures` seconds (J. W.
/// Young, "A first order approximation to the optimum checkpoint interval",
/// CACM 17(9), 1974).
static double bestInterval(double stall, double betweenFailures) {
  return std::sqrt(2 * stall * betweenFailures);
}

bool Checkpoints::isDue(int64_t step, double now) const {
  if (int64_t interval = options.checkpointSteps)
    return step / interval > std::max(newest, data.stepsBefore) / interval;
  if (options.checkpointSeconds > 0)
    return now - begunAt >= options.checkpointSeconds;
  double failure = options.deviceHoursToFailure * 3600 / ctx->ranks;
  // Before the first one is measured it is taken for a copy at 1 GB/s.
  double cost = stall > 0 ? stall : 1e-9 * double(writer->bytes());
  return now - begunAt >= std::max(bestInterval(cost, failure), duration);
}

void Checkpoints::decide(int64_t steps) {
  ControlBlock &control = *ctx->memory.control;
  int64_t step = data.stepsBefore + steps;
  bool isFree = writer && !(writer->isBusy() && !writer->isDone());
  bool isWanted = isFree && (isDue(step, monotonicSeconds()) ||
                             control.checkpointAsked.load() != 0);
  if (isWanted)
    control.checkpointAsked.store(0);
  control.checkpointBegins.store(isWanted ? step : -1);
}

Status Checkpoints::endWriter() {
  if (!writer->isBusy())
    return TESSERA_RT_OK;
  std::string error = writer->end();
  ctx->stateReader = nullptr;
  stall += writer->secondsWaited();
  CheckpointUse &use = ctx->block().numbers.checkpoints;
  ++use.count;
  use.bytes = bytesOfAll;
  use.waitSeconds += stall;
  attempt.checkpoint += stall;
  use.commitSeconds = duration;
  return error.empty() ? TESSERA_RT_OK
                       : fail(ctx, statusOfFailure(error), error);
}

/// Lets rank 0 know the checksums of this rank's files, and then that they are
/// written.
std::string Checkpoints::shareWritten() {
  const RankBlock &block = ctx->block();
  bool isLost = ctx->mirror &&
                (ctx->mirror->write(0, block.checkpointSums,
                                    int64_t(sizeof(block.checkpointSums))) ||
                 ctx->mirror->write(0, &block.checkpointWritten,
                                    int64_t(sizeof(block.checkpointWritten))));
  return isLost ? "the run ends" : "";
}

Status Checkpoints::begin(int64_t steps, bool isBesideSteps) {
  double now = monotonicSeconds();
  if (Status status = endWriter())
    return status;
  newest = data.stepsBefore + steps;
  RunPosition position;
  position.step = newest;
  position.dataPosition = data.position(steps);
  position.dataBegin = data.dataBegin;
  position.data = describeData(options);
  position.seed = options.seed;
  // The work of the step has ended after this.
  if (Status status = ctx->target->fetch(writer->earlyBlocks()))
    return status;
  writer->begin(partialPath(resolvePath(options.checkpoint), newest),
                isBesideSteps, [this, position, now] {
                  RankBlock &block = ctx->block();
                  const std::vector<uint64_t> &sums = writer->sums();
                  std::copy(sums.begin(), sums.end(), block.checkpointSums);
                  block.checkpointWritten.store(position.step);
                  if (std::string lost = shareWritten(); !lost.empty())
                    return lost;
                  return ctx->rank == 0 ? commit(position, now) : std::string();
                });
  begunAt = now;
  stall = monotonicSeconds() - now;
  ctx->stateReader = writer.get();
  return TESSERA_RT_OK;
}

bool Checkpoints::beginsAfter(int64_t steps) const {
  return writer && ctx->memory.control->checkpointBegins.load() ==
                       data.stepsBefore + steps;
}

Status Checkpoints::afterStep(int64_t steps) {
  if (!writer)
    return TESSERA_RT_OK;
  std::string error;
  if (ctx->rank == 0)
    error = record.update(data.stepsBefore + steps, attempt);
  if (!error.empty())
    return fail(ctx, statusOfFailure(error), error);
  if (writer->isBusy() && writer->isDone())
    if (Status status = endWriter())
      return status;
  return beginsAfter(steps) ? begin(steps, /*isBesideSteps=*/true)
                            : TESSERA_RT_OK;
}

Status Checkpoints::finish(int64_t steps) {
  if (!writer)
    return TESSERA_RT_OK;
  double timeout = ctx->timeout, begun = monotonicSeconds();
  ctx->timeout = options.timeouts.saveOf(bytesOfAll);
  if (Status status = endWriter())
    return status;
  double before = attempt.checkpoint;
  // The folder of a step that ranks still write to is not made twice.
  if (Status status = barrier(ctx, BarrierOutputs))
    return status;
  if (steps > 0 && newest != data.stepsBefore + steps) {
    if (Status status = begin(steps, /*isBesideSteps=*/false))
      return status;
    if (Status status = endWriter())
      return status;
    if (Status status = barrier(ctx, BarrierOutputs))
      return status;
  }
  ctx->timeout = timeout;
  attempt.checkpoint = before + monotonicSeconds() - begun;
  return ctx->rank == 0 ? closeRecord(steps) : TESSERA_RT_OK;
}

//===----------------------------------------------------------------------===//
// The commit
//===----------------------------------------------------------------------===//

/// Waits until all ranks have written their files of a checkpoint. A rank that
/// is gone, or that takes too long, is an error: the run's end waits for this.
std::string Checkpoints::waitForRanks(int64_t step) const {
  double most = options.timeouts.saveOf(bytesOfAll), last = 0;
  double begin = monotonicSeconds();
  for (int rank = 0; rank < ctx->ranks; ++rank)
    while (ctx->memory.blocks[rank].checkpointWritten.load() != step) {
      double now = monotonicSeconds();
      bool looks = now - last > 0.1;
      last = looks ? now : last;
      if (ctx->memory.control->aborted.load() || (looks && checkRanksLive(ctx)))
        return "the run ends";
      if (now - begin > most)
        return format("cannot commit step %lld: rank %d has not written its "
                      "files for %.0f s",
                      (long long)step, rank, most);
      usleep(1000);
    }
  return std::string();
}

std::string Checkpoints::commit(const RunPosition &position, double begun) {
  std::string error = waitForRanks(position.step);
  if (!error.empty())
    return error;
  std::string partial = partialPath(folder.path(), position.step);
  std::string text = describeCheckpoint(manifest, position);
  FileSums sums = {{checkpointManifestName, xxh64(text.data(), text.size())}};
  for (int rank = 0; rank < ctx->ranks; ++rank)
    for (size_t i = 0; i < names[size_t(rank)].size(); ++i)
      sums.push_back(
          {names[size_t(rank)][i], ctx->memory.blocks[rank].checkpointSums[i]});
  error = writeSynced(partial + "/" + checkpointManifestName, text);
  if (error.empty())
    error = writeSynced(partial + "/" + checkpointSumsName, describeSums(sums));
  if (error.empty())
    error = folder.publish(position.step);
  if (error.empty()) {
    ctx->memory.control->committed.fetch_add(1);
    damaged.erase(position.step);
    error = folder.removeOld({options.keep, options.keepEvery}, damaged);
  }
  std::lock_guard<std::mutex> guard(mutex);
  duration = monotonicSeconds() - begun;
  remark = format("'%s/%s' has all of step %lld (%s, %.1f s)",
                  options.checkpoint.c_str(), stepName(position.step).c_str(),
                  (long long)position.step, readableBytes(bytesOfAll).c_str(),
                  duration);
  return error;
}

std::string Checkpoints::takeRemark() {
  std::lock_guard<std::mutex> guard(mutex);
  return std::exchange(remark, std::string());
}
