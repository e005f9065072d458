//===- StepTime.cpp - Seconds of a training step ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums layers to chunks, hands the chunks to the pipeline's pricer, and adds
// what comes once a step.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/StepTime.h"
#include <algorithm>
#include <cassert>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

PricedModel tessera::cost::priceModel(const ModelWork &work,
                                      const Machine &machine) {
  PricedModel model;
  for (const LayerWork &layer : work.kinds)
    model.kinds.push_back({priceLayer(layer, machine),
                           layer.parameterElements(), layer.outputBytes,
                           layer.savedBytes()});
  model.layers = work.layers;
  return model;
}

double tessera::cost::optimizerBytes(const Layout &layout) {
  double grad = layout.gradDType == GradDType::F32 ? 4 : 2;
  // Reads the gradient twice (norm, update); reads and writes its state; writes
  // the parameter.
  switch (layout.optimizer) {
  case OptimizerKind::AdamW:
    return 2 * grad + 2 * (4 + 4 + 4) + 2;
  case OptimizerKind::AdamWNoMaster:
    return 2 * grad + 2 * (4 + 4) + 2 * 2;
  case OptimizerKind::AdamW8Bit:
    return 2 * grad + 2 * (4 + 1 + 1) + 2;
  case OptimizerKind::SGD:
    return 2 * grad + 2 * 2;
  }
  return 0;
}

/// Blocks of each chunk.
static std::vector<int64_t> spreadBlocks(int64_t blocks, const Layout &layout) {
  if (!layout.stageLayers.empty())
    return layout.stageLayers;
  int64_t chunks = layout.chunks();
  std::vector<int64_t> counts(chunks, blocks / chunks);
  int64_t rest = blocks % chunks;
  // Short chunks go where the embedding and the head are; more of them, to the
  // end of the pipeline.
  std::fill(counts.begin(), counts.end(), blocks / chunks + (rest ? 1 : 0));
  int64_t shortChunks = rest ? chunks - rest : 0;
  for (int64_t i = 0; i < shortChunks; ++i)
    counts[i % 2 ? i / 2 : chunks - 1 - i / 2] -= 1;
  return counts;
}

std::vector<std::vector<ModelWork::Run>>
tessera::cost::assignChunks(ArrayRef<ModelWork::Run> layers,
                            const Layout &layout) {
  // The longest run are the blocks; what stands before and after it goes to the
  // ends of the pipeline.
  size_t blocks = 0;
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i].count > layers[blocks].count)
      blocks = i;
  std::vector<std::vector<ModelWork::Run>> chunks;
  for (int64_t count : spreadBlocks(layers[blocks].count, layout)) {
    chunks.emplace_back();
    chunks.back().push_back({layers[blocks].kind, count});
  }
  chunks.front().insert(chunks.front().begin(), layers.begin(),
                        layers.begin() + blocks);
  chunks.back().insert(chunks.back().end(), layers.begin() + blocks + 1,
                       layers.end());
  return chunks;
}

namespace {

/// Sums of a chunk, or of all chunks of a stage, for one micro-batch.
struct ChunkSum {
  double forward = 0, inputGrad = 0, weightGrad = 0;
  double compute = 0, memory = 0, exposed = 0;
  double parameters = 0;
  double seconds() const { return forward + inputGrad + weightGrad; }

  ChunkSum &operator+=(const ChunkSum &o) {
    forward += o.forward;
    inputGrad += o.inputGrad;
    weightGrad += o.weightGrad;
    compute += o.compute;
    memory += o.memory;
    exposed += o.exposed;
    parameters += o.parameters;
    return *this;
  }
};

} // namespace

static ChunkSum sumChunk(const PricedModel &model,
                         ArrayRef<ModelWork::Run> runs,
                         const DeviceModel &device) {
  ChunkSum sum;
  for (const ModelWork::Run &run : runs) {
    const PricedModel::Kind &kind = model.kinds[run.kind];
    double count = run.count;
    const LayerTime &time = kind.time;
    // The host issues both halves of the backward in one go.
    PassTime backward = time.backwardInput;
    backward += time.backwardWeight;
    double both = backward.seconds(device);
    double weight = std::min(time.backwardWeight.seconds(device), both);
    sum.forward += count * time.forward.seconds(device);
    sum.inputGrad += count * (both - weight);
    sum.weightGrad += count * weight;
    sum.compute +=
        count * (time.forward.kernels.compute + backward.kernels.compute);
    sum.memory +=
        count * (time.forward.kernels.memory + backward.kernels.memory);
    sum.exposed +=
        count * (time.forward.exposed(device) + backward.exposed(device));
    sum.parameters += count * kind.parameters;
  }
  return sum;
}

/// Seconds of reducing the gradients of a stage over the devices that share its
/// parameters, layer by layer, and of gathering what ZeRO cut.
static double gradientSeconds(const PricedModel &model,
                              ArrayRef<ModelWork::Run> runs,
                              const Layout &layout, const Machine &machine) {
  static const std::string axes[] = {"dp", "cp"};
  double gradBytes = layout.gradDType == GradDType::F32 ? 4 : 2;
  double seconds = 0;
  for (const ModelWork::Run &run : runs) {
    double elements = model.kinds[run.kind].parameters;
    double each = 0;
    if (layout.zero == 0) {
      each = machine.seconds(CommKind::AllReduce, elements * gradBytes, axes);
    } else {
      each =
          machine.seconds(CommKind::ReduceScatter, elements * gradBytes, axes) +
          machine.seconds(CommKind::AllGather, elements * 2, axes);
    }
    seconds += run.count * each;
  }
  return seconds;
}

static schedule::PipelineTimes pipelineTimes(ArrayRef<ChunkSum> chunks,
                                             const schedule::ScheduleProblem &p,
                                             double link, bool overlap) {
  // A transfer that does not run beside kernels takes time of its rank.
  double wait = overlap ? 0 : link;
  schedule::PipelineTimes times;
  times.chunks.resize(p.ranks * p.chunks);
  for (int rank = 0; rank < p.ranks; ++rank)
    for (int chunk = 0; chunk < p.chunks; ++chunk) {
      const ChunkSum &sum = chunks[p.stageOf({rank, chunk})];
      times.chunks[rank * p.chunks + chunk] = {
          sum.forward + wait, sum.inputGrad + wait, sum.weightGrad, -1};
    }
  times.links.assign(p.ranks, link);
  return times;
}

/// Adds the reduction of gradients and the optimizer of a stage.
static void addStepTail(StepTime &step, const PricedModel &model,
                        ArrayRef<ModelWork::Run> runs, const ChunkSum &stage,
                        const Layout &layout, const Machine &machine) {
  const DeviceModel &device = machine.device;
  if (layout.frozen)
    return;
  double data = double(layout.dp) * layout.cp;
  if (layout.zero < 3 && data > 1) {
    double comm = gradientSeconds(model, runs, layout, machine);
    // Hidden behind the backward of the last micro-batch, but for the last
    // bucket, which waits for the last layer.
    double window =
        layout.overlap ? 0.9 * (stage.inputGrad + stage.weightGrad) : 0.0;
    step.gradComm = std::max(0.0, comm - window) +
                    device.overlapSlowdown * std::min(comm, window);
  }
  double shards = layout.zero == 0    ? 1
                  : layout.shardRanks ? double(layout.shardRanks)
                                      : data;
  step.optimizer = stage.parameters / shards * optimizerBytes(layout) /
                   (device.memoryBandwidth * device.memoryRate);
}

Expected<StepTime> tessera::cost::priceStep(const PricedModel &model,
                                            const Layout &layout,
                                            const Machine &machine,
                                            schedule::PipelinePricer &pricer) {
  std::optional<schedule::ScheduleKind> kind =
      schedule::parseScheduleKind(layout.schedule);
  if (!kind)
    return createStringError("schedule: expects one of " +
                             schedule::listScheduleKinds() + " but got '" +
                             layout.schedule + "'");
  auto runs = assignChunks(model.layers, layout);
  schedule::ScheduleProblem problem;
  if (layout.pp > 1) {
    auto made = schedule::makeProblem(*kind, layout.pp, runs.size() / layout.pp,
                                      layout.microBatches());
    if (!made)
      return made.takeError();
    problem = *made;
  }

  std::vector<ChunkSum> chunks, stages(layout.pp);
  std::vector<std::vector<ModelWork::Run>> stageRuns(layout.pp);
  for (size_t i = 0; i < runs.size(); ++i) {
    chunks.push_back(sumChunk(model, runs[i], machine.device));
    int rank = problem.slotOf(i, 0).rank;
    stages[rank] += chunks.back();
    stageRuns[rank].insert(stageRuns[rank].end(), runs[i].begin(),
                           runs[i].end());
  }
  size_t busiest = 0;
  for (size_t i = 0; i < stages.size(); ++i)
    if (stages[i].seconds() > stages[busiest].seconds())
      busiest = i;
  const ChunkSum &stage = stages[busiest];

  StepTime step;
  step.busiest = busiest;
  double micro = layout.microBatches();
  double busy = micro * stage.seconds(), pipeline = busy;
  if (layout.pp > 1) {
    double bytes = model.kinds[runs.front().front().kind].outputBytes;
    static const std::string axes[] = {"pp"};
    double link = machine.seconds(CommKind::SendRecv, bytes, axes);
    pipeline = pricer
                   .price(*kind, problem,
                          pipelineTimes(chunks, problem, link, layout.overlap))
                   .makespan;
  }
  step.compute = micro * stage.compute;
  step.memoryBound = micro * stage.memory;
  step.layerComm = micro * stage.exposed;
  step.hostBound =
      std::max(0.0, busy - step.compute - step.memoryBound - step.layerComm);
  step.bubble = pipeline - busy;
  step.fixed = machine.device.stepFloor;
  addStepTail(step, model, stageRuns[busiest], stage, layout, machine);
  step.total = pipeline + step.gradComm + step.optimizer + step.fixed;
  return step;
}
