//===- pipeline_makespan.cpp - Simulated time of a pipeline's lists -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the seconds that CompiledSchedule::simulate computes for the lists of
// a program, as JSON:
//
//     pipeline_makespan F B W LINK < LISTS
//
// Times are seconds of a p-th of the model. LISTS has the number of
// micro-batches, the pp ranks of the stages with a line for each path, and,
// after an empty line, the list of each pp rank.
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/ActionList.h"
#include "tessera/Schedule/Timing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tessera;
using namespace tessera::schedule;

static llvm::Error readPaths(llvm::ArrayRef<llvm::StringRef> lines,
                             StageRanks &paths) {
  for (llvm::StringRef line : lines) {
    paths.emplace_back();
    for (llvm::StringRef word : llvm::split(line, ' ')) {
      int64_t rank = 0;
      if (word.getAsInteger(10, rank))
        return llvm::createStringError("expects a pp rank but got '" + word +
                                       "'");
      paths.back().push_back(rank);
    }
  }
  return llvm::Error::success();
}

static llvm::Error print(llvm::StringRef text, const ChunkTimes &times,
                         double link) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.trim().split(lines, '\n');
  size_t end = llvm::find(lines, "") - lines.begin();
  int64_t microBatches = 0;
  if (end == lines.size() || lines.front().getAsInteger(10, microBatches))
    return llvm::createStringError("expects micro-batches, paths and lists");
  StageRanks paths;
  if (llvm::Error error =
          readPaths(llvm::ArrayRef(lines).slice(1, end - 1), paths))
    return error;
  auto problem = findProblem(paths, microBatches);
  if (!problem)
    return problem.takeError();
  Schedule schedule;
  for (llvm::StringRef line : llvm::ArrayRef(lines).drop_front(end + 1)) {
    auto actions = parseActions(line);
    if (!actions)
      return actions.takeError();
    schedule.ranks.push_back(std::move(*actions));
  }
  if (llvm::Error error = verify(*problem, schedule, SendMode::Posted))
    return error;
  ScheduleTiming timing =
      CompiledSchedule(*problem, schedule)
          .simulate(PipelineTimes::uniform(*problem, times, link));
  llvm::outs() << "{\"seconds\": " << llvm::format("%.6f", timing.makespan())
               << ", \"bubble\": "
               << llvm::format("%.6f", 1 - timing.maxBusy() / timing.makespan())
               << "}\n";
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  double numbers[4];
  auto input = llvm::MemoryBuffer::getSTDIN();
  for (int i = 0; i < 4; ++i)
    if (argc != 5 || llvm::StringRef(argv[1 + i]).getAsDouble(numbers[i])) {
      llvm::errs() << "expects F B W LINK in seconds\n";
      return 1;
    }
  if (!input)
    return 1;
  if (llvm::Error error =
          print((*input)->getBuffer(), {numbers[0], numbers[1], numbers[2], -1},
                numbers[3])) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
