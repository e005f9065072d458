//===- RunRecord.cpp - The record of a run's attempts ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RunRecord.h. A line is one write to a file that is opened for appending,
// and `progress` one write of a fixed length, so a process that is killed
// leaves whole texts.
//
//===----------------------------------------------------------------------===//

#include "RunRecord.h"

#include "data/Folders.h"
#include "data/Npy.h"
#include "support/Json.h"
#include "support/Support.h"

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

using namespace tessera::rt;

/// Bytes of `progress`, spaces at its end included.
static constexpr size_t progressBytes = 512;

double tessera::rt::wallSeconds() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

static std::string describeTimes(const AttemptTimes &times) {
  return format("\"start\": %.6f, \"load\": %.6f, \"checkpoint\": %.6f, "
                "\"data\": %.6f, \"evaluation\": %.6f",
                times.start, times.load, times.checkpoint, times.data,
                times.evaluation);
}

static AttemptTimes readTimes(const Json &json) {
  return {json.getNumber("start", 0), json.getNumber("load", 0),
          json.getNumber("checkpoint", 0), json.getNumber("data", 0),
          json.getNumber("evaluation", 0)};
}

std::string tessera::rt::describeProgress(const Progress &progress) {
  return format("{\"from\": %lld, \"to\": %lld, \"began\": %.6f, "
                "\"now\": %.6f, \"closed\": %d, ",
                (long long)progress.from, (long long)progress.to,
                progress.began, progress.now, int(progress.isClosed)) +
         describeTimes(progress.times) + "}";
}

std::string tessera::rt::parseProgress(const std::string &text,
                                       Progress &progress) {
  Json json;
  std::string error;
  if (!parseJson(text, json, error))
    return error;
  error = checkMembers(json, {"from", "to", "began", "now", "closed", "start",
                              "load", "checkpoint", "data", "evaluation"});
  if (!error.empty())
    return error;
  progress.from = json.getInteger("from", -1);
  progress.to = json.getInteger("to", -1);
  progress.began = json.getNumber("began", 0);
  progress.now = json.getNumber("now", 0);
  progress.isClosed = json.getInteger("closed", 0) != 0;
  progress.times = readTimes(json);
  return progress.from >= 0 && progress.to >= progress.from &&
                 progress.now >= progress.began
             ? std::string()
             : "expects steps and times in order";
}

RunTimes tessera::rt::timesOf(const Progress &progress, int64_t resumed,
                              double next) {
  RunTimes times;
  times.down = std::max(next - progress.now, 0.0);
  // It has accounted for the rest.
  if (progress.isClosed)
    return times;
  int64_t run = progress.to - progress.from;
  times.stepsKept = std::clamp(resumed - progress.from, int64_t(0), run);
  times.stepsRepeated = run - times.stepsKept;
  times.others = progress.times;
  double steps =
      std::max(progress.now - progress.began - progress.times.sum(), 0.0);
  double share = run > 0 ? double(times.stepsKept) / double(run) : 1;
  times.kept = steps * share;
  times.repeated = steps - times.kept;
  return times;
}

static std::string describeLine(const RunTimes &times) {
  return format("{\"event\": \"time\", \"steps_kept\": %lld, "
                "\"steps_repeated\": %lld, \"kept\": %.6f, \"repeated\": %.6f, "
                "\"down\": %.6f, ",
                (long long)times.stepsKept, (long long)times.stepsRepeated,
                times.kept, times.repeated, times.down) +
         describeTimes(times.others) + "}";
}

RunRecord::~RunRecord() {
  for (int fd : {recordFile, progressFile})
    if (fd >= 0)
      ::close(fd);
}

std::string RunRecord::append(const std::string &line) const {
  return writeAll(recordFile, (line + "\n").data(), line.size() + 1)
             ? std::string()
             : describeSystemError("write", folder + "/record.jsonl");
}

std::string RunRecord::write() const {
  std::string text = describeProgress(progress);
  text.resize(progressBytes, ' ');
  return pwrite(progressFile, text.data(), text.size(), 0) ==
                 ssize_t(text.size())
             ? std::string()
             : describeSystemError("write", folder + "/progress");
}

std::string RunRecord::open(const std::string &path, int64_t from, double began,
                            const std::string &start) {
  folder = path;
  std::string recordPath = folder + "/record.jsonl";
  std::string progressPath = folder + "/progress";
  recordFile =
      ::open(recordPath.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (recordFile < 0)
    return describeSystemError("open", recordPath);
  progressFile =
      ::open(progressPath.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (progressFile < 0)
    return describeSystemError("open", progressPath);
  std::string text(progressBytes, ' '), error;
  ssize_t bytes = pread(progressFile, &text[0], text.size(), 0);
  // What a loss of power left is no reason to end a run.
  Progress before;
  if (bytes > 0 && parseProgress(text.substr(0, size_t(bytes)), before).empty())
    error = append(describeLine(timesOf(before, from, began)));
  progress = Progress();
  progress.from = progress.to = from;
  progress.began = progress.now = began;
  if (error.empty())
    error = append(format("{\"event\": \"start\", \"time\": %.6f, "
                          "\"step\": %lld, ",
                          began, (long long)from) +
                   start + "}");
  return error.empty() ? write() : error;
}

std::string RunRecord::update(int64_t to, const AttemptTimes &times) {
  progress.to = to;
  progress.times = times;
  // A clock that is set back must not make the order of times wrong.
  progress.now = std::max(progress.now, wallSeconds());
  return write();
}

std::string RunRecord::close(int64_t to, const AttemptTimes &times) {
  std::string error = update(to, times);
  if (error.empty())
    error = append(describeLine(timesOf(progress, to, progress.now)));
  progress.isClosed = true;
  return error.empty() ? write() : error;
}

std::string RunRecord::sum(RunTimes &times) const {
  MappedFile file;
  std::string error = file.open(folder + "/record.jsonl");
  if (!error.empty())
    return error;
  std::string text(reinterpret_cast<const char *>(file.data()),
                   size_t(file.size()));
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    Json json;
    // A line that a loss of power cut counts nowhere.
    if (parseJson(text.substr(begin, end - begin), json, error) &&
        json.getString("event") == "time") {
      times.stepsKept += json.getInteger("steps_kept", 0);
      times.stepsRepeated += json.getInteger("steps_repeated", 0);
      times.kept += json.getNumber("kept", 0);
      times.repeated += json.getNumber("repeated", 0);
      times.down += json.getNumber("down", 0);
      AttemptTimes other = readTimes(json);
      times.others.start += other.start;
      times.others.load += other.load;
      times.others.checkpoint += other.checkpoint;
      times.others.data += other.data;
      times.others.evaluation += other.evaluation;
    }
    begin = end + 1;
  }
  return std::string();
}
