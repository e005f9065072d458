//===- RunRecord.h - The record of a run's attempts -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run is all attempts that write to one folder of checkpoints. `progress` in
// that folder says after each step what the attempt's time went to, and is
// overwritten; `record.jsonl` has a line for each attempt's start and for its
// time. An attempt that is killed writes no line: the next one writes it, from
// `progress`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_RUNRECORD_H
#define TESSERA_RT_SRC_RUNRECORD_H

#include <cstdint>
#include <string>

namespace tessera::rt {

/// Seconds of an attempt that are no steps, by what they went to.
struct AttemptTimes {
  /// Processes, options, files and libraries; then parameters and state.
  double start = 0, load = 0;
  /// Waits for checkpoints, reading of data, and evaluation.
  double checkpoint = 0, data = 0, evaluation = 0;

  double sum() const { return start + load + checkpoint + data + evaluation; }
};

/// What the wall time of a run went to.
struct RunTimes {
  /// Steps that count, and those that were repeated after a failure.
  int64_t stepsKept = 0, stepsRepeated = 0;
  double kept = 0, repeated = 0;
  AttemptTimes others;
  /// Seconds from the end of an attempt to the start of the next.
  double down = 0;

  double total() const { return kept + repeated + others.sum() + down; }
  /// The fraction of the wall time that went to steps that count.
  double goodput() const { return total() > 0 ? kept / total() : 0; }
};

/// How far an attempt has come.
struct Progress {
  /// The steps done when it began, and now.
  int64_t from = 0, to = 0;
  /// Seconds since 1970 at which it began, and now.
  double began = 0, now = 0;
  AttemptTimes times;
  /// True if the attempt has written its time itself.
  bool isClosed = false;
};

/// The text of `progress`, and its inverse. The latter returns a message, or
/// nothing.
std::string describeProgress(const Progress &progress);
std::string parseProgress(const std::string &text, Progress &progress);

/// The times of an attempt that ended with `progress`, if the next one goes on
/// after step `resumed` and begins at `next`, in seconds since 1970.
RunTimes timesOf(const Progress &progress, int64_t resumed, double next);

/// The record, on rank 0. Each function returns a message, or nothing.
class RunRecord {
public:
  RunRecord() = default;
  RunRecord(const RunRecord &) = delete;
  RunRecord &operator=(const RunRecord &) = delete;
  ~RunRecord();

  /// Opens the files in a folder, accounts for the attempt before, and writes
  /// the line of this start, `start` being its other members as JSON. This
  /// attempt goes on after step `from`; it began at `began`, in seconds since
  /// 1970.
  std::string open(const std::string &folder, int64_t from, double began,
                   const std::string &start);
  bool isOpen() const { return progressFile >= 0; }

  /// Says that step `to` is done.
  std::string update(int64_t to, const AttemptTimes &times);
  /// Writes the time of this attempt, whose steps all count.
  std::string close(int64_t to, const AttemptTimes &times);

  /// Adds up the times of all attempts so far.
  std::string sum(RunTimes &times) const;

private:
  std::string append(const std::string &line) const;
  std::string write() const;

  std::string folder;
  int recordFile = -1, progressFile = -1;
  Progress progress;
};

/// Seconds since 1970.
double wallSeconds();

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_RUNRECORD_H
