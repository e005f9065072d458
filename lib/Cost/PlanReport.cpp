//===- PlanReport.cpp - Memory, time and cost of a plan ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/PlanReport.h"
#include "tessera/Cost/Estimates.h"
#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Cost/SplitByMemory.h"
#include "tessera/Support/Errors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

bool PlanReport::fits() const {
  double offloaded = 0;
  for (const StageMemory &stage : stages)
    offloaded = std::max(offloaded, stage.offloaded);
  return headroom() >= 0 && offloaded <= offloadCapacity;
}

/// Returns the name of the outermost level that a group of axes reaches.
static std::string levelOf(const ClusterSpec &cluster, const Machine &machine,
                           ArrayRef<PlanAxis> axes) {
  unsigned level = 0;
  for (const LinkSpan &span : machine.spans(axes))
    level = std::max(level, span.level);
  return cluster.levels[level].name;
}

/// Adds the collectives that the kernels of the busiest stage wait for, by
/// axis. The rest of `exposed` comes from collectives that overlap with
/// kernels.
static void addLayerComm(std::vector<Cause> &causes, const PricedModel &model,
                         const StageMemory &stage, const Layout &layout,
                         const ClusterSpec &cluster, const Machine &machine,
                         double exposed) {
  PassTime sum;
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns) {
    const LayerTime &time = model.kinds[entry.run.kind].time;
    for (const PassTime *pass :
         {&time.forward, &time.backwardInput, &time.backwardWeight})
      for (auto times : {&PassTime::inLine, &PassTime::beside})
        for (AxisTime axis : pass->*times) {
          axis.seconds *= entry.run.count * double(layout.microBatches);
          PassTime one;
          (one.*times).push_back(axis);
          sum += one;
        }
  }
  double inLine = std::min(sum.inLineSeconds(), exposed);
  auto add = [&](ArrayRef<AxisTime> times, double total, double shown) {
    for (const AxisTime &axis : times) {
      double seconds = total > 0 ? axis.seconds / total * shown : 0;
      if (axis.axes.empty()) {
        causes.push_back({"gathers of parameters", seconds,
                          levelOf(cluster, machine, PlanAxis::DP)});
        continue;
      }
      std::string name =
          "collectives of " + stringify(ArrayRef<PlanAxis>(axis.axes));
      auto same = find_if(
          causes, [&](const Cause &cause) { return cause.name == name; });
      if (same != causes.end())
        same->seconds += seconds;
      else
        causes.push_back({name, seconds, levelOf(cluster, machine, axis.axes)});
    }
  };
  add(sum.inLine, sum.inLineSeconds(), inLine);
  add(sum.beside, sum.besideSeconds(), exposed - inLine);
}

static std::vector<Cause> listCauses(const StepTime &step,
                                     const PricedModel &model,
                                     const StageMemory &stage, const Plan &plan,
                                     const ClusterSpec &cluster,
                                     const Machine &machine) {
  std::vector<Cause> causes;
  causes.push_back({"matmuls and attention", step.compute, "compute"});
  causes.push_back(
      {"memory-bound kernels", step.memoryBound, "memory bandwidth"});
  causes.push_back({"waiting for the host", step.hostBound, "host"});
  addLayerComm(causes, model, stage, plan, cluster, machine, step.layerComm);
  causes.push_back({"pipeline bubble", step.bubble, "bubble"});
  causes.push_back({"gradients over dp", step.gradComm,
                    levelOf(cluster, machine, {PlanAxis::DP, PlanAxis::CP})});
  causes.push_back({"gradients over pp", step.exchange,
                    levelOf(cluster, machine, PlanAxis::PP)});
  causes.push_back(
      {"optimizer", step.optimizer,
       plan.offload == Offload::None ? "memory bandwidth" : "host link"});
  causes.push_back({"once per step", step.fixed, "fixed"});
  causes.push_back({"slowest device", step.stragglers, "stragglers"});
  // Drop causes that are only rounding errors.
  erase_if(causes, [&](const Cause &cause) {
    return cause.seconds <= 1e-9 * step.total;
  });
  return causes;
}

static void addThroughput(PlanReport &report, const ModelWork &work,
                          const Machine &machine) {
  const Plan &plan = report.plan;
  DType type = unitsOf(plan.precision);
  report.peak = machine.device.peak(type);
  report.peakType = stringify(machine.device.unitType(type));
  double flops = 0, modelFlops = 0;
  for (const ModelWork::Run &run : work.layers) {
    const LayerWork &layer = work.kinds[run.kind];
    modelFlops += run.count * layer.modelFlops;
    // Attention counts all scores, as in the model's FLOPs, although a causal
    // kernel skips half of them.
    for (const OpWork &op : layer.ops)
      if (op.kind == OpClass::Matmul || op.kind == OpClass::Attention)
        flops += run.count * op.flops * (op.kind == OpClass::Attention ? 2 : 1);
  }
  // The sums above are for one micro-batch on one device of each stage.
  double perDevice = double(plan.microBatches) / double(plan.pp);
  modelFlops *= perDevice;
  flops *= perDevice;
  double tokens = plan.tokens();
  if (work.modelFlopsPerToken > 0)
    modelFlops = work.modelFlopsPerToken * trainedFlopsShare(plan) * tokens /
                 double(plan.gpus());
  report.tokensPerSecond = tokens / report.stepSeconds;
  report.modelFlopsRate = modelFlops / report.stepSeconds;
  report.mfu = report.modelFlopsRate / report.peak;
  report.hfu = flops / report.stepSeconds / report.peak;
}

/// Adds the bytes of the busiest stage, and the bubble of the schedule.
static Error addTraffic(PlanReport &report, const ModelWork &work,
                        const PricedModel &model,
                        schedule::PipelinePricer &pricer) {
  const ExecutedPlan &plan = report.plan;
  Expected<schedule::Pipeline> pipeline = makePipeline(plan, pricer);
  if (!pipeline)
    return pipeline.takeError();
  report.traffic =
      listTraffic(work, report.stages[report.busiest], report.busiest, plan,
                  plan.execution(), pipeline->problem);
  schedule::ChunkTimes whole;
  for (const ModelWork::Run &run : model.layers) {
    const ChunkTime &sum = model.kinds[run.kind].sum;
    whole.forward += run.count * sum.forward;
    whole.inputGrad += run.count * sum.inputGrad;
    whole.weightGrad += run.count * sum.weightGrad;
  }
  if (plan.pp > 1)
    report.scheduleBubble = scheduleBubble(*pipeline, whole, pricer);
  return Error::success();
}

static void addBinding(PlanReport &report) {
  MapVector<StringRef, double> resources;
  for (const Cause &cause : report.causes)
    resources[cause.resource] += cause.seconds;
  for (const auto &[name, seconds] : resources) {
    double share = seconds / report.stepSeconds;
    if (share <= report.bottleneckShare)
      continue;
    report.bottleneck = name.str();
    report.bottleneckShare = share;
  }
  if (!report.fits()) {
    report.bottleneck = "memory";
    report.bottleneckShare = report.peakMemory().total() / report.capacity;
  }
}

static void addBudget(PlanReport &report, const PlanQuestion &question) {
  report.tokens = question.tokens;
  double seconds = question.tokens / report.tokensPerSecond;
  report.days = seconds / 86400;
  report.deviceHours = seconds / 3600 * double(report.plan.gpus());
  report.dollars = report.deviceHours * question.price;
}

/// Puts the plan on its stages. A split by time that does not fit is replaced
/// by another one, if one fits and takes as long.
static Expected<StagedModel> stageModel(const ReportedModel &model,
                                        const Plan &given, Plan split,
                                        const Machine &machine,
                                        schedule::PipelinePricer &pricer,
                                        const MemoryConstants &constants) {
  Expected<StagedModel> staged =
      StagedModel::make(model.priced, std::move(split), machine, pricer);
  if (!staged || !isSplitByTime(given))
    return staged;
  std::optional<Plan> fitting =
      splitByMemory(model.priced, model.memory, *staged, given, machine, pricer,
                    machine.device.memoryBytes, constants);
  if (!fitting)
    return staged;
  return StagedModel::make(model.priced, std::move(*fitting), machine, pricer);
}

/// Adds the memory of each stage.
static void addMemory(PlanReport &report, const ReportedModel &model,
                      const StagedModel &staged, const Plan &given,
                      const Machine &machine, const PlanQuestion &question,
                      schedule::PipelinePricer &pricer) {
  const Plan &plan = staged.getPlan();
  report.stages =
      model.memory.stages(staged.getChunks(), plan, machine.execution,
                          staged.getPipeline(), pricer, question.memory);
  report.fullest = fullestStage(report.stages);
  report.capacity = machine.device.memoryBytes;
  if (!question.isBrief)
    report.largest =
        model.memory.largestTensors(report.stages[report.fullest], plan, 4);
  if (plan.offload != Offload::None)
    report.offloadCapacity = plan.offload == Offload::Host
                                 ? machine.host.memoryBytes
                                 : machine.host.diskBytes;
  if (question.isBrief || report.fits() ||
      plan.stageLayers == given.stageLayers)
    return;
  PlanReport even = report;
  even.stages =
      model.memory.stages(assignChunks(model.work.layers, given), given,
                          machine.execution, pricer, question.memory);
  even.fullest = fullestStage(even.stages);
  report.fitsEven = even.fits();
}

Expected<PlanReport> tessera::cost::makePlanReport(
    const ModelWork &work, const Plan &given, const Execution &execution,
    const ClusterSpec &cluster, const PlanQuestion &question,
    schedule::PipelinePricer &pricer) {
  if (Error error = given.check())
    return takeFirst(std::move(error));
  if (Error error = cluster.checkSize(given.gpus()))
    return std::move(error);
  if (Error error = checkPrecision(given.precision, cluster.device))
    return std::move(error);
  Machine machine(cluster, given, execution);
  PricedModel priced = priceModel(work, machine);
  Expected<Plan> split = splitByTime(priced, given, machine, pricer);
  if (!split)
    return split.takeError();
  MemoryModel memory(work);
  return makePlanReport({work, priced, memory}, given, std::move(*split),
                        cluster, machine, question, pricer);
}

Expected<PlanReport> tessera::cost::makePlanReport(
    const ReportedModel &model, const Plan &given, Plan split,
    const ClusterSpec &cluster, const Machine &machine,
    const PlanQuestion &question, schedule::PipelinePricer &pricer) {
  Expected<StagedModel> staged = stageModel(model, given, std::move(split),
                                            machine, pricer, question.memory);
  if (!staged)
    return staged.takeError();
  const Plan &plan = staged->getPlan();
  StepTime step = staged->price(plan, staged->pipelineSeconds(pricer));

  PlanReport report;
  report.model = question.model;
  report.framework = question.framework;
  report.cluster = cluster.name;
  report.device = cluster.device.name;
  report.parameters = model.work.modelParameters;
  report.plan = {plan, machine.execution};
  report.stepSeconds = step.total;
  addMemory(report, model, *staged, given, machine, question, pricer);
  report.causes = listCauses(step, model.priced, report.stages[step.busiest],
                             plan, cluster, machine);
  report.busiest = step.busiest;
  if (!question.isBrief)
    if (Error error = addTraffic(report, model.work, model.priced, pricer))
      return std::move(error);
  addThroughput(report, model.work, machine);
  addBinding(report);
  addBudget(report, question);
  Novelty novelty = noveltyOf(plan, machine.execution, cluster,
                              question.framework, question.isFrameworkFitted,
                              question.isBrief ? nullptr : &report.caveats);
  novelty.isObserved = question.isObserved;
  report.stepInterval = intervalOf(report.stepSeconds, timeDoubt(novelty));
  report.fitProbability = probabilityBelow(
      report.peakMemory().total(), report.capacity, memoryDoubt(novelty));
  return report;
}
