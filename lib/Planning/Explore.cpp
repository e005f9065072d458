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
  /// Returns the indices of a step's parts.
  std::vector<size_t> add(llvm::ArrayRef<Cause> step);
  /// The parts in an order that follows that of steps, and the place of each
  /// index in it.
  std::pair<std::vector<Cause>, std::vector<size_t>> arrange() const;

private:
  std::map<std::pair<std::string, std::string>, size_t> indices;
  std::vector<Cause> parts;
  std::set<std::vector<size_t>> steps;
};

} // namespace

std::vector<size_t> PartList::add(llvm::ArrayRef<Cause> step) {
  std::vector<size_t> list;
  for (const Cause &part : step) {
    auto [found, isNew] =
        indices.try_emplace({part.name, part.resource}, parts.size());
    if (isNew)
      parts.push_back({part.name, 0, part.resource});
    list.push_back(found->second);
  }
  steps.insert(list);
  return list;
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

const std::string *Exploration::findError(size_t index) const {
  auto found =
      llvm::lower_bound(invalid, index, [](const auto &entry, size_t index) {
        return entry.first < index;
      });
  return found != invalid.end() && found->first == index ? &found->second
                                                         : nullptr;
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
  std::vector<Cause> step = listWaterfall(report);
  for (auto [index, part] : llvm::zip(parts.add(step), step))
    layout.parts.emplace_back(index, part.seconds);
  return layout;
}

/// True if `a` is a better layout to begin with.
static bool isBetter(const ExploredLayout &a, const ExploredLayout &b) {
  if (a.fits != b.fits)
    return a.fits;
  return a.fits ? a.secondsPerToken() < b.secondsPerToken()
                : a.totalBytes < b.totalBytes;
}

llvm::Expected<Exploration> tessera::explore(ExploredSpace space,
                                             PlanPricer &pricer,
                                             const PlanQuestion &question,
                                             ExploredPlanMaker makePlan) {
  Exploration result;
  PartList parts;
  for (size_t index = 0; index < space.size(); ++index) {
    llvm::Expected<ExecutedPlan> plan = makePlan(space.getValues(index));
    llvm::Error error = plan.takeError();
    if (!error) {
      llvm::Expected<PlanReport> report = pricer.report(*plan, question);
      if (report) {
        if (result.layouts.empty()) {
          result.parameters = report->parameters;
          result.capacity = report->capacity;
          for (const auto &[name, bytes] : report->peakMemory().categories())
            result.categories.push_back(name);
        }
        result.layouts.push_back(describeLayout(index, *report, parts));
        if (isBetter(result.layouts.back(), result.layouts[result.best]))
          result.best = result.layouts.size() - 1;
        continue;
      }
      error = report.takeError();
    }
    result.invalid.emplace_back(index, llvm::toString(std::move(error)));
  }
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
  result.cluster = pricer.getCluster().name;
  for (const LevelSpec &level : pricer.getCluster().levels)
    result.links.push_back(level.name);
  return result;
}
