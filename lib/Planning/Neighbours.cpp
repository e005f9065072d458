//===- Neighbours.cpp - The best plan with one field changed --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neighbours are layouts of the same space, which the search compared with the
// best plan.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/SearchReport.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace tessera;
using namespace tessera::cost;

namespace {

/// The names of the changed fields, in the order of a report.
constexpr const char *kFields[] = {
    "tp",   "pp",           "cp",          "cp-method", "ep",
    "etp",  "sp",           "micro-batch", "schedule",  "vpp",
    "zero", "zero2-reduce", "shard-ranks", "recompute", "keep-gathered"};
constexpr size_t kNumFields = std::size(kFields);
enum Field {
  Tp,
  Pp,
  Cp,
  CpMethod,
  Ep,
  Etp,
  Sp,
  MicroBatch,
  ScheduleName,
  Vpp,
  Zero,
  ZeroReduce,
  ShardRanks,
  RecomputePolicy,
  KeepGathered
};
using Values = std::array<int64_t, kNumFields>;

/// True for fields with numbers, for which the nearest values are neighbours.
bool isNumber(size_t field) {
  return field != CpMethod && field != ScheduleName &&
         field != RecomputePolicy && field != ZeroReduce;
}

Values valuesOf(const cost::ExecutedPlan &plan) {
  int64_t ranks = plan.dp * plan.cp;
  return {plan.tp, plan.pp, plan.cp,
          // Methods that share heads differ by the number of devices that do.
          plan.cpMethod.headDevices * 4 + plan.cpMethod.kind, plan.ep, plan.etp,
          plan.sp, plan.microBatch, int64_t(plan.schedule), plan.vpp, plan.zero,
          int64_t(plan.scatter), plan.shardRanks ? plan.shardRanks : ranks,
          int64_t(plan.recompute), plan.keepGathered};
}

/// True if a field has a meaning in both plans.
bool matters(size_t field, const cost::ExecutedPlan &a,
             const cost::ExecutedPlan &b) {
  auto both = [&](auto has) { return has(a) && has(b); };
  switch (field) {
  case CpMethod:
    return a.cp == b.cp && a.cp > 1;
  case Etp:
    return both([](const Layout &p) { return p.tp > 1 && p.ep > 1; });
  case Sp:
    return both([](const Layout &p) { return p.tp > 1; });
  case KeepGathered:
    return both([](const Layout &p) { return p.tp > 1 && p.sp; });
  case ScheduleName:
    return both([](const Layout &p) { return p.pp > 1; });
  case Vpp:
    return both([](const Layout &p) { return p.pp > 1; }) &&
           a.schedule == b.schedule;
  case Zero:
    return both([](const Layout &p) { return p.dp * p.cp > 1; });
  case ZeroReduce:
    return both([](const Layout &p) { return p.zero == 2; });
  case ShardRanks:
    return both([](const Layout &p) { return p.zero == 3; }) &&
           a.dp * a.cp == b.dp * b.cp;
  default:
    return true;
  }
}

/// Returns the only field in which two plans differ; none if there are more.
std::optional<size_t> findDifference(const cost::ExecutedPlan &a,
                                     const cost::ExecutedPlan &b) {
  Values x = valuesOf(a), y = valuesOf(b);
  std::optional<size_t> difference;
  for (size_t field = 0; field < kNumFields; ++field) {
    if (x[field] == y[field] || !matters(field, a, b))
      continue;
    if (difference)
      return std::nullopt;
    difference = field;
  }
  return difference;
}

class Finder {
public:
  Finder(const LayoutSpace &space, PlanPricer &pricer, const FoundPlan &best,
         double fit)
      : space(space), pricer(pricer), best(best), fit(fit),
        setting(space.getShapes()[best.order >> 32].setting) {}

  void run();
  /// The neighbours by field and value.
  std::map<std::pair<size_t, int64_t>, FoundPlan> found;

private:
  void look(const cost::ExecutedPlan &plan);
  bool isNearest(size_t field, int64_t value);

  const LayoutSpace &space;
  PlanPricer &pricer;
  const FoundPlan &best;
  double fit;
  uint32_t setting;
};

/// Drops values further away than `value`. Returns false if `value` is further
/// away than a known one.
bool Finder::isNearest(size_t field, int64_t value) {
  int64_t from = valuesOf(best.plan)[field];
  for (auto it = found.begin(); it != found.end();) {
    auto [other, to] = it->first;
    bool sameSide = other == field && (to < from) == (value < from);
    if (sameSide && std::abs(to - from) < std::abs(value - from))
      return false;
    it = sameSide && to != value ? found.erase(it) : std::next(it);
  }
  return true;
}

void Finder::look(const cost::ExecutedPlan &plan) {
  std::optional<size_t> field = findDifference(best.plan, plan);
  if (!field)
    return;
  int64_t value = valuesOf(plan)[*field];
  if (isNumber(*field) && !isNearest(*field, value))
    return;
  llvm::Expected<PlanPrice> price = pricer.price(plan);
  if (!price) {
    llvm::consumeError(price.takeError());
    return;
  }
  FoundPlan here;
  here.plan = plan;
  here.cluster = best.cluster;
  here.seconds = price->step.total;
  here.bytes = price->peakBytes;
  here.capacity = best.capacity;
  here.limit = getMemoryLimit(plan, pricer.getCluster(), fit);
  auto [it, isNew] = found.try_emplace({*field, value}, here);
  // Keep the best of several plans that differ only in fields without effect.
  auto rank = [](const FoundPlan &f) {
    return std::pair(!f.fits(), f.seconds);
  };
  if (!isNew && rank(here) < rank(it->second))
    it->second = here;
}

void Finder::run() {
  for (const LayoutShape &shape : space.getShapes()) {
    if (shape.setting != setting)
      continue;
    cost::ExecutedPlan plan = space.makePlan(shape);
    // Compare the layers with the best plan's pipeline and ZeRO.
    cost::ExecutedPlan layers = plan;
    LayoutSpace::apply(layers,
                       PipelineChoice{best.plan.schedule, best.plan.vpp});
    LayoutSpace::apply(layers, ZeroChoice{best.plan.zero, best.plan.scatter,
                                          best.plan.shardRanks});
    bool same = valuesOf(layers) == valuesOf(best.plan);
    if (!same && !findDifference(best.plan, layers))
      continue;
    for (const PipelineChoice &pipeline : space.getPipelines(shape))
      for (const ZeroChoice &zero : space.getZeros(shape, pipeline)) {
        LayoutSpace::apply(plan, pipeline);
        LayoutSpace::apply(plan, zero);
        look(plan);
      }
  }
}

} // namespace

void tessera::explain(Neighbour &neighbour, const PlanReport &best,
                      const PlanReport &other) {
  llvm::MapVector<llvm::StringRef, double> parts;
  if (neighbour.found.fits()) {
    for (const Cause &cause : other.causes)
      parts[cause.name] += cause.seconds;
    for (const Cause &cause : best.causes)
      parts[cause.name] -= cause.seconds;
  } else {
    for (auto [name, bytes] : other.peakMemory().categories())
      parts[name] += bytes;
    for (auto [name, bytes] : best.peakMemory().categories())
      parts[name] -= bytes;
  }
  for (auto [name, difference] : parts)
    neighbour.causes.push_back({name.str(), difference});
  llvm::stable_sort(neighbour.causes, [](const auto &a, const auto &b) {
    return std::abs(a.second) > std::abs(b.second);
  });
  neighbour.causes.resize(std::min<size_t>(2, neighbour.causes.size()));
  // Drop causes that are small compared to the largest one.
  llvm::erase_if(neighbour.causes, [&](const auto &cause) {
    return std::abs(cause.second) <=
           0.1 * std::abs(neighbour.causes.front().second);
  });
}

std::vector<Neighbour> tessera::findRemedies(const Subject &subject,
                                             const ClusterSpec &cluster,
                                             const PlanReport &report) {
  if (!report.plan.scheduleFile.empty())
    return {};
  PlanSpace given;
  given.base = report.plan;
  given.base.stageLayers.clear();
  llvm::cantFail(given.constrain("ranks", std::to_string(report.plan.gpus())));
  llvm::cantFail(given.constrain("global-batch",
                                 std::to_string(report.plan.globalBatch())));
  std::vector<ClusterSpec> clusters{cluster};
  LayoutSpace space(subject, clusters, given);
  if (space.getShapes().empty())
    return {};
  FoundPlan plan;
  plan.plan = report.plan;
  plan.seconds = report.stepSeconds;
  plan.bytes = report.peakMemory().total();
  plan.capacity = plan.limit = report.capacity;
  std::vector<Neighbour> remedies =
      findNeighbours(subject, clusters, space, plan);
  llvm::erase_if(remedies, [](const Neighbour &neighbour) {
    return !neighbour.found.fits();
  });
  return remedies;
}

std::vector<Neighbour> tessera::findNeighbours(
    const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
    const LayoutSpace &space, const FoundPlan &best, double fit) {
  const ClusterSpec &cluster = clusters[best.cluster];
  PlanPricer pricer(subject, cluster);
  Finder finder(space, pricer, best, fit);
  finder.run();
  auto report = [&](const cost::ExecutedPlan &plan) {
    ModelWork work = llvm::cantFail(subject.read(pricer.getReader(), plan));
    return llvm::cantFail(makePlanReport(work, plan, plan.execution(), cluster,
                                         {}, pricer.getPipelines()));
  };
  PlanReport bestReport = report(best.plan);
  std::vector<Neighbour> neighbours;
  for (auto &[key, found] : finder.found) {
    const cost::ExecutedPlanField *field =
        findField<cost::ExecutedPlan>(kFields[key.first]);
    Neighbour neighbour;
    neighbour.field = field->name.str();
    neighbour.from = field->print(best.plan);
    neighbour.to = field->print(found.plan);
    neighbour.found = found;
    explain(neighbour, bestReport, report(found.plan));
    neighbours.push_back(std::move(neighbour));
  }
  return neighbours;
}
