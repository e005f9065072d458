//===- plan_search.cpp - Seconds to find the best layout ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches the layouts of four models on a cluster of H100, each search from
// scratch, and also prices all layouts of a small space. Then draws random
// layouts and checks their bounds against their prices. Prints one JSON line
// each: counts, seconds, gap, the best plan; layouts by schedule.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/LayoutSearch.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <map>
#include <random>
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

/// CPU seconds of all threads.
double processorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Reads a model of share/models.
llvm::Expected<Subject> readSubject(const std::string &name) {
  return Subject::readFile(TESSERA_SHARE "/models/" + name + ".json");
}

llvm::Error search(const Case &test, unsigned threads, bool exhaustive) {
  auto read = readSubject(test.model);
  if (!read)
    return read.takeError();
  auto cluster = readClusterSpec(TESSERA_SHARE "/clusters/h100-sxm-ib.json");
  if (!cluster)
    return cluster.takeError();
  double start = now(), busy = processorSeconds();
  Subject subject = std::move(*read);
  PlanSpace space;
  space.base.precision = Precision::BF16;
  space.base.seq = test.seq;
  auto constrain = [&](llvm::StringRef name, const std::string &text) {
    llvm::cantFail(space.constrain(name, text));
  };
  constrain("ranks", std::to_string(test.gpus));
  constrain("global-batch", std::to_string(test.batch));
  for (auto [name, text] : test.constraints)
    constrain(name, text);
  std::vector<ClusterSpec> clusters{*cluster};
  LayoutSpace layouts(subject, clusters, space);
  double listed = now();
  SearchOptions options;
  options.threads = threads;
  // Seconds until a plan is found that fits.
  double first = 0;
  auto note = [&](const SearchProgress &progress) {
    if (progress.best && first == 0)
      first = now() - start;
    return true;
  };
  options.progress = note;
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
      R"({12}, "gap": {13}, "front": {14}, "processor_seconds": {15:f3}, )"
      R"("first_plan_seconds": {16:f3}, )",
      test.model, test.gpus, threads, exhaustive, counts.layouts,
      counts.invalid, counts.bounded, counts.tooLarge, counts.priced,
      counts.shapes, listed - start, seconds, test.target, result.gap,
      result.front.size(), processorSeconds() - busy, first);
  if (!result.top.empty())
    llvm::outs() << llvm::formatv(
        R"("step_seconds": {0:f4}, "memory_gb": {1:f2}, "plan": "{2} {3}")",
        result.top[0].seconds, result.top[0].bytes / 1e9,
        result.top[0].plan.summary(), stringify(result.top[0].plan.schedule));
  llvm::outs() << "}\n";
  llvm::outs().flush();
  return llvm::Error::success();
}

/// Measures `ofEach` random layouts of each schedule, or as many as are drawn.
/// Returns false if a bound is above the price.
bool checkBounds(const Subject &subject, const ClusterSpec &cluster,
                 const char *gpus, int64_t ofEach) {
  PlanSpace given;
  given.base.precision = Precision::BF16;
  given.base.seq = 4096;
  llvm::cantFail(given.constrain("ranks", gpus));
  llvm::cantFail(given.constrain("global-batch", "512"));
  llvm::cantFail(given.constrain("cp-method", "auto"));
  std::vector<ClusterSpec> clusters{cluster};
  LayoutSpace space(subject, clusters, given);
  LayoutProbe probe(subject, clusters, space);
  std::mt19937 random(1);
  std::map<llvm::StringRef, int64_t> drawn;
  int64_t violations = 0, count = 0;
  double tightness = 0, start = now();
  // The rarest schedule has about one of fifty layouts.
  for (int64_t draws = 0; draws < 70 * ofEach; ++draws) {
    uint32_t index = random() % space.getShapes().size();
    const LayoutShape &shape = space.getShapes()[index];
    auto pipelines = space.getPipelines(shape);
    size_t pipeline = random() % pipelines.size();
    if (drawn[stringify(pipelines[pipeline].schedule)] >= ofEach)
      continue;
    auto zeros = space.getZeros(shape, pipelines[pipeline]);
    auto bounds = probe.measure(index, pipeline, random() % zeros.size());
    if (!bounds)
      continue;
    double seconds = bounds->priced.seconds;
    bool holds = bounds->bytes <= bounds->priced.bytes;
    for (double bound :
         {bounds->axes, bounds->sequence, bounds->layers, bounds->chunks})
      holds &= bound <= seconds;
    if (!holds)
      llvm::errs() << llvm::formatv(
          "{0} cp-method={1} {2}: {3} s, {4} bytes; bounds {5} {6} {7} {8} s, "
          "{9} bytes\n",
          bounds->priced.plan.summary(), bounds->priced.plan.cpMethod.getName(),
          stringify(bounds->priced.plan.schedule), seconds,
          bounds->priced.bytes, bounds->axes, bounds->sequence, bounds->layers,
          bounds->chunks, bounds->bytes);
    violations += !holds;
    ++count;
    tightness += bounds->chunks / seconds;
    ++drawn[stringify(bounds->priced.plan.schedule)];
  }
  llvm::outs() << llvm::formatv(
      R"({{"bench": "plan_search_bounds", "model": "{0}", "gpus": "{1}", )"
      R"("layouts": {2}, "violations": {3}, "mean_chunks_bound": {4:f3}, )"
      R"("seconds": {5:f1}, "schedules": {{)",
      subject.name(), gpus, count, violations, tightness / double(count),
      now() - start);
  llvm::ListSeparator comma;
  for (const auto &[name, times] : drawn)
    llvm::outs() << comma << '"' << name << "\": " << times;
  llvm::outs() << "}}\n";
  llvm::outs().flush();
  return violations == 0;
}

llvm::Error checkAllBounds() {
  auto large = readClusterSpec(TESSERA_SHARE "/clusters/h100-sxm-ib.json");
  if (!large)
    return large.takeError();
  auto small = readClusterSpec(TESSERA_SHARE "/clusters/a100-40-sxm-ib.json");
  if (!small)
    return small.takeError();
  for (const char *name : {"llama3-8b", "gpt2-xl", "deepseek-v3"}) {
    auto subject = readSubject(name);
    if (!subject)
      return subject.takeError();
    for (const ClusterSpec *cluster : {&*large, &*small})
      if (!checkBounds(*subject, *cluster, "64,96", 17000))
        return llvm::createStringError("a bound is above a price");
  }
  return llvm::Error::success();
}

} // namespace

int main() {
  const Case cases[] = {
      {"llama3-405b", 16384, 8192, 2048, 5, {}},
      {"llama3-70b", 512, 8192, 512, 3, {}},
      {"llama3-8b", 64, 8192, 128, 1, {}},
      {"llama3-8b", 16, 8192, 64, 0, {{"cp", "..2"}, {"zero", "1,3"}}},
      {"deepseek-v3", 2048, 4096, 15360, 5, {}},
  };
  for (const Case &test : cases)
    for (unsigned threads : {2, 1})
      if (llvm::Error error = search(test, threads, /*exhaustive=*/false)) {
        llvm::errs() << "plan_search: " << llvm::toString(std::move(error))
                     << "\n";
        return 1;
      }
  llvm::cantFail(search(cases[3], 1, /*exhaustive=*/true));
  if (llvm::Error error = checkAllBounds()) {
    llvm::errs() << "plan_search: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
