//===- PlanSearch.cpp - tessera plan --search -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options, progress and files around the search of lib/Planning.
//
//===----------------------------------------------------------------------===//

#include "PlanSearch.h"
#include "PlanOptions.h"
#include "tessera/Planning/SearchReport.h"
#include "tessera/Support/Errors.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <thread>

using namespace tessera;
using llvm::StringRef;

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Prints a line on stderr every few seconds, and ends the search when its time
/// is over.
class Watch {
public:
  /// `limit` in seconds; 0: none.
  explicit Watch(double limit) : limit(limit) {}

  bool operator()(const SearchProgress &progress) {
    double seconds = secondsSince(start);
    if (seconds - shown >= kSecondsOfLine) {
      shown = seconds;
      const SearchCounts &counts = progress.counts;
      llvm::errs() << llvm::formatv(
          "{0:f0} s: {1} of {2} layouts decided, {3} priced", seconds,
          withSeparators(counts.invalid + counts.bounded + counts.tooLarge +
                         counts.priced),
          withSeparators(counts.layouts), withSeparators(counts.priced));
      if (progress.best)
        llvm::errs() << llvm::formatv("; best {0:f3} s a step, {1}",
                                      progress.best->seconds,
                                      progress.best->plan.summary());
      llvm::errs() << "\n";
    }
    return limit == 0 || seconds < limit;
  }
  double seconds() const { return secondsSince(start); }

private:
  static constexpr double kSecondsOfLine = 5;
  double limit;
  Clock::time_point start = Clock::now();
  double shown = 0;
};

llvm::Expected<PlanSpace> readSpace(const ParsedOptions &parsed,
                                    const Subject &subject) {
  PlanSpace space;
  space.base.precision = Precision::BF16;
  space.base.seq = subject.maxPositions();
  space.compilable = parsed.has("--compilable");
  for (StringRef other : {"--layout", "--from-program", "--schedule-csv",
                          "--framework"})
    if (parsed.has(other))
      return llvm::createStringError("expects --search or " + other +
                                     " but got both");
  for (StringRef needed : {"--gpus", "--global-batch", "--cluster"})
    if (!parsed.has(needed))
      return llvm::createStringError("expects " + needed + " with --search");
  for (const PlanField &field : getPlanFields()) {
    std::string option = field.getOption();
    if (!(field.uses & PlanField::kPriced) || !parsed.has(option))
      continue;
    if (llvm::Error error =
            space.constrain(field.name, getFieldText(field, parsed)))
      return prefixError("--", std::move(error));
  }
  return space;
}

llvm::Expected<SearchOptions> readOptions(const ParsedOptions &parsed) {
  SearchOptions options;
  auto top = parsed.getInteger("--top", 1);
  if (!top)
    return top.takeError();
  options.top = top->value_or(options.top);
  auto threads = parsed.getInteger("--threads", 1);
  if (!threads)
    return threads.takeError();
  options.threads = threads->value_or(std::thread::hardware_concurrency());
  auto front = readNumber(parsed, "--front");
  if (!front)
    return front.takeError();
  if (parsed.has("--front"))
    options.frontSlack = *front / 100;
  return options;
}

} // namespace

llvm::Error tessera::checkSearchOptions(const ParsedOptions &parsed) {
  for (StringRef option :
       {"--compilable", "--top", "--front", "--search-seconds", "--threads"})
    if (parsed.has(option))
      return llvm::createStringError(option + " expects --search beside it");
  return llvm::Error::success();
}

llvm::Expected<int> tessera::runPlanSearch(const ParsedOptions &parsed,
                                           const Subject &subject) {
  auto given = readSpace(parsed, subject);
  if (!given)
    return given.takeError();
  auto options = readOptions(parsed);
  if (!options)
    return options.takeError();
  auto limit = readNumber(parsed, "--search-seconds");
  if (!limit)
    return limit.takeError();
  auto cluster = readClusterSpec(parsed.get("--cluster"));
  if (!cluster)
    return cluster.takeError();
  std::vector<ClusterSpec> clusters{std::move(*cluster)};
  auto question = readQuestion(parsed, subject.name());
  if (!question)
    return question.takeError();

  Watch watch(*limit);
  options->progress = watch;
  LayoutSpace space(subject, clusters, *given);
  if (space.getShapes().empty())
    return explainNoPlan(subject, clusters, *given, space, nullptr);
  SearchResult result = searchLayouts(subject, clusters, space, *options);
  if (result.top.empty())
    return explainNoPlan(subject, clusters, *given, space, &result);
  llvm::errs() << llvm::formatv("searched {0} layouts in {1:f1} s\n",
                                withSeparators(result.counts.layouts),
                                watch.seconds());
  auto report = makeSearchReport(subject, clusters, *given, space,
                                 std::move(result), *options, *question);
  if (!report)
    return report.takeError();
  // A file is for programs; the text says what is in it.
  auto writeJson = [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n", llvm::json::Value(toJson(*report)));
  };
  if (parsed.has("-o"))
    if (llvm::Error error = writeOutput(parsed.get("-o"), writeJson))
      return std::move(error);
  llvm::Error error = writeOutput("", [&](llvm::raw_ostream &os) {
    if (parsed.has("--json"))
      writeJson(os);
    else
      print(*report, os);
  });
  if (error)
    return std::move(error);
  return 0;
}
