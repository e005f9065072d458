//===- Checkpoints.h - The checkpoints of a run -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank's part in --checkpoint and --load: from which checkpoint a run goes
// on, when the next begins, and when it is committed. Rank 0 decides, in shared
// memory before the barrier at the end of a step, and all see the same decision
// after it. A checkpoint is committed by rank 0's writer, once all ranks have
// written their files, whatever step they are in then.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_CHECKPOINTS_H
#define TESSERA_RT_SRC_CHECKPOINTS_H

#include "RunFolder.h"
#include "RunRecord.h"
#include "Writer.h"
#include "data/Tokens.h"
#include "ranks/Context.h"

#include <memory>

namespace tessera::rt {

class Checkpoints {
public:
  Checkpoints(tessera_rt_context *ctx, const Manifest &manifest,
              const Options &options, RunData &data);
  ~Checkpoints();

  // All ranks call these together. Failures are recorded.
  /// Locks the folder of --checkpoint and opens the checkpoint from which the
  /// run goes on, as `data.checkpoint`, if there is one.
  Status open();
  /// Prepares for writing, once arguments are filled.
  Status prepare();
  /// True if rank 0 decided that a checkpoint begins after this step.
  bool beginsAfter(int64_t steps) const;
  /// Begins a checkpoint if rank 0 decided so, and reports what failed since.
  /// `steps` is the number of steps of this run.
  Status afterStep(int64_t steps);
  /// Waits for the checkpoint in flight, and writes one of the last step unless
  /// there is one.
  Status finish(int64_t steps);

  /// Decides whether a checkpoint begins after this step. Rank 0 calls it
  /// before the barrier at the step's end.
  void decide(int64_t steps);

  /// Seconds of this attempt that are no steps, by what they went to.
  AttemptTimes &times() { return attempt; }
  /// The times of all attempts; null if there is no record. Rank 0 has them
  /// once the run has finished.
  const RunTimes *runTimes() const {
    return record.isOpen() ? &whole : nullptr;
  }

  /// A line for readers about what was committed since the last call, or
  /// nothing. Only rank 0 has one.
  std::string takeRemark();

private:
  bool isAsked() const;
  std::string openFolder(std::vector<int64_t> &steps);
  Status choose(const std::string &from, std::vector<int64_t> candidates);
  Status chooseAll(const std::vector<int64_t> &steps, const std::string &from,
                   const std::vector<int64_t> &loaded);
  Status tryStep(const std::string &path, bool &isDamaged);
  Status use();
  std::string checkPosition() const;
  bool isDue(int64_t step, double now) const;
  Status begin(int64_t steps, bool isBesideSteps);
  std::string shareWritten();
  Status endWriter();
  Status openRecord();
  Status closeRecord(int64_t steps);
  std::string waitForRanks(int64_t step) const;
  std::string commit(const RunPosition &position, double begun);

  tessera_rt_context *ctx;
  const Manifest &manifest;
  const Options &options;
  RunData &data;

  std::vector<const Value *> values;
  /// This rank's files, and the names of those of all ranks.
  std::vector<CheckpointFile> files;
  std::vector<std::vector<std::string>> names;
  int64_t bytesOfAll = 0;
  std::unique_ptr<CheckpointWriter> writer;
  /// The step of the newest checkpoint that this rank has begun or loaded.
  int64_t newest = -1;

  AttemptTimes attempt;
  /// When this attempt began, by the monotonic clock and since 1970.
  double startedAt = monotonicSeconds(), beganAt = wallSeconds();

  // Used on rank 0.
  RunFolder folder;
  RunRecord record;
  RunTimes whole;
  std::set<int64_t> damaged;
  /// Times of the monotonic clock: when the last checkpoint began, and how long
  /// it took from then to its commit.
  double begunAt = 0, duration = 0;
  /// Seconds that the last one made a step wait.
  double stall = 0;
  std::mutex mutex;
  std::string remark;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_CHECKPOINTS_H
