//===- Explore.cpp - All layouts of a space, reported ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ExploreSection.cpp makes the tables.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/Explore.h"
#include "tessera/Planning/PlanSection.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <set>
#include <thread>

using namespace tessera;
using namespace tessera::cost;
using llvm::formatv;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// The space
//===----------------------------------------------------------------------===//

std::string ExploredOption::getArgument(StringRef value) const {
  return (field->getOption() + (field->value.empty() ? "=" : " ") + value)
      .str();
}

llvm::Expected<ExploredSpace>
ExploredSpace::make(std::vector<ExploredOption> options) {
  if (options.empty())
    return llvm::createStringError(
        "--explore expects an option with several values, as --tp 1,2,4");
  double count = 1;
  for (const ExploredOption &option : options)
    count *= double(option.values.size());
  if (count > double(kMostExplored)) {
    auto most = llvm::max_element(options, [](const auto &a, const auto &b) {
      return a.values.size() < b.values.size();
    });
    return llvm::createStringError(
        formatv("--explore expects at most {0} layouts but got {1}; {2} has "
                "the most values, {3}",
                groupedText(double(kMostExplored)), groupedText(count),
                most->field->getOption(), most->values.size()));
  }
  ExploredSpace space;
  space.options = std::move(options);
  space.count = size_t(count);
  return space;
}

llvm::SmallVector<StringRef> ExploredSpace::getValues(size_t index) const {
  llvm::SmallVector<StringRef> values(options.size());
  for (size_t i = options.size(); i-- > 0;) {
    values[i] = options[i].values[index % options[i].values.size()];
    index /= options[i].values.size();
  }
  return values;
}

std::string ExploredSpace::describe(size_t index) const {
  std::vector<std::string> words;
  for (auto [option, value] : llvm::zip(options, getValues(index)))
    words.push_back((option.field->name + " " + value).str());
  return llvm::join(words, ", ");
}

//===----------------------------------------------------------------------===//
// Its layouts
//===----------------------------------------------------------------------===//

namespace {

/// The parts that the steps of layouts have, by index.
class PartList {
public:
  size_t add(const Cause &part);
  const Cause &operator[](size_t index) const { return parts[index]; }
  size_t size() const { return parts.size(); }
  /// Adds the order of a step's parts.
  void addStep(std::vector<size_t> step) { steps.insert(std::move(step)); }
  /// The parts in an order that follows that of steps, and the place of each
  /// index in it.
  std::pair<std::vector<Cause>, std::vector<size_t>> arrange() const;

private:
  std::map<std::pair<std::string, std::string>, size_t> indices;
  std::vector<Cause> parts;
  std::set<std::vector<size_t>> steps;
};

/// Consecutive combinations of a space, which one thread reports.
struct ExploredRange {
  size_t begin = 0, end = 0;
  std::vector<ExploredLayout> layouts;
  std::vector<std::pair<size_t, std::string>> invalid;
  /// The parts of the layouts' steps.
  PartList parts;
  /// The report of the first valid layout.
  std::optional<PlanReport> first;
};

} // namespace

size_t PartList::add(const Cause &part) {
  auto [found, isNew] =
      indices.try_emplace({part.name, part.resource}, parts.size());
  if (isNew)
    parts.push_back({part.name, 0, part.resource});
  return found->second;
}

std::pair<std::vector<Cause>, std::vector<size_t>> PartList::arrange() const {
  // Steps with more parts say more about their order.
  std::vector<std::vector<size_t>> longest(steps.begin(), steps.end());
  llvm::sort(longest, [](const auto &a, const auto &b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  std::vector<size_t> order;
  for (const std::vector<size_t> &step : longest) {
    auto place = order.begin();
    for (size_t index : step) {
      auto found = llvm::find(order, index);
      place =
          std::next(found == order.end() ? order.insert(place, index) : found);
    }
  }
  std::vector<Cause> arranged;
  std::vector<size_t> places(order.size());
  for (const auto &[place, index] : llvm::enumerate(order)) {
    arranged.push_back(parts[index]);
    places[index] = place;
  }
  return {arranged, places};
}

static ExploredLayout describeLayout(size_t index, const PlanReport &report,
                                     PartList &parts) {
  const ExecutedPlan &plan = report.plan;
  ExploredLayout layout;
  layout.index = index;
  layout.dp = plan.dp;
  layout.microBatches = plan.microBatches;
  layout.globalBatch = plan.globalBatch();
  layout.devices = plan.gpus();
  layout.contextMethod = plan.cpMethod.getName();
  layout.fits = report.fits();
  layout.fitProbability = report.fitProbability;
  layout.seconds = report.stepSeconds;
  layout.tokens = plan.tokens();
  layout.tokensPerSecond = report.tokensPerSecond;
  layout.mfu = report.mfu;
  layout.days = report.days;
  layout.dollars = report.dollars;
  layout.bottleneck = report.bottleneck;
  layout.fullest = report.fullest;
  for (const auto &[name, bytes] : report.peakMemory().categories())
    layout.bytes.push_back(bytes);
  layout.totalBytes = report.peakMemory().total();
  for (const Cause &part : listWaterfall(report))
    layout.parts.emplace_back(parts.add(part), part.seconds);
  return layout;
}

/// True if `a` is a better layout to begin with.
static bool isBetter(const ExploredLayout &a, const ExploredLayout &b) {
  if (a.fits != b.fits)
    return a.fits;
  return a.fits ? a.secondsPerToken() < b.secondsPerToken()
                : a.totalBytes < b.totalBytes;
}

/// Reports the combinations of a range.
static void exploreRange(const ExploredSpace &space, PlanPricer &pricer,
                         const PlanQuestion &question,
                         ExploredPlanMaker makePlan, ExploredRange &range) {
  range.layouts.reserve(range.end - range.begin);
  for (size_t index = range.begin; index < range.end; ++index) {
    llvm::Expected<ExecutedPlan> plan = makePlan(space.getValues(index));
    if (!plan) {
      range.invalid.emplace_back(index, llvm::toString(plan.takeError()));
      continue;
    }
    llvm::Expected<PlanReport> report = pricer.report(*plan, question);
    if (!report) {
      range.invalid.emplace_back(index, llvm::toString(report.takeError()));
      continue;
    }
    range.layouts.push_back(describeLayout(index, *report, range.parts));
    if (!range.first)
      range.first = std::move(*report);
  }
}

/// Reports the combinations of a space in as many ranges as there are threads.
static std::vector<ExploredRange>
exploreRanges(const ExploredSpace &space, const Subject &subject,
              const ClusterSpec &cluster, const PlanQuestion &question,
              ExploredPlanMaker makePlan, size_t numThreads) {
  std::vector<ExploredRange> ranges(std::max<size_t>(numThreads, 1));
  auto work = [&](size_t i) {
    ranges[i].begin = space.size() * i / ranges.size();
    ranges[i].end = space.size() * (i + 1) / ranges.size();
    PlanPricer pricer(subject, cluster);
    exploreRange(space, pricer, question, makePlan, ranges[i]);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < ranges.size(); ++i)
    threads.emplace_back(work, i);
  work(0);
  for (std::thread &thread : threads)
    thread.join();
  return ranges;
}

/// Appends the layouts of a range. Their parts are those of `parts`.
static void addRange(ExploredRange &range, PartList &parts,
                     Exploration &result) {
  std::vector<std::optional<size_t>> indices(range.parts.size());
  for (ExploredLayout &layout : range.layouts) {
    std::vector<size_t> step;
    for (auto &[part, seconds] : layout.parts) {
      if (!indices[part])
        indices[part] = parts.add(range.parts[part]);
      part = *indices[part];
      step.push_back(part);
    }
    parts.addStep(std::move(step));
    result.layouts.push_back(std::move(layout));
    if (isBetter(result.layouts.back(), result.layouts[result.best]))
      result.best = result.layouts.size() - 1;
  }
  llvm::append_range(result.invalid, range.invalid);
  if (!range.first || !result.categories.empty())
    return;
  result.parameters = range.first->parameters;
  result.capacity = range.first->capacity;
  for (const auto &[name, bytes] : range.first->peakMemory().categories())
    result.categories.push_back(name);
}

llvm::Expected<Exploration>
tessera::explore(ExploredSpace space, const Subject &subject,
                 const ClusterSpec &cluster, const PlanQuestion &question,
                 ExploredPlanMaker makePlan, size_t numThreads) {
  Exploration result;
  result.layouts.reserve(space.size());
  PartList parts;
  PlanQuestion brief = question;
  brief.isBrief = true;
  for (ExploredRange &range :
       exploreRanges(space, subject, cluster, brief, makePlan, numThreads))
    addRange(range, parts, result);
  if (result.layouts.empty())
    return llvm::createStringError(formatv(
        "--explore expects a valid layout but got {0} invalid ones; "
        "the first, {1}: {2}",
        space.size(), space.describe(0), result.invalid.front().second));
  auto [arranged, places] = parts.arrange();
  result.parts = std::move(arranged);
  for (ExploredLayout &layout : result.layouts)
    for (auto &[part, seconds] : layout.parts)
      part = places[part];
  result.space = std::move(space);
  result.model = question.model;
  result.cluster = cluster.name;
  for (const LevelSpec &level : cluster.levels)
    result.links.push_back(level.name);
  return result;
}
