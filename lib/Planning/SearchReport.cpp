//===- SearchReport.cpp - The results of a search, and their causes -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/SearchReport.h"
#include "tessera/Cost/Uncertainty.h"
#include "tessera/Planning/PlanSection.h"
#include "tessera/Training/TrainingPlan.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <tuple>

using namespace tessera;
using namespace tessera::cost;
using llvm::formatv;
using llvm::StringRef;
namespace json = llvm::json;

double tessera::probabilityFaster(const FoundPlan &best,
                                  const FoundPlan &found) {
  return cost::probabilityFaster(best.plan, best.time, found.plan, found.time);
}

/// Returns the plan with the smallest uncertainty among the best plans and
/// meshes.
static std::optional<FoundPlan>
findSurest(const SearchResult &result, llvm::ArrayRef<ClusterSpec> clusters) {
  auto rank = [&](const FoundPlan &found) {
    Doubt doubt = timeDoubt(
        noveltyOf(found.plan, found.plan.execution(), clusters[found.cluster]));
    // Memory is rounded to GB: less makes no difference.
    return std::tuple(doubt.halfWidth(kSure),
                      std::floor((found.bytes - found.limit) / 1e9),
                      found.numAxes());
  };
  const FoundPlan &best = result.top.front();
  const FoundPlan *surest = &best;
  for (llvm::ArrayRef<FoundPlan> list :
       {llvm::ArrayRef(result.top), llvm::ArrayRef(result.meshes)})
    for (const FoundPlan &found : list)
      if (found.plan.gpus() == best.plan.gpus() &&
          found.cluster == best.cluster &&
          tessera::probabilityFaster(best, found) < kSure &&
          rank(found) < rank(*surest))
        surest = &found;
  if (surest == &best)
    return std::nullopt;
  return *surest;
}

static void describeSpace(const PlanSpace &given, const LayoutSpace &space,
                          SearchReport &report) {
  for (StringRef name : given.listGiven()) {
    const FieldChoice &choice = *given.find(name);
    report.given.push_back((name + "=" + choice.getText()).str());
    if (!llvm::is_contained(getSearchedFields(), name) &&
        choice.listValues(given.base).size() > 1)
      report.varied.push_back(name.str());
  }
  for (const LayoutSetting &setting : space.getSettings())
    report.hasCosts |= setting.gpus != space.getSettings().front().gpus ||
                       setting.cluster != space.getSettings().front().cluster;
  for (StringRef name : getSearchedFields())
    if (!given.find(name))
      report.searched.push_back(name.str());
}

llvm::Expected<SearchReport> tessera::makeSearchReport(
    const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
    const PlanSpace &given, const LayoutSpace *space, SearchResult result,
    const SearchOptions &options, const PlanQuestion &question) {
  SearchReport report;
  report.objective = options.objective;
  if (space)
    describeSpace(given, *space, report);
  for (const ClusterSpec &cluster : clusters)
    report.clusters.push_back(cluster.name);
  const FoundPlan &best = result.top.front();
  WorkReader reader;
  auto work = subject.read(reader, best.plan);
  if (!work)
    return work.takeError();
  schedule::PipelinePricer pricer;
  auto priced = makePlanReport(*work, best.plan, best.plan.execution(),
                               clusters[best.cluster], question, pricer);
  if (!priced)
    return priced.takeError();
  report.best = std::move(*priced);
  auto section = makePlanSection(
      report.best,
      makeMinimumMemory(subject, report.best.plan, report.best.capacity), *work,
      clusters[best.cluster], pricer);
  if (!section)
    return section.takeError();
  report.bestSection = std::move(*section);
  if (space)
    report.neighbours =
        findNeighbours(subject, clusters, *space, best, options.fit);
  if (llvm::Error error = checkCompiled(best.plan))
    report.notCompiled = llvm::toString(std::move(error));
  report.machines =
      llvm::divideCeil(best.plan.gpus(), clusters[best.cluster].innerDevices());
  report.surest = findSurest(result, clusters);
  report.result = std::move(result);
  return report;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string tessera::planText(const FoundPlan &found) {
  std::string text = found.plan.summary();
  // Fields that the report of one plan leaves out.
  for (StringRef name : {"shard-ranks", "keep-gathered"})
    if (const cost::ExecutedPlanField *field =
            findField<cost::ExecutedPlan>(name);
        !field->isDefault(found.plan))
      text += (" " + name + "=" + field->print(found.plan)).str();
  if (found.plan.pp > 1)
    text += (" " + stringify(found.plan.schedule)).str();
  return text;
}

/// Appends the fields that the search varied.
static std::string variedText(const SearchReport &report,
                              const FoundPlan &found) {
  std::string text = planText(found);
  for (const std::string &name : report.varied)
    text += " " + name + "=" +
            findField<cost::ExecutedPlan>(name)->print(found.plan);
  return text;
}

/// Prints "+3.2 %".
static std::string percentText(double ratio) {
  std::string text = differenceText(100 * (ratio - 1), /*digits=*/1);
  return (text == "0.0" ? "+" : "") + text + " %";
}

static std::string gigabytes(double bytes) {
  return formatv("{0:f1}", bytes / 1e9);
}

static void printCounts(const SearchReport &report, llvm::raw_ostream &os) {
  const SearchCounts &counts = report.result.counts;
  if (const std::optional<FewestDevices> &fewest = report.fewest)
    os << formatv("{0} is the fewest of {1}, {2}, ... devices that are through "
                  "{3:e2} tokens in {4:f1} days\n",
                  groupedText(fewest->devices), groupedText(fewest->first),
                  groupedText(fewest->first + fewest->node), fewest->tokens,
                  fewest->days);
  os << formatv("the best of {0} layouts\n", groupedText(counts.layouts));
  // Listed plans were not searched.
  bool isSearch = !report.searched.empty();
  if (isSearch)
    os << "  given: " << llvm::join(report.given, " ")
       << "\n  searched: " << llvm::join(report.searched, ", ")
       << "\n  not searched: stages that take longer than those that are split "
          "by time (--stage-layers), and other options\n";
  Table table;
  auto row = [&](int64_t count, const char *what) {
    table.addRow({"", groupedText(count), what});
  };
  table.alignLeft(2);
  row(counts.invalid, "contradict themselves or do not suit the model");
  if (isSearch) {
    row(counts.bounded, "cannot be better, by a bound of their time");
    row(counts.tooLarge, "need more memory than there is");
  }
  row(counts.priced, "were priced");
  row(counts.fit, "of these fit");
  table.print(os);
  if (!isSearch)
    return;
  os << formatv("  gap {0:f2} %: {1}\n", 100 * report.result.gap,
                report.result.stopped
                    ? "the search was stopped, a better layout may be left"
                    : "no layout of the space is better");
}

/// "+3.2 %": how much more a ratio is than 1.
static Table::Cell percentCell(double ratio) {
  return {percentText(ratio), 100 * (ratio - 1)};
}

/// Returns the probability that a plan is slower than the best one, or faster
/// if it is predicted to be, in percent.
static Table::Cell sureCell(const FoundPlan &best, const FoundPlan &found) {
  if (best.plan == found.plan)
    return "";
  double slower = tessera::probabilityFaster(best, found);
  return 100 * (found.time >= best.time ? slower : 1 - slower);
}

/// A column of differences in percent.
static Table::Column percentColumn(const char *name) {
  Table::Column column(name);
  column.unit = "%";
  return column;
}

/// A table that compares plans with the best one.
static Table plansTable(const SearchReport &report,
                        llvm::ArrayRef<FoundPlan> plans) {
  const FoundPlan &best = report.result.top.front();
  bool clusters = report.clusters.size() > 1;
  std::vector<Table::Column> head{"plan",
                                  {"seconds", "s", 3},
                                  percentColumn("time"),
                                  {"sure", "%", 0, " %"},
                                  {"GB", "GB", 1},
                                  {"free", "GB", 1}};
  if (report.hasCosts)
    head.insert(head.begin() + 1,
                {Table::Column("devices", "", 0), percentColumn("cost")});
  if (clusters)
    head.push_back("cluster");
  Table table(std::move(head));
  for (const FoundPlan &found : plans) {
    std::vector<Table::Cell> row{variedText(report, found),
                                 found.seconds,
                                 percentCell(found.time / best.time),
                                 sureCell(best, found),
                                 found.bytes / 1e9,
                                 (found.capacity - found.bytes) / 1e9};
    if (report.hasCosts)
      row.insert(row.begin() + 1, {Table::Cell(found.plan.gpus()),
                                   percentCell(found.dollars / best.dollars)});
    if (clusters)
      row.push_back(report.clusters[found.cluster]);
    table.addRow(std::move(row));
  }
  return table;
}

static void printPlans(const SearchReport &report, StringRef title,
                       llvm::ArrayRef<FoundPlan> plans, llvm::raw_ostream &os) {
  if (plans.empty())
    return;
  os << "\n" << title << "\n";
  plansTable(report, plans).print(os);
}

/// Prints the causes of most of the difference to the best plan.
static std::string causeText(const Neighbour &neighbour) {
  const FoundPlan &found = neighbour.found;
  std::string text;
  if (!found.fits())
    text = formatv("does not fit: {0} GB where it may need {1}",
                   gigabytes(found.bytes), gigabytes(found.limit));
  for (const auto &[name, difference] : neighbour.causes) {
    double size = std::abs(difference);
    text += formatv("{0}{1} {2}{3}", text.empty() ? "" : ", ", name,
                    difference > 0 ? "+" : "-",
                    found.fits() ? secondsText(size) : gigabytes(size) + " GB");
  }
  return text;
}

/// The best plan with one option changed.
static Table neighbourTable(const SearchReport &report) {
  const FoundPlan &best = report.result.top.front();
  Table table({"option", "best", "changed", percentColumn("time"), "why"});
  for (size_t column : {1, 2, 4})
    table.alignLeft(column);
  for (const Neighbour &neighbour : report.neighbours)
    table.addRow({neighbour.field, neighbour.from, "-> " + neighbour.to,
                  percentCell(neighbour.found.seconds / best.seconds),
                  causeText(neighbour)});
  return table;
}

static void printNeighbours(const SearchReport &report, llvm::raw_ostream &os) {
  const FoundPlan &best = report.result.top.front();
  for (const Neighbour &asked : report.asked) {
    std::string time = percentText(asked.found.time / best.time);
    os << formatv("\nwhy not {0}: the best of these is {1}", asked.field,
                  asked.to);
    // A lack of memory comes first.
    if (asked.found.fits())
      os << formatv(", {0} time a token; {1}\n", time, causeText(asked));
    else
      os << formatv(", which {0}; {1} time a token\n", causeText(asked), time);
  }
  if (!report.neighbours.empty())
    os << "\none option changed\n";
  neighbourTable(report).print(os, /*hasHead=*/false);
}

static Table whatIfTable(const SearchReport &report) {
  const FoundPlan &best = report.result.top.front();
  Table table({"hardware", percentColumn("time"), "plan"});
  table.alignLeft(2);
  for (const WhatIf &whatIf : report.whatIfs) {
    std::string plan = variedText(report, whatIf.found);
    table.addRow({whatIf.what, percentCell(whatIf.found.time / best.time),
                  plan == variedText(report, best) ? "the same plan" : plan});
  }
  return table;
}

static void printWhatIfs(const SearchReport &report, llvm::raw_ostream &os) {
  if (report.whatIfs.empty())
    return;
  os << "\nwhat other hardware would give\n";
  whatIfTable(report).print(os, /*hasHead=*/false);
}

DocumentSection tessera::makeSearchSection(const SearchReport &report) {
  DocumentSection section;
  section.kind = "search";
  const SearchResult &result = report.result;
  section.findings.emplace_back(
      "verdict",
      "The best of " + groupedText(double(result.counts.layouts)) + " layouts");
  for (auto [name, plans] :
       {std::pair("top", &result.top), std::pair("meshes", &result.meshes),
        std::pair("front", &result.front),
        std::pair("near misses", &result.nearMisses)})
    if (!plans->empty())
      section.tables.emplace_back(name, plansTable(report, *plans));
  if (!report.neighbours.empty())
    section.tables.emplace_back("neighbours", neighbourTable(report));
  if (!report.whatIfs.empty())
    section.tables.emplace_back("what-ifs", whatIfTable(report));
  return section;
}

/// Prints the commands that build a program with the best plan.
static void printBuild(const SearchReport &report, llvm::raw_ostream &os) {
  if (!report.notCompiled.empty()) {
    os << "\ncannot be compiled: " << report.notCompiled << "\n";
    return;
  }
  const cost::ExecutedPlan &plan = report.best.plan;
  const SearchFiles &files = report.files;
  os << formatv(
      "\nto build it{0}:\n"
      "  tessera model {1} --train --batch {2} --seq {3} -o g.mlir\n"
      "  tessera compile g.mlir --plan {4} --cluster {5} --target cuda -o "
      "program\n",
      files.plan.empty() ? ", once this is written with -o plan.json" : "",
      files.config, plan.globalBatch(), plan.seq,
      files.plan.empty() ? "plan.json" : files.plan, files.cluster);
  if (report.machines > 1)
    os << formatv(
        "it is for {0} machines: no program for GPUs has been run on several "
        "so far\n",
        report.machines);
}

void tessera::print(const SearchReport &report, llvm::raw_ostream &os) {
  print(report.best, os);
  os << "\n";
  printCounts(report, os);
  printPlans(report, "best plans", report.result.top, os);
  printPlans(report, "best plan of each of the best meshes",
             report.result.meshes, os);
  if (report.surest)
    os << formatv("\nwhere less than {0:f0} % is sure, the order may be wrong; "
                  "of those plans this one is the most like measured runs\n  "
                  "{1}\n",
                  100 * kSure, variedText(report, *report.surest));
  if (report.result.front.size() > 1)
    printPlans(report, "less memory (or cost) for more time",
               report.result.front, os);
  printPlans(report, "faster, but lacks memory", report.result.nearMisses, os);
  printNeighbours(report, os);
  printWhatIfs(report, os);
  printBuild(report, os);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Object toJson(const SearchReport &report, const FoundPlan &found) {
  return json::Object{
      {"layout", toJson(found.plan)},
      {"cluster", report.clusters[found.cluster]},
      {"seconds", found.seconds},
      {"bytes", found.bytes},
      {"headroom_bytes", found.capacity - found.bytes},
      {"limit_bytes", found.limit},
      {"probability_slower",
       tessera::probabilityFaster(report.result.top.front(), found)},
      {"seconds_per_token", found.time},
      {"dollars_per_token", found.dollars}};
}

static json::Array toJson(const SearchReport &report,
                          llvm::ArrayRef<FoundPlan> plans) {
  json::Array list;
  for (const FoundPlan &found : plans)
    list.push_back(toJson(report, found));
  return list;
}

static json::Array toJson(const SearchReport &report,
                          llvm::ArrayRef<Neighbour> neighbours) {
  json::Array list;
  for (const Neighbour &neighbour : neighbours) {
    json::Object entry = toJson(report, neighbour.found);
    entry["field"] = neighbour.field;
    entry["from"] = neighbour.from;
    entry["to"] = neighbour.to;
    json::Object causes;
    for (const auto &[name, difference] : neighbour.causes)
      causes[name] = difference;
    entry["causes"] = std::move(causes);
    list.push_back(std::move(entry));
  }
  return list;
}

json::Object tessera::toJson(const SearchReport &report) {
  const SearchResult &result = report.result;
  const SearchCounts &counts = result.counts;
  json::Array whatIfs;
  for (const WhatIf &whatIf : report.whatIfs) {
    json::Object entry = ::toJson(report, whatIf.found);
    entry["what"] = whatIf.what;
    whatIfs.push_back(std::move(entry));
  }
  json::Object search{
      {"objective",
       report.objective == SearchObjective::Time ? "time" : "dollars"},
      {"given", json::Array(report.given)},
      {"searched", json::Array(report.searched)},
      {"counts", json::Object{{"layouts", counts.layouts},
                              {"invalid", counts.invalid},
                              {"bounded", counts.bounded},
                              {"too_large", counts.tooLarge},
                              {"priced", counts.priced},
                              {"fit", counts.fit}}},
      {"bound", json::Object{{"value", result.bound}, {"gap", result.gap}}},
      {"stopped", result.stopped},
      {"top", ::toJson(report, result.top)},
      {"meshes", ::toJson(report, result.meshes)},
      {"points", ::toJson(report, result.front)},
      {"near_misses", ::toJson(report, result.nearMisses)},
      {"neighbours", ::toJson(report, report.neighbours)},
      {"asked", ::toJson(report, report.asked)},
      {"what_if", std::move(whatIfs)}};
  if (report.surest)
    search["surest"] = ::toJson(report, *report.surest);
  if (report.fewest)
    search["fewest_devices"] = report.fewest->devices;
  json::Object object = toJson(report.best);
  object["search"] = std::move(search);
  return object;
}

//===----------------------------------------------------------------------===//
// No plan
//===----------------------------------------------------------------------===//

static bool hasLayout(const Subject &subject,
                      llvm::ArrayRef<ClusterSpec> clusters,
                      const PlanSpace &given) {
  return !LayoutSpace(subject, clusters, given).getShapes().empty();
}

/// Prints "--tp 3 and --pp 4".
static std::string listOptions(const PlanSpace &given,
                               llvm::ArrayRef<StringRef> names) {
  std::string text;
  for (StringRef name : names)
    text += (text.empty()           ? ""
             : name == names.back() ? " and "
                                    : ", ") +
            ("--" + name + " " + given.find(name)->getText()).str();
  return text;
}

/// Reports a minimal set of options without a layout: drops each option without
/// which there is still none.
static llvm::Error explainConflict(const Subject &subject,
                                   llvm::ArrayRef<ClusterSpec> clusters,
                                   PlanSpace given, const LayoutSpace &space) {
  for (StringRef name : given.listGiven()) {
    if (name == "ranks" || name == "global-batch")
      continue;
    PlanSpace fewer = given;
    fewer.release(name);
    if (!hasLayout(subject, clusters, fewer))
      given = std::move(fewer);
  }
  std::vector<StringRef> names = given.listGiven();
  std::string text = listOptions(given, names);
  if (given.compilable)
    text += " with --compilable";
  return llvm::createStringError(
      "no layout has " + text +
      (space.getFirstReason().empty() ? "" : ": " + space.getFirstReason()));
}

llvm::Error tessera::explainNoPlan(const Subject &subject,
                                   llvm::ArrayRef<ClusterSpec> clusters,
                                   const PlanSpace &given,
                                   const LayoutSpace &space,
                                   const SearchResult *result, double fit) {
  if (result && result->stopped)
    return llvm::createStringError(
        "--search-seconds ended the search before a plan was found that fits");
  if (!result || !result->smallest)
    return explainConflict(subject, clusters, given, space);
  const FoundPlan &smallest = *result->smallest;
  WorkReader reader;
  ModelWork work = llvm::cantFail(subject.read(reader, smallest.plan));
  schedule::PipelinePricer pricer;
  PlanReport report = llvm::cantFail(
      makePlanReport(work, smallest.plan, smallest.plan.execution(),
                     clusters[smallest.cluster], {}, pricer));
  std::pair<const char *, double> largest("", 0);
  for (const auto &category : report.peakMemory().categories())
    if (category.second > largest.second)
      largest = category;
  std::string text = formatv(
      "no layout fits: {0} needs the least, {1} of {2}, of which {3} are "
      "{4} GB",
      planText(smallest), bytesText(smallest.bytes),
      bytesText(smallest.capacity), largest.first, gigabytes(largest.second));
  if (double limit =
          getMemoryLimit(smallest.plan, clusters[smallest.cluster], fit);
      limit < smallest.capacity)
    text +=
        formatv("; with --fit {0} it may need {1} GB", fit, gigabytes(limit));
  return llvm::createStringError(text);
}
