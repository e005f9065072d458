//===- plan_search.cpp - Seconds to find the best layout ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches the layouts of three models on a cluster of H100, each from nothing,
// and prices all layouts of a small space beside it. Prints one JSON line for
// each: counts, seconds, gap, the best plan.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/LayoutSearch.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <sys/resource.h>

using namespace tessera;

namespace {

struct Case {
  const char *model;
  int64_t gpus, seq, batch;
  /// Seconds; 0: none.
  double target;
  std::vector<std::pair<const char *, const char *>> constraints;
};

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Seconds of all threads on a processor.
double processorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

llvm::Error search(const Case &test, unsigned threads, bool exhaustive) {
  auto config = readModelConfig(std::string(TESSERA_SHARE "/models/") +
                                test.model + ".json");
  if (!config)
    return config.takeError();
  auto cluster = readClusterSpec(TESSERA_SHARE "/clusters/h100-sxm-ib.json");
  if (!cluster)
    return cluster.takeError();
  double start = now(), busy = processorSeconds();
  Subject subject{*config, {}, {}};
  PlanSpace space;
  space.base.precision = Precision::BF16;
  space.base.seq = test.seq;
  auto constrain = [&](llvm::StringRef name, const std::string &text) {
    llvm::cantFail(space.constrain(name, text));
  };
  constrain("gpus", std::to_string(test.gpus));
  constrain("global-batch", std::to_string(test.batch));
  for (auto [name, text] : test.constraints)
    constrain(name, text);
  std::vector<ClusterSpec> clusters{*cluster};
  LayoutSpace layouts(subject, clusters, space);
  double listed = now();
  SearchOptions options;
  options.threads = threads;
  SearchResult result =
      exhaustive ? priceAllLayouts(subject, clusters, layouts, options)
                 : searchLayouts(subject, clusters, layouts, options);
  double seconds = now() - start;
  const SearchCounts &counts = result.counts;
  llvm::outs() << llvm::formatv(
      R"({{"bench": "plan_search", "model": "{0}", "gpus": {1}, )"
      R"("threads": {2}, "exhaustive": {3}, "layouts": {4}, "invalid": {5}, )"
      R"("bounded": {6}, "too_large": {7}, "priced": {8}, "shapes": {9}, )"
      R"("listing_seconds": {10:f3}, "seconds": {11:f3}, "target_seconds": )"
      R"({12}, "gap": {13}, "front": {14}, "processor_seconds": {15:f3}, )",
      test.model, test.gpus, threads, exhaustive, counts.layouts,
      counts.invalid, counts.bounded, counts.tooLarge, counts.priced,
      counts.shapes, listed - start, seconds, test.target, result.gap,
      result.front.size(), processorSeconds() - busy);
  if (!result.top.empty())
    llvm::outs() << llvm::formatv(
        R"("step_seconds": {0:f4}, "memory_gb": {1:f2}, "plan": "{2} {3}")",
        result.top[0].seconds, result.top[0].bytes / 1e9,
        result.top[0].plan.summary(), stringify(result.top[0].plan.schedule));
  llvm::outs() << "}\n";
  llvm::outs().flush();
  return llvm::Error::success();
}

} // namespace

int main() {
  const Case cases[] = {
      {"llama3-405b", 16384, 8192, 2048, 5, {}},
      {"llama3-70b", 512, 8192, 512, 3, {}},
      {"llama3-8b", 64, 8192, 128, 1, {}},
      {"llama3-8b", 16, 8192, 64, 0, {{"cp", "..2"}, {"zero", "1,3"}}},
  };
  for (const Case &test : cases)
    for (unsigned threads : {2, 1})
      if (llvm::Error error = search(test, threads, /*exhaustive=*/false)) {
        llvm::errs() << "plan_search: " << llvm::toString(std::move(error))
                     << "\n";
        return 1;
      }
  llvm::cantFail(search(cases[3], 1, /*exhaustive=*/true));
  return 0;
}
