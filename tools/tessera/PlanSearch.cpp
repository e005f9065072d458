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
#include "tessera/Cluster/ScaleLinks.h"
#include "tessera/Cost/DeviceModel.h"
#include "tessera/Cost/Frameworks.h"
#include "tessera/Planning/WhatIf.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Share.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <thread>

using namespace tessera;
using llvm::StringRef;

namespace {

using Clock = std::chrono::steady_clock;

/// Default of --fit: the probability that the memory of a plan suffices.
constexpr double kFit = 0.9;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Prints a line on stderr every few seconds, and ends the search at its time
/// limit.
class Watch {
public:
  /// `limit` is in seconds; 0: none.
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

/// Applies the settings of Tessera's own programs to the plans of a space,
/// except for options and settings that are given, and excludes plans that the
/// compiler does not build. The settings of other frameworks depend on the
/// layout.
llvm::Error applyOwnSettings(const ParsedOptions &parsed,
                             const cost::GivenExecutedPlan &given,
                             PlanSpace &space) {
  StringRef name = parsed.get("--framework");
  if (name != "tessera")
    return llvm::createStringError(
        "--framework expects tessera with --search but got '" + name + "'");
  auto framework = cost::readFramework(name);
  if (!framework)
    return framework.takeError();
  constexpr StringRef kGathered = "keep-gathered";
  cost::GivenExecutedPlan own = given, settings;
  for (const Field<cost::ExecutedPlan> &field : getFields<cost::ExecutedPlan>())
    if (parsed.has(field.getOption()))
      llvm::cantFail(own.set(field.name, field.print(space.base)));
  settings.plan = space.base;
  cost::applyFramework(*framework, own, cost::FrameworkRun(), settings);
  space.base = settings.plan;
  // Matters only with tp; the search would try both values otherwise.
  if (!own.has(kGathered))
    llvm::cantFail(space.constrain(kGathered, "on"));
  space.compilable = true;
  return llvm::Error::success();
}

llvm::Expected<PlanSpace> readSpace(const ParsedOptions &parsed,
                                    const Subject &subject) {
  PlanSpace space;
  space.base.precision = Precision::BF16;
  space.base.seq = subject.maxPositions();
  space.compilable = parsed.has("--compilable");
  for (StringRef other :
       {"--plan", "--from-program", "--schedule-csv", "--observed"})
    if (parsed.has(other))
      return llvm::createStringError("expects --search or " + other +
                                     " but got both");
  for (StringRef needed : {"--ranks", "--global-batch", "--cluster"})
    if (!parsed.has(needed) && !(needed == "--ranks" && parsed.has("--days")))
      return llvm::createStringError("expects " + needed + " with --search");
  for (const cost::ExecutedPlanField &field : getFields<cost::ExecutedPlan>()) {
    std::string option = field.getOption();
    if (!(field.uses & FieldUse::kPriced) || !parsed.has(option))
      continue;
    if (llvm::Error error =
            space.constrain(field.name, getFieldText(field, parsed)))
      return prefixError("--", std::move(error));
  }
  cost::GivenExecutedPlan given;
  given.plan = space.base;
  if (llvm::Error error = readExecutionFile(parsed, given))
    return std::move(error);
  if (llvm::Error error = readSettings(parsed, given))
    return std::move(error);
  space.base = given.plan;
  if (parsed.has("--framework"))
    if (llvm::Error error = applyOwnSettings(parsed, given, space))
      return std::move(error);
  return space;
}

/// Reads the clusters (one or several) and their prices.
llvm::Error readClusters(const ParsedOptions &parsed,
                         std::vector<ClusterSpec> &clusters,
                         std::vector<double> &prices) {
  for (StringRef path : parsed.getList("--cluster")) {
    auto cluster = readScaledCluster(parsed, path);
    if (!cluster)
      return cluster.takeError();
    clusters.push_back(std::move(*cluster));
  }
  for (StringRef text : parsed.getList("--price")) {
    std::optional<double> price = parseAmount(text);
    prices.push_back(price.value_or(0));
    if (!(prices.back() > 0) || prices.back() > 1e30)
      return llvm::createStringError(
          "--price expects a number above 0 for each cluster but got '" +
          parsed.get("--price") + "'");
  }
  bool needed = parsed.has("--cheapest") && clusters.size() > 1;
  if (prices.size() > clusters.size() ||
      (prices.size() < clusters.size() && (needed || !prices.empty())))
    return llvm::createStringError(llvm::formatv(
        "--price expects {0} numbers, one for each cluster, but got {1}",
        clusters.size(), prices.size()));
  return llvm::Error::success();
}

llvm::Expected<SearchOptions> readOptions(const ParsedOptions &parsed) {
  SearchOptions options;
  if (parsed.has("--cheapest"))
    options.objective = SearchObjective::Dollars;
  auto top = parsed.getInteger("--top", 1);
  if (!top)
    return top.takeError();
  options.top = top->value_or(options.top);
  auto threads = parsed.getInteger("--threads", 1);
  if (!threads)
    return threads.takeError();
  options.threads = threads->value_or(std::thread::hardware_concurrency());
  auto fit = readNumber(parsed, "--fit");
  if (!fit)
    return fit.takeError();
  options.fit = parsed.has("--fit") ? *fit : kFit;
  if (options.fit < 0.5 || options.fit >= 1)
    return llvm::createStringError(
        "--fit expects a probability from 0.5 and below 1 but got '" +
        parsed.get("--fit") + "'");
  auto front = readNumber(parsed, "--front");
  if (!front)
    return front.takeError();
  if (parsed.has("--front"))
    options.frontSlack = *front / 100;
  return options;
}

/// Sets the number of devices to the smallest that meets --days; none without
/// --days.
llvm::Expected<std::optional<FewestDevices>>
readDays(const ParsedOptions &parsed, const Subject &subject,
         llvm::ArrayRef<ClusterSpec> clusters, PlanSpace &given,
         const SearchOptions &options, double tokens) {
  auto days = readNumber(parsed, "--days");
  if (!days)
    return days.takeError();
  if (!parsed.has("--days"))
    return std::nullopt;
  if (tokens == 0)
    return llvm::createStringError("--days expects --tokens beside it");
  if (clusters.size() > 1)
    return llvm::createStringError("--days expects one cluster but got " +
                                   llvm::Twine(clusters.size()));
  auto fewest = findFewestDevices(subject, clusters.front(), given, tokens,
                                  *days, options);
  if (!fewest)
    return fewest.takeError();
  llvm::cantFail(given.constrain("ranks", std::to_string(fewest->devices)));
  return *fewest;
}

/// Reads the plans of --among: a JSON list of plans, or the output file of a
/// search, whose plans are compared. Missing fields come from the options.
llvm::Expected<std::vector<cost::ExecutedPlan>>
readAmong(const ParsedOptions &parsed, const Subject &subject) {
  StringRef path = parsed.get("--among");
  auto value = readJsonValue(path);
  if (!value)
    return value.takeError();
  auto fail = [&](const llvm::Twine &text) {
    return llvm::createStringError(path + ": " + text);
  };
  llvm::json::Array list;
  if (llvm::json::Array *all = value->getAsArray()) {
    list = std::move(*all);
  } else if (llvm::json::Object *search =
                 value->getAsObject()
                     ? value->getAsObject()->getObject("search")
                     : nullptr) {
    for (StringRef name : {"top", "meshes", "points"})
      if (llvm::json::Array *part = search->getArray(name))
        for (llvm::json::Value &plan : *part)
          if (!llvm::is_contained(list, plan))
            list.push_back(plan);
  }
  if (list.empty())
    return fail("expects a list of plans, or the file of a search");
  std::vector<cost::ExecutedPlan> plans;
  for (const llvm::json::Value &entry : list) {
    const llvm::json::Object *object = entry.getAsObject();
    if (!object)
      return fail("expects a plan as an object");
    cost::GivenExecutedPlan given;
    given.plan.precision = Precision::BF16;
    given.plan.seq = subject.maxPositions();
    const llvm::json::Object *layout = object->getObject("layout");
    llvm::Error error = readPlanOptions(parsed, FieldUse::kPriced, given);
    if (!error)
      error = cost::readPlan(layout ? *layout : *object, given);
    if (!error)
      error = given.complete();
    if (error)
      return fail("plan " + llvm::Twine(plans.size() + 1) + ": " +
                  llvm::toString(std::move(error)));
    plans.push_back(given.plan);
  }
  return plans;
}

/// Writes the report as text or JSON to stdout, and as JSON to the file of -o,
/// which --plan reads as a plan.
llvm::Error writeSearch(const ParsedOptions &parsed,
                        const SearchReport &report) {
  Document document{report.best.model,
                    parsed.commandLine,
                    {report.bestSection, makeSearchSection(report)},
                    toJson(report)};
  auto style = readPictureOption(parsed, /*output=*/"");
  if (!style)
    return style.takeError();
  if (llvm::Error error = writePageOption(parsed, document))
    return error;
  auto writeJson = [&](llvm::raw_ostream &os) { document.print(os); };
  if (parsed.has("-o"))
    if (llvm::Error error = writeOutput(parsed.get("-o"), writeJson))
      return error;
  if (parsed.has("--flags"))
    return writeMegatronFlags(report.best.plan, /*output=*/"");
  return writeOutput("", [&](llvm::raw_ostream &os) {
    if (parsed.has("--json"))
      return writeJson(os);
    print(report, os);
    if (*style)
      printPictures(report.bestSection, **style, os);
  });
}

cost::PlanQuestion makeQuestion(const Subject &subject,
                                const SearchOptions &options, double tokens,
                                size_t cluster) {
  cost::PlanQuestion question;
  question.model = subject.name();
  question.tokens = tokens;
  if (!options.prices.empty())
    question.price = options.priceOf(cluster);
  return question;
}

/// Searches plans with offloaded optimizer state, for the case that no plan
/// fits without. Returns false and changes nothing if none of these fits
/// either.
bool searchOffloaded(const Subject &subject,
                     llvm::ArrayRef<ClusterSpec> clusters, PlanSpace &given,
                     LayoutSpace &space, const SearchOptions &options,
                     SearchResult &result) {
  if (given.compilable)
    return false;
  PlanSpace offloaded = given;
  llvm::cantFail(offloaded.constrain("offload", "host,nvme"));
  SearchOptions others = options;
  others.findsSmallest = false;
  LayoutSpace layouts(subject, clusters, offloaded);
  SearchResult found = searchLayouts(subject, clusters, layouts, others);
  if (found.top.empty())
    return false;
  given = std::move(offloaded);
  space = LayoutSpace(subject, clusters, given);
  result = std::move(found);
  return true;
}

/// Answers the questions about the best plan: --why and --what-if.
llvm::Error askMore(const ParsedOptions &parsed, const Subject &subject,
                    llvm::ArrayRef<ClusterSpec> clusters,
                    const PlanSpace &given, const SearchOptions &options,
                    SearchReport &report) {
  FoundPlan best = report.result.top.front();
  if (parsed.has("--why")) {
    auto asked = explainLayout(subject, clusters, given, parsed.get("--why"),
                               best, options);
    if (!asked)
      return prefixError("--why: ", asked.takeError());
    report.asked.push_back(std::move(*asked));
  }
  if (parsed.has("--what-if"))
    report.whatIfs = findWhatIfs(subject, clusters, given, best, options);
  return llvm::Error::success();
}

} // namespace

llvm::Error tessera::checkSearchOptions(const ParsedOptions &parsed) {
  for (StringRef option :
       {"--compilable", "--top", "--front", "--search-seconds", "--threads",
        "--cheapest", "--days", "--why", "--what-if", "--among", "--fit"})
    if (parsed.has(option))
      return llvm::createStringError(option + " expects --search beside it");
  return llvm::Error::success();
}

llvm::Expected<ClusterSpec> tessera::readCluster(StringRef value) {
  auto path = resolveShared("clusters", value, "--cluster");
  if (!path)
    return path.takeError();
  auto cluster = readClusterSpec(*path);
  if (cluster)
    if (llvm::Error error = cost::checkConstants(cluster->device))
      return prefixError(*path + ": ", std::move(error));
  return cluster;
}

llvm::Expected<ClusterSpec>
tessera::readScaledCluster(const ParsedOptions &parsed, StringRef value) {
  auto cluster = readCluster(value);
  if (!cluster || !parsed.has("--links-scale"))
    return cluster;
  if (llvm::Error error = scaleLevels(*cluster, parsed.get("--links-scale")))
    return prefixError("--links-scale ", std::move(error));
  return cluster;
}

/// Compares the plans of --among.
static llvm::Expected<int> runAmong(const ParsedOptions &parsed,
                                    const Subject &subject) {
  auto plans = readAmong(parsed, subject);
  if (!plans)
    return plans.takeError();
  auto options = readOptions(parsed);
  if (!options)
    return options.takeError();
  options->top = plans->size();
  options->frontSlack = std::numeric_limits<double>::infinity();
  std::vector<ClusterSpec> clusters;
  if (llvm::Error error = readClusters(parsed, clusters, options->prices))
    return std::move(error);
  if (clusters.size() != 1)
    return llvm::createStringError("expects --cluster, one FILE, with --among");
  SearchResult result = rankPlans(subject, clusters.front(), *plans, *options);
  if (result.top.empty()) {
    std::string text =
        llvm::formatv("{0}: none of {1} plans suits the model and fits",
                      parsed.get("--among"), plans->size());
    if (!result.smallest)
      return llvm::createStringError(text);
    reportError("plan", llvm::createStringError(text));
    return kDoesNotFit;
  }
  auto report = makeSearchReport(subject, clusters, PlanSpace(), nullptr,
                                 std::move(result), *options,
                                 makeQuestion(subject, *options, 0, 0));
  if (!report)
    return report.takeError();
  if (llvm::Error error = writeSearch(parsed, *report))
    return std::move(error);
  return 0;
}

llvm::Expected<int> tessera::runPlanSearch(const ParsedOptions &parsed,
                                           const Subject &subject) {
  if (parsed.has("--among"))
    return runAmong(parsed, subject);
  auto given = readSpace(parsed, subject);
  if (!given)
    return given.takeError();
  auto options = readOptions(parsed);
  if (!options)
    return options.takeError();
  auto limit = readNumber(parsed, "--search-seconds");
  if (!limit)
    return limit.takeError();
  auto tokens = readNumber(parsed, "--tokens");
  if (!tokens)
    return tokens.takeError();
  std::vector<ClusterSpec> clusters;
  if (llvm::Error error = readClusters(parsed, clusters, options->prices))
    return std::move(error);

  Watch watch(*limit);
  // All searches share one watch.
  options->progress = std::ref(watch);
  auto fewest = readDays(parsed, subject, clusters, *given, *options, *tokens);
  if (!fewest)
    return fewest.takeError();
  LayoutSpace space(subject, clusters, *given);
  if (space.getShapes().empty())
    return explainNoPlan(subject, clusters, *given, space, nullptr);
  SearchResult result = searchLayouts(subject, clusters, space, *options);
  if (result.top.empty() && !given->find("offload"))
    if (searchOffloaded(subject, clusters, *given, space, *options, result))
      llvm::errs() << "no layout fits without --offload\n";
  if (result.top.empty()) {
    bool isTooLarge = result.smallest.has_value();
    llvm::Error error =
        explainNoPlan(subject, clusters, *given, space, &result, options->fit);
    if (!isTooLarge)
      return std::move(error);
    reportError("plan", std::move(error));
    return kDoesNotFit;
  }
  llvm::errs() << llvm::formatv("searched {0} layouts in {1:f1} s\n",
                                withSeparators(result.counts.layouts),
                                watch.seconds());
  cost::PlanQuestion question =
      makeQuestion(subject, *options, *tokens, result.top.front().cluster);
  if (llvm::Error error = readFrameworkOf(parsed, question))
    return std::move(error);
  auto report = makeSearchReport(subject, clusters, *given, &space,
                                 std::move(result), *options, question);
  if (!report)
    return report.takeError();
  report->fewest = *fewest;
  report->files.config = parsed.positional[0];
  report->files.cluster =
      parsed.getList("--cluster")[report->result.top.front().cluster].str();
  if (parsed.has("-o") && parsed.get("-o") != "-")
    report->files.plan = parsed.get("-o").str();
  if (llvm::Error error =
          askMore(parsed, subject, clusters, *given, *options, *report))
    return std::move(error);
  if (llvm::Error error = writeSearch(parsed, *report))
    return std::move(error);
  return 0;
}
