//===- Traffic.cpp - Bytes that a device receives per step ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Traffic.h"
#include "tessera/Cost/MemoryModel.h"
#include "tessera/Cost/StepTime.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <map>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

namespace {

/// Adds bytes up by kind and axes.
class TrafficSum {
public:
  explicit TrafficSum(const Layout &layout) : layout(layout) {}

  /// Returns the number of devices of a group over these axes.
  double countRanks(ArrayRef<PlanAxis> axes) const {
    double ranks = 1;
    for (PlanAxis axis : axes)
      ranks *= sizeOf(axis);
    return ranks;
  }
  /// Adds `bytes`, as in CommWork.
  void add(CollectiveKind kind, ArrayRef<PlanAxis> axes, double bytes);
  std::vector<Traffic> list() const;

private:
  double sizeOf(PlanAxis axis) const;

  const Layout &layout;
  std::map<std::pair<std::string, std::string>, double> sums;
};

} // namespace

/// Uses the same axes as Machine: experts are sharded over a part of the data
/// and context axes, and attention heads over a part of the context axis.
double TrafficSum::sizeOf(PlanAxis axis) const {
  auto heads = double(std::max<int64_t>(layout.cpMethod.headDevices, 1));
  switch (axis) {
  case PlanAxis::PP:
    return double(layout.pp);
  case PlanAxis::DP:
    return double(layout.dp);
  case PlanAxis::CP:
    return double(layout.cp);
  case PlanAxis::TP:
    return double(layout.tp);
  case PlanAxis::EP:
    return double(layout.expertRanks());
  case PlanAxis::EDP:
    return double(layout.dp * layout.cp) / double(layout.expertRanks());
  case PlanAxis::CPHeads:
    return heads;
  case PlanAxis::CPQueries:
    return double(layout.cp) / heads;
  case PlanAxis::Shard:
    return double(layout.shardRanks ? layout.shardRanks
                                    : layout.dp * layout.cp);
  }
  return 1;
}

void TrafficSum::add(CollectiveKind kind, ArrayRef<PlanAxis> axes,
                     double bytes) {
  double ranks = countRanks(axes);
  if (ranks <= 1 || bytes <= 0)
    return;
  SmallVector<PlanAxis, 2> larger;
  for (PlanAxis axis : axes)
    if (sizeOf(axis) > 1)
      larger.push_back(axis);
  sums[{stringifyCollective(kind).str(),
        stringify(ArrayRef<PlanAxis>(larger))}] +=
      bytes * getShareReceived(kind, ranks);
}

std::vector<Traffic> TrafficSum::list() const {
  std::vector<Traffic> list;
  for (const auto &[key, bytes] : sums)
    list.push_back({key.first, key.second, bytes});
  llvm::stable_sort(list, [](const Traffic &a, const Traffic &b) {
    return a.bytes > b.bytes;
  });
  return list;
}

/// Returns the bytes of a collective. An all-to-all that sends one copy per
/// device counts the devices that receive one.
static double dispatchedBytes(const CommWork &comm, double ranks) {
  if (comm.copies == 0)
    return comm.bytes;
  // getShareReceived() counts tensors that are divided among all devices.
  return comm.bytes * ranks *
         (1 - std::pow(1 - 1 / ranks, double(comm.copies)));
}

static void addLayers(const ModelWork &work, const StageMemory &stage,
                      double microBatches, TrafficSum &sum) {
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns)
    for (const CommWork &comm : work.kinds[entry.run.kind].comms)
      sum.add(comm.kind, comm.axes,
              entry.run.count * microBatches *
                  dispatchedBytes(comm, sum.countRanks(comm.axes)));
}

/// Adds the gradients of the parameters, and the new parameters, once per step.
static void addGradients(const ModelWork &work, const StageMemory &stage,
                         const Plan &plan, TrafficSum &sum) {
  if (plan.zero == 3)
    return;
  double gradBytes = plan.gradDType == GradDType::BF16 ? 2 : 4;
  static constexpr PlanAxis data[] = {PlanAxis::DP, PlanAxis::CP},
                            experts[] = {PlanAxis::EDP};
  auto add = [&](double elements, double bytes, ArrayRef<PlanAxis> axes) {
    if (plan.zero == 0)
      return sum.add(CollectiveKind::AllReduce, axes, elements * gradBytes);
    sum.add(CollectiveKind::ReduceScatter, axes,
            (plan.zero == 2 ? double(plan.scatters()) : 1) * elements *
                gradBytes);
    sum.add(CollectiveKind::AllGather, axes, elements * bytes);
  };
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns) {
    const LayerWork &layer = work.kinds[entry.run.kind];
    if (layer.frozen) {
      add(entry.run.count * layer.adapterElements(), 2, data);
      continue;
    }
    for (const ParameterWork &parameter : layer.parameters)
      add(entry.run.count * parameter.elements,
          copyBytes(plan, layer.name == "block", 2),
          parameter.expertRanks > 1 ? ArrayRef<PlanAxis>(experts) : data);
  }
}

/// Gradients of the other copy of the stages.
static void addExchange(const ModelWork &work, const StageMemory &stage,
                        const Plan &plan, const Execution &execution,
                        TrafficSum &sum) {
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns) {
    const LayerWork &layer = work.kinds[entry.run.kind];
    double elements = layer.frozen ? layer.adapterElements() : 0, experts = 0;
    if (!layer.frozen)
      for (const ParameterWork &parameter : layer.parameters)
        (parameter.expertRanks > 1 ? experts : elements) += parameter.elements;
    sum.add(CollectiveKind::Permute, PlanAxis::PP,
            entry.run.count *
                exchangedBytes(elements, experts, plan, execution));
  }
}

/// Adds activations from the previous stage and gradients from the next one.
static void addTransfers(const ModelWork &work, size_t rank,
                         const Layout &layout,
                         const schedule::ScheduleProblem &problem,
                         double microBatches, TrafficSum &sum) {
  double bytes =
      work.kinds[work.layers[findBlocks(work.layers)].kind].outputBytes;
  int received = 0;
  for (int chunk = 0; chunk < problem.chunks; ++chunk) {
    int stage = problem.stageOf({int(rank), chunk});
    for (int from : {stage - 1, stage + 1})
      received += from >= 0 && from < problem.stages() &&
                  problem.slotOf(from, 0).rank != int(rank);
  }
  // Devices of tp that do not shard the sequence send a chunk each, and the
  // receivers gather the chunks.
  bool isCut = layout.tp > 1 && !layout.sp;
  double all = received * microBatches * bytes;
  sum.add(CollectiveKind::Permute, PlanAxis::PP,
          isCut ? all / double(layout.tp) : all);
  if (isCut)
    sum.add(CollectiveKind::AllGather, PlanAxis::TP, all);
}

std::vector<Traffic>
tessera::cost::listTraffic(const ModelWork &work, const StageMemory &stage,
                           size_t rank, const Plan &plan,
                           const Execution &execution,
                           const schedule::ScheduleProblem &problem) {
  TrafficSum sum(plan);
  // Each direction of a bidirectional pipeline has half of the micro-batches.
  double microBatches = plan.pp > 1 ? double(problem.microBatchesOf())
                                    : double(plan.microBatches);
  addLayers(work, stage, microBatches, sum);
  addGradients(work, stage, plan, sum);
  addExchange(work, stage, plan, execution, sum);
  if (plan.pp > 1)
    addTransfers(work, rank, plan, problem, microBatches, sum);
  return sum.list();
}

double tessera::cost::scheduleBubble(const schedule::Pipeline &pipeline,
                                     const schedule::ChunkTimes &whole,
                                     schedule::PipelinePricer &pricer) {
  const schedule::ScheduleProblem &problem = pipeline.problem;
  if (problem.ranks == 1)
    return 0;
  double stages = problem.stages();
  schedule::ChunkTimes chunk = whole;
  chunk.forward /= stages;
  chunk.inputGrad /= stages;
  chunk.weightGrad /= stages;
  schedule::PipelineTimes times;
  times.chunks.assign(size_t(problem.ranks) * problem.chunks, chunk);
  times.links.assign(problem.numLinks(), 0);
  double work = double(problem.microBatches) *
                (whole.forward + whole.inputGrad + whole.weightGrad) /
                problem.ranks;
  double makespan = pricer.price(pipeline, times).makespan;
  return makespan > 0 ? std::max(0.0, 1 - work / makespan) : 0;
}
