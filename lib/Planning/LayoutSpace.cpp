//===- LayoutSpace.cpp - The layouts of a model on clusters ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes are divisors of the number of devices, so that few combinations fail.
// Each check depends on few of the fields, and its result is cached.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/LayoutSpace.h"
#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Schedule/Generators.h"
#include "tessera/Support/Errors.h"
#include "tessera/Training/TrainingPlan.h"
#include <limits>

using namespace tessera;

static std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> low, high;
  for (int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      low.push_back(i);
      if (i * i != number)
        high.push_back(number / i);
    }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

LayoutSpace::LayoutSpace(const Subject &subject,
                         llvm::ArrayRef<ClusterSpec> clusters,
                         const PlanSpace &space)
    : subject(&subject), clusters(clusters), space(&space) {
  addSettings();
  for (uint32_t setting = 0; setting < settings.size(); ++setting)
    addAxes(setting);
  for (const LayoutShape &shape : shapes)
    layouts += countLayouts(shape);
  layouts += invalid;
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

/// Returns the numbers that a choice lists. For a range, returns its ends and
/// the round numbers between them.
static std::vector<int64_t> listSizes(const FieldChoice *choice, int64_t most) {
  if (!choice)
    return {};
  std::vector<int64_t> sizes = choice->listNumbers();
  if (choice->hasRange()) {
    auto [first, last] = choice->getEnds();
    last = std::min(last, most);
    for (int64_t step : {int64_t(1), int64_t(3)})
      for (int64_t size = step; size <= last; size *= 2)
        if (size >= first && choice->permits(size))
          sizes.push_back(size);
    for (int64_t end : {first, last})
      if (choice->permits(end))
        sizes.push_back(end);
  }
  llvm::sort(sizes);
  sizes.erase(llvm::unique(sizes), sizes.end());
  return sizes;
}

void LayoutSpace::addSettings() {
  for (size_t cluster = 0; cluster < clusters.size(); ++cluster)
    for (int64_t gpus :
         listSizes(space->find("ranks"), clusters[cluster].numDevices())) {
      if (llvm::Error error = clusters[cluster].checkSize(gpus)) {
        leaveOut(std::move(error));
        continue;
      }
      for (int64_t batch : listSizes(space->find("global-batch"),
                                     std::numeric_limits<int32_t>::max()))
        for (const cost::ExecutedPlan &base : space->listBases()) {
          if (llvm::Error error = cost::checkPrecision(
                  base.precision, clusters[cluster].device))
            leaveOut(std::move(error));
          else
            settings.push_back({cluster, gpus, batch, base});
        }
    }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Records the reason and returns false.
bool LayoutSpace::leaveOut(llvm::Error error) {
  ++invalid;
  std::string reason = llvm::toString(takeFirst(std::move(error)));
  if (firstReason.empty())
    firstReason = std::move(reason);
  return false;
}

bool LayoutSpace::isValid(const cost::ExecutedPlan &plan) {
  llvm::Error error = subject->check(plan);
  if (!error && space->compilable)
    error = checkCompiled(plan);
  return error ? leaveOut(std::move(error)) : true;
}

void LayoutSpace::addAxes(uint32_t setting) {
  const LayoutSetting &given = settings[setting];
  cost::ExecutedPlan plan = given.base;
  auto permits = [&](llvm::StringRef name) {
    return space->permits(name, plan);
  };
  for (int64_t tp : divisorsOf(given.gpus)) {
    plan.tp = tp;
    if (!permits("tp"))
      continue;
    for (int64_t cp : divisorsOf(given.gpus / tp)) {
      plan.cp = cp;
      if (!permits("cp"))
        continue;
      for (int64_t pp : divisorsOf(given.gpus / tp / cp)) {
        plan.pp = pp;
        plan.dp = given.gpus / tp / cp / pp;
        if (!permits("pp") || !permits("dp"))
          continue;
        for (auto [ep, etp] : listExperts(plan)) {
          LayoutShape shape;
          shape.setting = setting;
          shape.tp = tp;
          shape.cp = cp;
          shape.pp = pp;
          shape.dp = plan.dp;
          shape.ep = ep;
          shape.etp = etp;
          for (ContextMethod method : listMethods(plan)) {
            shape.cpMethod = method;
            addBatches(shape);
          }
        }
      }
    }
  }
}

/// Returns the devices to shard experts over, from the inside out, and whether
/// tp shards each expert's MLP. It does where there is no choice.
std::vector<std::pair<int64_t, bool>>
LayoutSpace::listExperts(const cost::ExecutedPlan &axes) const {
  if (!subject->sparse)
    return {{1, true}};
  std::vector<std::pair<int64_t, bool>> list;
  cost::ExecutedPlan plan = axes;
  for (bool etp : {true, false}) {
    plan.etp = etp;
    if (!space->permits("etp", plan) || (axes.tp == 1 && !list.empty()))
      continue;
    for (int64_t ranks : divisorsOf(axes.dp * axes.cp)) {
      plan.ep = ranks * axes.tp / plan.expertParts();
      bool isInner = axes.cp % ranks == 0 || ranks % axes.cp == 0;
      if (isInner && space->permits("ep", plan))
        list.push_back({plan.ep, etp});
    }
  }
  return list;
}

/// Returns the methods to shard attention over axes: all-gather of keys and
/// values unless methods are given.
std::vector<ContextMethod>
LayoutSpace::listMethods(const cost::ExecutedPlan &axes) const {
  if (axes.cp > 1 && !space->find("cp-method"))
    return {{ContextMethod::AllGather, 0}};
  std::vector<ContextMethod> methods;
  for (const cost::ExecutedPlan &one : subject->listContextPlans(axes))
    methods.push_back(one.cpMethod);
  return methods;
}

void LayoutSpace::addBatches(const LayoutShape &axes) {
  const LayoutSetting &given = settings[axes.setting];
  if (given.globalBatch % axes.dp) {
    leaveOut(llvm::createStringError(
        "global-batch: expects a multiple of dp = " + std::to_string(axes.dp) +
        " but got " + std::to_string(given.globalBatch)));
    return;
  }
  cost::ExecutedPlan plan = given.base;
  int64_t sequences = given.globalBatch / axes.dp;
  for (int64_t microBatch : divisorsOf(sequences)) {
    plan.microBatch = microBatch;
    plan.microBatches = sequences / microBatch;
    if (!space->permits("micro-batch", plan) ||
        !space->permits("micro-batches", plan))
      continue;
    LayoutShape shape = axes;
    shape.microBatch = microBatch;
    shape.microBatches = plan.microBatches;
    addLayers(shape);
  }
}

/// True if the layers of the shape are valid. The result depends only on these
/// fields.
bool LayoutSpace::suitsModel(const LayoutShape &shape) {
  Key key{shape.setting,
          shape.tp,
          shape.cp,
          shape.ep,
          shape.etp,
          int64_t(shape.recompute),
          shape.sp,
          shape.keepGathered,
          shape.gathers,
          shape.cpMethod.kind,
          shape.cpMethod.headDevices};
  auto [it, isNew] = suits.try_emplace(std::move(key), false);
  if (!isNew) {
    invalid += !it->second;
    return it->second;
  }
  cost::ExecutedPlan plan = makePlan(shape);
  plan.pp = plan.vpp = plan.microBatch = 1;
  plan.dp = plan.expertRanks();
  plan.schedule = ScheduleKind::OneFOneB;
  plan.stageLayers.clear();
  return it->second = isValid(plan);
}

void LayoutSpace::addLayers(const LayoutShape &batch) {
  cost::ExecutedPlan plan = settings[batch.setting].base;
  // Returns the values of an option that matters, otherwise one permitted
  // value.
  auto flags = [&](llvm::StringRef name, bool Plan::*member, bool matters) {
    std::vector<bool> values;
    for (bool value : {false, true}) {
      plan.*member = value;
      if (space->permits(name, plan) && (matters || values.empty()))
        values.push_back(value);
    }
    plan.*member = values.empty() ? false : bool(values.front());
    return values;
  };
  LayoutShape shape = batch;
  for (bool sp : flags("sp", &Plan::sp, batch.tp > 1))
    for (bool kept : flags("keep-gathered", &Plan::keepGathered,
                           subject->dense && sp && batch.tp > 1))
      for (Recompute recompute : {Recompute::None, Recompute::Selective,
                                  Recompute::Full, Recompute::Matmuls}) {
        plan.recompute = recompute;
        if (!space->permits("recompute", plan))
          continue;
        for (bool gathers : {false, true}) {
          shape.sp = sp;
          shape.keepGathered = kept;
          shape.recompute = recompute;
          shape.gathers = gathers;
          if (!suitsModel(shape))
            continue;
          auto [zero, isNewZero] = zeroLists.try_emplace(
              Key{shape.setting, int64_t(shape.dp) * shape.cp, gathers},
              zeros.size());
          shape.zeros = zero->second;
          if (isNewZero)
            zeros.push_back(
                {{makeZeros(shape, false), makeZeros(shape, true)}});
          if (zeros[shape.zeros].lists[0].empty())
            continue;
          auto [list, isNewList] = pipelineLists.try_emplace(
              Key{shape.setting, shape.pp, shape.microBatches},
              pipelines.size());
          shape.pipelines = list->second;
          if (isNewList)
            pipelines.push_back(makePipelines(shape));
          invalid += pipelines[shape.pipelines].invalid;
          if (!getPipelines(shape).empty())
            shapes.push_back(shape);
        }
      }
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

LayoutSpace::Pipelines LayoutSpace::makePipelines(const LayoutShape &shape) {
  Pipelines list;
  cost::ExecutedPlan plan = makePlan(shape);
  // No other field matters here.
  plan.dp = plan.tp = plan.cp = plan.ep = plan.microBatch = 1;
  plan.etp = true;
  plan.shardRanks = 0;
  int64_t before = invalid;
  auto add = [&](ScheduleKind schedule, int64_t vpp) {
    apply(plan, PipelineChoice{schedule, vpp});
    if (space->permits("schedule", plan) && space->permits("vpp", plan) &&
        isValid(plan))
      list.valid.push_back({schedule, vpp});
  };
  if (shape.pp == 1)
    add(Layout().schedule, 1);
  for (ScheduleKind schedule : schedule::allScheduleKinds()) {
    bool chunks = schedule == ScheduleKind::Interleaved && shape.pp > 1;
    if (!chunks && (shape.pp > 1 || list.valid.empty()))
      add(schedule, 1);
    if (!chunks)
      continue;
    const FieldChoice *given = space->find("vpp");
    for (int64_t vpp = 2; vpp * shape.pp <= subject->layers() + 2; ++vpp)
      if (given || isRound(vpp))
        add(schedule, vpp);
  }
  list.invalid = invalid - before;
  invalid = before;
  list.withChunks = llvm::count_if(
      list.valid, [](const PipelineChoice &choice) { return choice.vpp > 1; });
  return list;
}

//===----------------------------------------------------------------------===//
// ZeRO
//===----------------------------------------------------------------------===//

std::vector<Scatter> LayoutSpace::listScatters(cost::ExecutedPlan plan,
                                               bool matters) const {
  std::vector<Scatter> values;
  for (Scatter scatter : {Scatter::Each, Scatter::Round, Scatter::Last}) {
    plan.scatter = scatter;
    // Round is the same as Last if there are no rounds.
    bool repeats = scatter == Scatter::Round && !plan.hasRounds();
    if (space->permits("zero2-reduce", plan) &&
        (matters ? !repeats : values.empty()))
      values.push_back(scatter);
  }
  return values;
}

std::vector<int64_t> LayoutSpace::listShards(cost::ExecutedPlan plan,
                                             int64_t ranks,
                                             bool matters) const {
  std::vector<int64_t> values;
  for (int64_t value : divisorsOf(ranks)) {
    plan.shardRanks = value;
    bool isPermitted = space->permits("shard-ranks", plan);
    // All ranks have a value of their own, 0.
    if (value == ranks) {
      cost::ExecutedPlan all = plan;
      all.shardRanks = 0;
      if (space->permits("shard-ranks", all)) {
        isPermitted = true;
        value = 0;
      }
    }
    if (isPermitted && (matters ? value != 1 : value == 0 || value == ranks))
      values.push_back(value);
  }
  return values;
}

std::vector<ZeroChoice> LayoutSpace::makeZeros(const LayoutShape &shape,
                                               bool rounds) {
  int64_t ranks = int64_t(shape.dp) * shape.cp;
  cost::ExecutedPlan plan = makePlan(shape);
  plan.pp = rounds ? 2 : 1;
  apply(plan, rounds ? PipelineChoice{ScheduleKind::Interleaved, 2}
                     : PipelineChoice());
  std::vector<ZeroChoice> list;
  for (int64_t zero = 0; zero <= 3; ++zero) {
    plan.zero = zero;
    // On one rank there is nothing to shard.
    bool matters = ranks > 1;
    if ((matters && zero == 3) != shape.gathers ||
        !space->permits("zero", plan) || (!matters && !list.empty()))
      continue;
    for (Scatter scatter : listScatters(plan, matters && zero == 2)) {
      // ZeRO-2 that scatters once per step is ZeRO-1.
      if (zero == 2 && scatter == Scatter::Last && matters &&
          llvm::any_of(
              list, [](const ZeroChoice &choice) { return choice.zero == 1; }))
        continue;
      for (int64_t shards : listShards(plan, ranks, shape.gathers)) {
        ZeroChoice choice{zero, scatter, shards};
        apply(plan, choice);
        if (space->compilable && errorToBool(checkCompiled(plan)))
          continue;
        list.push_back(choice);
      }
    }
  }
  return list;
}

int64_t LayoutSpace::countLayouts(const LayoutShape &shape) const {
  const Pipelines &list = pipelines[shape.pipelines];
  const Zeros &zero = zeros[shape.zeros];
  auto plain = int64_t(list.valid.size()) - list.withChunks;
  return plain * int64_t(zero.lists[0].size()) +
         list.withChunks * int64_t(zero.lists[1].size());
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

cost::ExecutedPlan LayoutSpace::makePlan(const LayoutShape &shape) const {
  cost::ExecutedPlan plan = settings[shape.setting].base;
  plan.tp = shape.tp;
  plan.cp = shape.cp;
  plan.pp = shape.pp;
  plan.dp = shape.dp;
  plan.ep = shape.ep;
  plan.etp = shape.etp;
  plan.sp = shape.sp;
  plan.microBatch = shape.microBatch;
  plan.microBatches = shape.microBatches;
  plan.cpMethod = shape.cpMethod;
  plan.recompute = shape.recompute;
  plan.keepGathered = shape.keepGathered;
  plan.zero = shape.gathers ? 3 : 0;
  return plan;
}

void LayoutSpace::apply(Layout &layout, const PipelineChoice &pipeline) {
  layout.schedule = pipeline.schedule;
  layout.vpp = pipeline.vpp;
}

void LayoutSpace::apply(Layout &layout, const ZeroChoice &zero) {
  layout.zero = zero.zero;
  layout.scatter = zero.scatter;
  layout.shardRanks = zero.shardRanks;
}
