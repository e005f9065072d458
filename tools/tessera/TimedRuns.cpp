//===- TimedRuns.cpp - Seconds of compiled programs -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedRuns.h"

#include "runtime/cuda/Libraries.h"
#include "tessera/Support/ChildProcess.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/TemporaryFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <sched.h>

using namespace tessera;
using llvm::StringRef;

/// Timeout of a run, in seconds.
static constexpr unsigned kMostSeconds = 600;
/// Target duration of the steps of a run in the first round, in seconds, and
/// the least and largest number of these steps.
static constexpr double kRunSeconds = 0.1;
static constexpr unsigned kLeastSteps = 2, kMostSteps = 32;
/// Runs of each candidate per round.
static constexpr unsigned kRuns = 5;

int64_t tessera::countProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

int64_t tessera::countGPUs() {
  rt::cuda::Library library =
      rt::cuda::findLibrary(rt::cuda::LibraryKind::Driver);
  int (*init)(unsigned) = nullptr, (*getCount)(int *) = nullptr;
  if (library.isUsable()) {
    library.bind(init, "cuInit");
    library.bind(getCount, "cuDeviceGetCount");
  }
  int count = 0;
  bool works = library.isUsable() && init(0) == 0 && getCount(&count) == 0;
  return works ? count : 0;
}

double tessera::getMedian(std::vector<double> values) {
  llvm::sort(values);
  return values.empty() ? 0 : values[(values.size() - 1) / 2];
}

/// The median of a list of the report without its first number.
static llvm::Expected<double> readMedian(const llvm::json::Object &report,
                                         StringRef key) {
  std::vector<double> values;
  if (const llvm::json::Array *list = report.getArray(key))
    for (const llvm::json::Value &value : llvm::drop_begin(*list))
      values.push_back(value.getAsNumber().value_or(0));
  if (values.empty())
    return llvm::createStringError("expects a report with " + key +
                                   " of several steps");
  return getMedian(std::move(values));
}

llvm::Expected<StepSeconds> tessera::timeSteps(StringRef program, int64_t ranks,
                                               unsigned steps) {
  TemporaryFile output;
  if (llvm::Error error = output.create("tessera-run", "json"))
    return std::move(error);
  std::string numRanks = std::to_string(ranks);
  std::string numSteps = std::to_string(steps + 1);
  llvm::Error error =
      runProgram(program,
                 {"--ranks", numRanks, "--threads", "1", "--steps", numSteps,
                  "--random-data", "--quiet", "--report", "json"},
                 output.getPath(), kMostSeconds);
  auto buffer = llvm::MemoryBuffer::getFile(output.getPath());
  StringRef text = buffer ? (*buffer)->getBuffer() : "";
  if (error) {
    std::string line = text.ltrim().split('\n').first.trim().str();
    std::string exit = llvm::toString(std::move(error));
    return llvm::createStringError(line.empty() ? exit : line);
  }
  auto report = parseJson(text);
  if (!report)
    return report.takeError();
  const llvm::json::Object *fields = report->getAsObject();
  if (!fields)
    return llvm::createStringError("expects a report as a JSON object");
  StepSeconds seconds;
  for (auto [key, field] : {std::pair("step_seconds", &seconds.wall),
                            std::pair("step_cpu_seconds", &seconds.cpu)}) {
    auto median = readMedian(*fields, key);
    if (!median)
      return median.takeError();
    *field = *median;
  }
  return seconds;
}

llvm::Expected<Halving>
tessera::halve(size_t candidates,
               llvm::function_ref<llvm::Expected<double>(size_t, unsigned)> run,
               llvm::function_ref<void(unsigned, unsigned, size_t)> report) {
  Halving halving;
  halving.seconds.resize(candidates);
  halving.rounds.resize(candidates);
  std::vector<size_t> left(candidates);
  for (size_t i = 0; i < candidates; ++i)
    left[i] = i;
  auto first = run(0, kLeastSteps);
  if (!first)
    return first.takeError();
  auto steps = static_cast<unsigned>(
      std::clamp(kRunSeconds / std::max(*first, 1e-9), double(kLeastSteps),
                 double(kMostSteps)));
  for (unsigned round = 1;; ++round, steps *= 2) {
    std::vector<std::vector<double>> seconds(candidates);
    for (unsigned turn = 0; turn < kRuns; ++turn)
      for (size_t i : left) {
        auto time = run(i, steps);
        if (!time)
          return time.takeError();
        seconds[i].push_back(*time);
      }
    for (size_t i : left) {
      halving.seconds[i] = getMedian(seconds[i]);
      halving.rounds[i] = round;
    }
    llvm::stable_sort(left, [&](size_t a, size_t b) {
      return halving.seconds[a] < halving.seconds[b];
    });
    report(round, steps, left.size());
    if (left.size() <= 2)
      break;
    left.resize((left.size() + 1) / 2);
    llvm::sort(left);
  }
  halving.fastest = left.front();
  return halving;
}
