//===- WhatIf.cpp - Additional searches around a request ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/WhatIf.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tessera;
using namespace tessera::cost;

/// Returns options that ask for the best plan alone.
static SearchOptions bestOnly(SearchOptions options) {
  options.top = 1;
  options.frontSlack = -1;
  return options;
}

//===----------------------------------------------------------------------===//
// Other hardware
//===----------------------------------------------------------------------===//

static void scaleLinks(ClusterSpec &cluster, double factor) {
  for (LevelSpec &level : cluster.levels)
    level.bandwidth.value *= factor;
}

static void scalePeak(ClusterSpec &cluster, double factor) {
  for (auto &[type, peak] : cluster.device.peakFlops)
    peak.value *= factor;
}

std::vector<WhatIf> tessera::findWhatIfs(const Subject &subject,
                                         llvm::ArrayRef<ClusterSpec> clusters,
                                         const PlanSpace &given,
                                         const FoundPlan &best,
                                         const SearchOptions &options) {
  struct Change {
    const char *what;
    void (*apply)(ClusterSpec &cluster);
  };
  static constexpr Change kChanges[] = {
      {"10 GB more memory",
       [](ClusterSpec &c) { c.device.memoryBytes.value += 10e9; }},
      {"links 20 % faster", [](ClusterSpec &c) { scaleLinks(c, 1.2); }},
      {"links 20 % slower", [](ClusterSpec &c) { scaleLinks(c, 0.8); }},
      {"peak 20 % higher", [](ClusterSpec &c) { scalePeak(c, 1.2); }},
      {"peak 20 % lower", [](ClusterSpec &c) { scalePeak(c, 0.8); }},
  };
  std::vector<WhatIf> list;
  PlanSpace space = given;
  llvm::cantFail(space.constrain("ranks", std::to_string(best.plan.gpus())));
  for (const Change &change : kChanges) {
    std::vector<ClusterSpec> changed{clusters[best.cluster]};
    change.apply(changed.front());
    SearchResult result =
        searchLayouts(subject, changed, LayoutSpace(subject, changed, space),
                      bestOnly(options));
    if (result.top.empty())
      continue;
    list.push_back({change.what, result.top.front()});
    list.back().found.cluster = best.cluster;
  }
  return list;
}

//===----------------------------------------------------------------------===//
// A layout
//===----------------------------------------------------------------------===//

/// Fixes fields, as in "tp=8,pp=4". A part without a name continues a list.
static llvm::Error constrainAll(PlanSpace &space, llvm::StringRef fixed) {
  llvm::SmallVector<llvm::StringRef> parts;
  fixed.split(parts, ',');
  for (size_t i = 0; i < parts.size(); ++i) {
    auto [name, first] = parts[i].split('=');
    std::string value = first.str();
    while (i + 1 < parts.size() && !parts[i + 1].contains('='))
      value += "," + parts[++i].str();
    const cost::ExecutedPlanField *field = findField<cost::ExecutedPlan>(name);
    if (!field || !(field->uses & FieldUse::kPriced) || value.empty())
      return llvm::createStringError("expects fields and their values, as "
                                     "tp=8,pp=4, but got '" +
                                     fixed + "'");
    if (std::holds_alternative<cost::ExecutedPlanField::Flag>(field->type))
      value = value == "true" ? "on" : value == "false" ? "off" : value;
    if (llvm::Error error = space.constrain(name, value))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Neighbour>
tessera::explainLayout(const Subject &subject,
                       llvm::ArrayRef<ClusterSpec> clusters, PlanSpace given,
                       llvm::StringRef fixed, const FoundPlan &best,
                       const SearchOptions &options) {
  if (llvm::Error error = constrainAll(given, fixed))
    return std::move(error);
  LayoutSpace space(subject, clusters, given);
  if (space.getShapes().empty())
    return explainNoPlan(subject, clusters, given, space, nullptr);
  SearchResult result =
      searchLayouts(subject, clusters, space, bestOnly(options));
  if (result.stopped)
    return explainNoPlan(subject, clusters, given, space, &result);
  Neighbour asked;
  asked.field = fixed.str();
  asked.found = result.top.empty() ? *result.smallest : result.top.front();
  asked.found.limit = getMemoryLimit(
      asked.found.plan, clusters[asked.found.cluster], options.fit);
  asked.from = planText(best);
  asked.to = planText(asked.found);
  WorkReader reader;
  schedule::PipelinePricer pipelines;
  auto report = [&](const FoundPlan &found) {
    ModelWork work = llvm::cantFail(subject.read(reader, found.plan));
    return llvm::cantFail(
        makePlanReport(work, found.plan, found.plan.execution(),
                       clusters[found.cluster], {}, pipelines));
  };
  explain(asked, report(best), report(asked.found));
  return asked;
}

//===----------------------------------------------------------------------===//
// Days
//===----------------------------------------------------------------------===//

/// Returns the FLOP/s of large matmuls with parameters in the types of a space.
static double fastestMatmuls(const ClusterSpec &cluster,
                             const PlanSpace &given) {
  DeviceModel device = makeDeviceModel(cluster.device);
  double fastest = 0;
  for (const cost::ExecutedPlan &plan : given.listBases()) {
    bool narrow = plan.precision == Precision::FP8;
    DType type = plan.precision == Precision::F32 ? DType::F32
                 : narrow                         ? DType::FP8
                                                  : DType::BF16;
    fastest = std::max(
        fastest, device.peak(type) *
                     (narrow ? std::max(device.matmulRate, device.matmulRateFP8)
                             : device.matmulRate));
  }
  return fastest;
}

llvm::Expected<FewestDevices>
tessera::findFewestDevices(const Subject &subject, const ClusterSpec &cluster,
                           PlanSpace given, double tokens, double days,
                           SearchOptions options) {
  FewestDevices fewest;
  fewest.days = days;
  fewest.tokens = tokens;
  fewest.node = cluster.innerDevices();
  double seconds = days * 86400;
  double rate = fastestMatmuls(cluster, given);
  double least = tokens * subject.leastFlopsPerToken() / seconds / rate;
  if (least > double(cluster.numDevices()))
    least = double(cluster.numDevices());
  fewest.first =
      std::max<int64_t>(1, int64_t(least)) / fewest.node * fewest.node;
  fewest.first = std::max(fewest.first, fewest.node);
  options = bestOnly(options);
  options.findsSmallest = false;
  options.mostTime = seconds / tokens;
  std::optional<FieldChoice> permitted;
  if (const FieldChoice *choice = given.find("ranks"))
    permitted = *choice;
  std::vector<ClusterSpec> clusters{cluster};
  for (int64_t devices = fewest.first; devices <= cluster.numDevices();
       devices += fewest.node) {
    if (permitted && !permitted->permits(devices))
      continue;
    llvm::cantFail(given.constrain("ranks", std::to_string(devices)));
    LayoutSpace space(subject, clusters, given);
    SearchResult result = searchLayouts(subject, clusters, space, options);
    if (result.stopped)
      return llvm::createStringError(
          "--search-seconds ended the search at " + std::to_string(devices) +
          " devices; no smaller number meets --days");
    if (result.top.empty())
      continue;
    fewest.devices = devices;
    return fewest;
  }
  return llvm::createStringError(llvm::formatv(
      "no plan on at most {0} devices is through {1:e2} tokens in {2:f1} days",
      permitted ? std::min(permitted->getEnds().second, cluster.numDevices())
                : cluster.numDevices(),
      tokens, days));
}
