//===- StepTime.cpp - Seconds of a training step ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums layers into chunks, passes the chunks to the pipeline's pricer, and adds
// the work that runs once per step.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/StepTime.h"
#include "tessera/Cost/MemoryModel.h"
#include "tessera/Schedule/SplitBlocks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

PricedModel tessera::cost::priceModel(const ModelWork &work,
                                      const Machine &machine) {
  PricedModel model;
  for (const LayerWork &layer : work.kinds) {
    PricedModel::Kind kind;
    kind.time = priceLayer(layer, machine);
    kind.sum = sumPasses(kind.time, machine.device);
    kind.sum.trained =
        layer.frozen ? layer.adapterElements() : layer.parameterElements();
    for (const ParameterWork &parameter : layer.parameters)
      if (parameter.expertRanks > 1 && !layer.frozen)
        kind.sum.experts += parameter.elements;
    kind.isBlock = layer.name == "block" && !layer.frozen;
    kind.outputBytes = layer.outputBytes;
    kind.savedBytes = layer.savedBytes();
    model.kinds.push_back(std::move(kind));
  }
  model.layers = work.layers;
  return model;
}

double tessera::cost::stragglerShare(int64_t devices) {
  constexpr double kDeviation = 0.01, kPi = 3.14159265358979;
  if (devices < 2)
    return 0;
  double root = std::sqrt(2 * std::log(double(devices)));
  double largest =
      root -
      (std::log(std::log(double(devices))) + std::log(4 * kPi)) / (2 * root);
  return kDeviation * largest;
}

/// Returns the bytes per parameter that the optimizer's own kernels move.
static double ownOptimizerBytes(const Plan &plan, const Execution &execution) {
  double grad = plan.gradDType == GradDType::BF16 ? 2 : 4;
  bool isAdamW = plan.optimizer == OptimizerKind::AdamW ||
                 plan.optimizer == OptimizerKind::AdamWNoMaster;
  // Op by op in f32: norm and clipping (4, 8); both moments are scaled and
  // added to (8 + 12 each); root, quotient and sum of the denominator (8 each);
  // the update (16); the cast of the parameter (6).
  if (isAdamW && !execution.fusedOptimizer)
    return 4 + 8 + 2 * (8 + 12) + 3 * 8 + 16 + 6;
  // Reads the gradient twice (norm, update); reads and writes its state; writes
  // the parameter.
  switch (plan.optimizer) {
  case OptimizerKind::AdamW:
    return 2 * grad + 2 * (4 + 4 + 4) + 2;
  case OptimizerKind::AdamWNoMaster:
    return 2 * grad + 2 * (4 + 4) + 2 * 2;
  case OptimizerKind::AdamW8Bit:
    return 2 * grad + 2 * (4 + 1 + 1) + 2;
  case OptimizerKind::SGD:
    return 2 * grad + 2 * 2 + (plan.momentum > 0 ? 2 * 4 : 0);
  }
  return 0;
}

double tessera::cost::optimizerBytes(const Plan &plan,
                                     const Execution &execution) {
  return ownOptimizerBytes(plan, execution) +
         double(execution.optimizerCopyBytes);
}

/// Returns the blocks of each chunk. `front` and `back` layers come before and
/// after the blocks, in addition to the embedding and the head: the ends get
/// fewer blocks for them.
static std::vector<double> distributeBlocks(int64_t blocks, int64_t front,
                                            int64_t back,
                                            const Layout &layout) {
  if (!layout.stageLayers.empty())
    return layout.stageLayers;
  int64_t chunks = layout.chunks();
  int64_t layers = front + blocks + back;
  int64_t most = llvm::divideCeilSigned(layers, chunks);
  std::vector<double> counts(chunks, static_cast<double>(most));
  // Short chunks go to the ends, which have the embedding and the head. An odd
  // one goes to the end of the pipeline.
  int64_t shortChunks = most * chunks - layers;
  for (int64_t i = 0; i < shortChunks; ++i)
    counts[i % 2 ? i / 2 : chunks - 1 - i / 2] -= 1;
  if (double(front) > counts.front() || double(back) > counts.back()) {
    // An end cannot hold that many layers: distribute the blocks alone.
    return distributeBlocks(blocks, 0, 0, layout);
  }
  counts.front() -= front;
  counts.back() -= back;
  return counts;
}

size_t tessera::cost::findBlocks(ArrayRef<ModelWork::Run> layers) {
  size_t blocks = 0;
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i].count > layers[blocks].count)
      blocks = i;
  return blocks;
}

std::vector<ModelWork::Runs>
tessera::cost::assignChunks(ArrayRef<ModelWork::Run> layers,
                            const Layout &layout) {
  // The longest run has the blocks. Layers before and after it go to the ends
  // of the pipeline, the embedding first and the head last.
  size_t blocks = findBlocks(layers);
  int64_t front = 0, back = 0;
  for (size_t i = 1; i < blocks; ++i)
    front += int64_t(layers[i].count);
  for (size_t i = blocks + 1; i + 1 < layers.size(); ++i)
    back += int64_t(layers[i].count);
  std::vector<double> counts =
      distributeBlocks(int64_t(layers[blocks].count), front, back, layout);
  std::vector<ModelWork::Runs> chunks;
  chunks.reserve(counts.size());
  for (double count : counts)
    chunks.push_back({{layers[blocks].kind, count}});
  chunks.front().insert(chunks.front().begin(), layers.begin(),
                        layers.begin() + blocks);
  chunks.back().insert(chunks.back().end(), layers.begin() + blocks + 1,
                       layers.end());
  return chunks;
}

/// Returns the seconds of overlapping kernels and collectives: the longer of
/// the two, and a share of the shorter one for the mutual slowdown.
static double besideSeconds(double kernels, double comm,
                            const DeviceModel &device) {
  return std::max(kernels, comm) +
         device.overlapSlowdown * std::min(kernels, comm);
}

double ChunkTime::pairSeconds(const ChunkTime &backward,
                              const DeviceModel &device) const {
  double comm = exposedForward + backward.exposed - backward.exposedForward;
  double seconds = forward + backward.inputGrad + backward.weightGrad;
  return besideSeconds(seconds - comm, comm, device);
}

double ChunkTime::busy(bool pairs, const DeviceModel &device) const {
  return pairs ? pairSeconds(*this, device) : seconds();
}

void ChunkTime::addLayers(const ChunkTime &o, double count) {
  add(o, count);
  trained += (count - 1) * o.trained;
  experts += (count - 1) * o.experts;
}

void ChunkTime::add(const ChunkTime &o, double share) {
  forward += share * o.forward;
  inputGrad += share * o.inputGrad;
  weightGrad += share * o.weightGrad;
  compute += share * o.compute;
  memory += share * o.memory;
  exposedForward += share * o.exposedForward;
  exposed += share * o.exposed;
  trained += o.trained;
  experts += o.experts;
}

ChunkTime tessera::cost::sumPasses(const LayerTime &time,
                                   const DeviceModel &device) {
  PassTime backward = time.backwardInput;
  backward += time.backwardWeight;
  double both = backward.seconds(device);
  ChunkTime sum;
  sum.forward = time.forward.seconds(device);
  sum.weightGrad = std::min(time.backwardWeight.seconds(device), both);
  sum.inputGrad = both - sum.weightGrad;
  sum.compute = time.forward.kernels.compute + backward.kernels.compute;
  sum.memory = time.forward.kernels.memory + backward.kernels.memory;
  sum.exposedForward = time.forward.exposed(device);
  sum.exposed = sum.exposedForward + backward.exposed(device);
  return sum;
}

static ChunkTime sumChunk(const PricedModel &model,
                          ArrayRef<ModelWork::Run> runs) {
  ChunkTime sum;
  for (const ModelWork::Run &run : runs)
    sum.addLayers(model.kinds[run.kind].sum, run.count);
  return sum;
}

namespace {

/// Seconds to reduce a stage's gradients, and to gather new parameters.
struct GradientTime {
  double reduce = 0, gather = 0;
};

} // namespace

/// Returns the elements of a bucket of gradients: a layer's, or more if many
/// devices share them, so that shards stay large and rings have few steps. The
/// minimum is half a million per device. (Megatron-Core takes a million; half
/// of it gives the growth of published weak scaling.)
static double bucketElements(double layer, const Layout &layout) {
  return std::max(layer, 5e5 * double(layout.dp) * double(layout.cp));
}

/// The axes over which gradients are reduced.
static constexpr PlanAxis kDataAxes[] = {PlanAxis::DP, PlanAxis::CP};

/// Returns the seconds to reduce gradients, bucket by bucket, over the devices
/// that share their parameters, and to gather parameters that ZeRO shards.
static GradientTime gradientSeconds(const PricedModel &model,
                                    ArrayRef<ModelWork::Run> runs,
                                    const Plan &plan, const Machine &machine) {
  static constexpr PlanAxis experts[] = {PlanAxis::EDP};
  double gradBytes = plan.gradDType == GradDType::BF16 ? 2 : 4;
  // If only some of the devices shard the state, all of them reduce, and a
  // device gathers from the sharding ones.
  bool isPart = plan.shardRanks && plan.shardRanks < plan.dp * plan.cp;
  CollectiveKind reduce = plan.zero == 0 || isPart
                              ? CollectiveKind::AllReduce
                              : CollectiveKind::ReduceScatter;
  static constexpr PlanAxis sharding[] = {PlanAxis::Shard};
  GradientTime time;
  auto add = [&](double elements, double bytes, ArrayRef<PlanAxis> axes,
                 double count) {
    if (elements <= 0 || count <= 0)
      return;
    double whole = count * elements;
    elements = std::min(whole, bucketElements(elements, plan));
    count = whole / elements;
    time.reduce += count * machine.seconds(reduce, elements * gradBytes, axes);
    if (plan.zero > 0)
      time.gather +=
          count * machine.seconds(CollectiveKind::AllGather, elements * bytes,
                                  isPart ? ArrayRef<PlanAxis>(sharding) : axes);
  };
  for (const ModelWork::Run &run : runs) {
    const PricedModel::Kind &kind = model.kinds[run.kind];
    double bytes = copyBytes(plan, kind.isBlock, 2);
    add(kind.sum.trained - kind.sum.experts, bytes, kDataAxes, run.count);
    add(kind.sum.experts, bytes, experts, run.count);
  }
  return time;
}

/// Returns the exposed seconds of a collective that overlaps with kernels of
/// `window` seconds and slows them by a share of its time.
static double exposedSeconds(double comm, double window, double slowdown) {
  return std::max(0.0, comm - window) + slowdown * std::min(comm, window);
}

/// A bidirectional pipeline has each stage twice, on two ranks.
static bool hasTwoCopies(const Layout &layout) {
  return layout.schedule == ScheduleKind::DualPipe && layout.pp > 1;
}

double tessera::cost::exchangedBytes(double elements, double experts,
                                     const Plan &plan,
                                     const Execution &execution) {
  double data = double(plan.dp) * double(plan.cp);
  // Ranks that share the state of both copies reduce over both at once, which
  // is in gradientSeconds() where there are others to reduce over.
  if (!hasTwoCopies(plan) || (execution.gradBuffers && data > 1))
    return 0;
  double shards = 1, expertShards = 1;
  if (plan.zero > 0) {
    shards = plan.shardRanks ? double(plan.shardRanks) : data;
    expertShards = std::min(shards, data / double(plan.expertRanks()));
  }
  double bytes = plan.gradDType == GradDType::BF16 ? 2 : 4;
  return bytes * (elements / shards + experts / expertShards);
}

/// Seconds in which the two ranks of a stage exchange its gradients, layer by
/// layer, after their reduction.
static double exchangeSeconds(const PricedModel &model,
                              ArrayRef<ModelWork::Run> runs, const Plan &plan,
                              const Machine &machine) {
  double seconds = 0;
  for (const ModelWork::Run &run : runs) {
    const ChunkTime &layer = model.kinds[run.kind].sum;
    double bytes = exchangedBytes(layer.trained - layer.experts, layer.experts,
                                  plan, machine.execution);
    if (bytes > 0)
      seconds += run.count *
                 machine.seconds(CollectiveKind::Permute, bytes, PlanAxis::PP);
  }
  return seconds;
}

/// Returns the seconds of the optimizer: its pass over the state, or the
/// transfer of offloaded state to its memory and back.
static double optimizerSeconds(const ChunkTime &stage, const Plan &plan,
                               const Machine &machine) {
  double data = double(plan.dp) * plan.cp;
  // Our programs shard each copy for itself.
  double copies = hasTwoCopies(plan) && machine.execution.gradBuffers ? 2 : 1;
  double shards = 1, expertShards = 1;
  if (plan.zero > 0) {
    shards = copies * (plan.shardRanks ? double(plan.shardRanks) : data);
    expertShards = std::min(shards, copies * data / plan.expertRanks());
  }
  double elements =
      (stage.trained - stage.experts) / shards + stage.experts / expertShards;
  const DeviceModel &device = machine.device;
  double seconds = elements * optimizerBytes(plan, machine.execution) /
                   (device.memoryBandwidth * device.memoryRate);
  if (plan.offload == Offload::None)
    return seconds;
  double rate = machine.host.linkBandwidth;
  if (plan.offload == Offload::NVMe)
    rate = std::min(rate, machine.host.diskBandwidth);
  return std::max(seconds, 2 * elements *
                               stateBytes(plan, machine.execution).optimizer /
                               rate);
}

/// Adds the reduction of gradients and the optimizer of a stage.
static void addStepTail(StepTime &step, const PricedModel &model,
                        ArrayRef<ModelWork::Run> runs, const ChunkTime &stage,
                        const Plan &plan, const Machine &machine) {
  double data = double(plan.dp) * plan.cp;
  if (plan.zero < 3 && data > 1) {
    GradientTime comm = gradientSeconds(model, runs, plan, machine);
    // The backward of the last micro-batch hides the reduction, except for the
    // last bucket, which waits for the last layer.
    double window =
        plan.overlap ? 0.9 * (stage.inputGrad + stage.weightGrad) : 0.0;
    double slowdown = machine.dataSlowdown(kDataAxes);
    step.gradComm = exposedSeconds(comm.reduce + comm.gather, window, slowdown);
    // If gradients are scattered more than once, the backward of their own
    // micro-batches hides all but the last scatter.
    if (plan.zero == 2 && plan.scatters() > 1) {
      double times = double(plan.scatters());
      double own = window * double(plan.microBatches) / times;
      step.gradComm += (times - 1) * exposedSeconds(comm.reduce, own, slowdown);
    }
  }
  step.exchange = exchangeSeconds(model, runs, plan, machine);
  step.optimizer = optimizerSeconds(stage, plan, machine);
}

/// Returns the seconds to send an activation to the next stage. If every device
/// of tp has the whole activation, each sends a chunk and the receivers gather
/// the chunks (Narayanan et al. 2021, section 4.1).
static double transferSeconds(double bytes, const Layout &layout,
                              const Machine &machine) {
  if (layout.sp || layout.tp == 1)
    return machine.seconds(CollectiveKind::Permute, bytes, PlanAxis::PP);
  return machine.seconds(CollectiveKind::Permute, bytes / layout.tp,
                         PlanAxis::PP) +
         machine.seconds(CollectiveKind::AllGather, bytes, PlanAxis::TP);
}

/// Returns the times of all chunks and links.
static schedule::PipelineTimes pipelineTimes(ArrayRef<ChunkTime> chunks,
                                             const schedule::Pipeline &pipeline,
                                             const PricedModel &model,
                                             const Plan &plan,
                                             const Machine &machine) {
  const schedule::ScheduleProblem &p = pipeline.problem;
  size_t block = model.layers[findBlocks(model.layers)].kind;
  double link = transferSeconds(model.kinds[block].outputBytes, plan, machine);
  // A rank receives and sends for each action. Without overlap it does both at
  // once, or one after the other. With overlap each transfer slows the kernels
  // instead.
  double inLine = machine.execution.batchTransfers ? 1 : 2;
  double wait = (plan.overlap ? std::min(inLine, 2 * machine.transferSlowdown())
                              : inLine) *
                link;
  bool pairs = pipeline.overlapsPairs();
  schedule::PipelineTimes times;
  times.chunks.resize(p.ranks * p.chunks);
  for (int rank = 0; rank < p.ranks; ++rank)
    for (int chunk = 0; chunk < p.chunks; ++chunk) {
      const ChunkTime &sum = chunks[p.stageOf({rank, chunk})];
      // In a pair with two chunks, the backward belongs to the other chunk.
      const ChunkTime &other =
          chunks[p.stageOf({rank, p.chunks == 2 ? 1 - chunk : chunk})];
      times.chunks[rank * p.chunks + chunk] = {
          sum.forward + wait, sum.inputGrad + wait, sum.weightGrad,
          pairs ? sum.pairSeconds(other, machine.device) + 2 * wait : -1};
    }
  times.links.assign(p.numLinks(), link);
  return times;
}

/// Returns the pipeline of a list that fits the plan.
static Expected<schedule::Pipeline>
makeListed(const Layout &layout, const schedule::PipelinePricer &pricer) {
  const schedule::ListedSchedule *list = pricer.findList(layout.scheduleFile);
  if (!list)
    return createStringError("schedule: expects a name or a file that was read "
                             "but got '" +
                             layout.scheduleFile + "'");
  const std::tuple<const char *, int64_t, int> numbers[] = {
      {"pp", layout.pp, list->problem.ranks},
      {"vpp", layout.vpp, list->problem.chunks},
      {"micro-batches", layout.microBatches, list->problem.microBatches}};
  for (auto [field, got, expected] : numbers)
    if (got != expected)
      return createStringError(formatv("{0}: expects {1}, as {2} has them, but "
                                       "got {3}",
                                       field, expected, layout.scheduleFile,
                                       got));
  return schedule::Pipeline{list->problem, layout.schedule, &list->schedule};
}

Expected<schedule::Pipeline>
tessera::cost::makePipeline(const Layout &layout,
                            schedule::PipelinePricer &pricer) {
  if (!layout.scheduleFile.empty()) {
    Expected<schedule::Pipeline> listed = makeListed(layout, pricer);
    if (!listed || layout.pp > 1)
      return listed;
  }
  // One stage keeps one micro-batch at a time, whatever the schedule.
  ScheduleKind kind = layout.pp == 1 ? ScheduleKind::OneFOneB : layout.schedule;
  auto problem = pricer.getProblem(kind, layout.pp, layout.chunks() / layout.pp,
                                   layout.microBatches);
  if (!problem)
    return problem.takeError();
  return schedule::Pipeline{std::move(*problem), kind};
}

Expected<Plan> tessera::cost::splitByTime(const PricedModel &model, Plan plan,
                                          const Machine &machine,
                                          schedule::PipelinePricer &pricer) {
  if (plan.pp == 1 || plan.evenStages || !plan.stageLayers.empty())
    return plan;
  Expected<schedule::Pipeline> pipeline = makePipeline(plan, pricer);
  if (!pipeline)
    return pipeline.takeError();
  ArrayRef<ModelWork::Run> layers = model.layers;
  size_t run = findBlocks(layers);
  auto blocks = static_cast<int64_t>(layers[run].count);
  auto getSeconds = [&](ArrayRef<ModelWork::Run> runs) {
    return sumChunk(model, runs)
        .busy(pipeline->overlapsPairs(), machine.device);
  };
  double block = getSeconds({{layers[run].kind, 1}});
  std::vector<double> ends(plan.chunks());
  ends.front() = getSeconds(layers.take_front(run));
  ends.back() = getSeconds(layers.drop_front(run + 1));
  std::vector<double> counts =
      schedule::splitBlocks(pipeline->problem, ends, blocks, block);
  // Only the ends have layers if there is no block.
  for (auto [count, other] : zip_equal(counts, ends))
    if (count == 0 && other == 0)
      return plan;
  plan.stageLayers = std::move(counts);
  return plan;
}

static std::vector<ChunkTime> sumChunks(const PricedModel &model,
                                        ArrayRef<ModelWork::Runs> runs) {
  std::vector<ChunkTime> chunks;
  chunks.reserve(runs.size());
  for (const ModelWork::Runs &list : runs)
    chunks.push_back(sumChunk(model, list));
  return chunks;
}

Expected<schedule::ListedSchedule>
tessera::cost::makeSchedule(const PricedModel &model, const Plan &plan,
                            const Machine &machine,
                            schedule::PipelinePricer &pricer) {
  if (plan.pp == 1)
    return createStringError("pp: expects at least 2 for a schedule but got 1");
  auto pipeline = makePipeline(plan, pricer);
  if (!pipeline)
    return pipeline.takeError();
  std::vector<ChunkTime> chunks =
      sumChunks(model, assignChunks(model.layers, plan));
  schedule::Schedule list = pricer.getSchedule(
      *pipeline, pipelineTimes(chunks, *pipeline, model, plan, machine));
  return schedule::ListedSchedule{pipeline->problem, std::move(list)};
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// Returns a lower bound of the seconds of exposed gradients for so many
/// parameters. The time of a collective is concave in its bytes, so buckets
/// take no less than one collective for all of them. Hidden collectives still
/// slow kernels, and that share of their time is exposed.
static double leastGradientSeconds(double parameters, const Plan &plan,
                                   const Machine &machine) {
  if (plan.zero == 3 || parameters <= 0)
    return 0;
  double bytes = parameters * (plan.gradDType == GradDType::BF16 ? 2 : 4);
  double whole = machine.seconds(CollectiveKind::AllReduce, bytes, kDataAxes);
  double sharded =
      machine.seconds(CollectiveKind::ReduceScatter, bytes, kDataAxes) +
      machine.seconds(CollectiveKind::AllGather,
                      parameters * copyBytes(plan, /*isBlock=*/true, 2),
                      kDataAxes);
  return std::min(machine.dataSlowdown(kDataAxes), 1.0) *
         std::min(whole, sharded);
}

double tessera::cost::leastRankSeconds(const ChunkTime &front,
                                       const ChunkTime &all,
                                       const ChunkTime &back, int64_t pp,
                                       bool pairs, const DeviceModel &device) {
  if (pp == 1)
    return all.seconds();
  if (!pairs)
    return std::max(
        {all.seconds() / double(pp), front.seconds(), back.seconds()});
  // Rank 0 has both ends, or each of them for half of the micro-batches.
  ChunkTime ends = front;
  ends.add(back, 1);
  return std::max(all.busy(true, device) / double(pp),
                  ends.busy(true, device) / 2);
}

double tessera::cost::leastStepSeconds(const PricedModel &model,
                                       const Plan &plan, const Machine &machine,
                                       bool pairs, bool alone) {
  ArrayRef<ModelWork::Run> layers = model.layers;
  size_t blocks = findBlocks(layers);
  ChunkTime all = sumChunk(model, layers);
  ChunkTime front = sumChunk(model, layers.take_front(blocks));
  ChunkTime back = sumChunk(model, layers.drop_front(blocks + 1));
  double longest = INFINITY;
  for (bool paired : {false, true})
    if (paired ? pairs : alone)
      longest = std::min(longest, leastRankSeconds(front, all, back, plan.pp,
                                                   paired, machine.device));
  // The parameters of a rank that is busy for `longest` seconds.
  double density = INFINITY;
  for (const PricedModel::Kind &kind : model.kinds)
    if (kind.sum.seconds() > 0)
      density = std::min(density, (kind.sum.trained - kind.sum.experts) /
                                      kind.sum.seconds());
  double parameters = std::isfinite(density) ? density * longest : 0;
  double seconds = double(plan.microBatches) * longest +
                   machine.device.stepFloor +
                   leastGradientSeconds(parameters, plan, machine);
  seconds *= 1 + stragglerShare(plan.gpus());
  // Sums in another order differ by rounding.
  return (1 - 1e-9) * seconds;
}

Expected<StagedModel> StagedModel::make(const PricedModel &model, Plan plan,
                                        const Machine &machine,

                                        schedule::PipelinePricer &pricer) {
  Expected<schedule::Pipeline> pipeline = makePipeline(plan, pricer);
  if (!pipeline)
    return pipeline.takeError();
  return StagedModel(model, std::move(plan), machine, std::move(*pipeline));
}

StagedModel::StagedModel(const PricedModel &model, Plan newPlan,
                         const Machine &machine, schedule::Pipeline newPipeline)
    : model(&model), machine(&machine), plan(std::move(newPlan)),
      pipeline(std::move(newPipeline)), runs(assignChunks(model.layers, plan)),
      chunks(sumChunks(model, runs)), ranks(plan.pp) {
  const schedule::ScheduleProblem &problem = pipeline.problem;
  pairs = plan.pp > 1 && pipeline.overlapsPairs();
  // Each direction of a bidirectional pipeline has half of the micro-batches.
  double share = double(problem.microBatchesOf()) / problem.microBatches;
  for (int rank = 0; rank < problem.ranks; ++rank)
    for (int chunk = 0; chunk < problem.chunks; ++chunk)
      ranks[rank].add(chunks[problem.stageOf({rank, chunk})], share);
  for (size_t i = 0; i < ranks.size(); ++i)
    if (busy(i) > busy(busiest))
      busiest = i;
  if (plan.pp > 1)
    times = pipelineTimes(chunks, pipeline, model, plan, machine);
}

double StagedModel::busy(size_t rank) const {
  return ranks[rank].busy(pairs, machine->device);
}

double StagedModel::leastSeconds() const {
  double micro = plan.microBatches;
  if (plan.pp == 1)
    return micro * busy(0);
  const schedule::ScheduleProblem &p = pipeline.problem;
  double link = times.links.empty() ? 0 : times.links.front(), least = 0;
  bool joined = !pipeline.list && !schedule::splitsBackward(pipeline.kind);
  // The seconds of a micro-batch up to a stage, and from there back.
  std::vector<double> there{0}, back{0};
  for (int stage = 0; stage + 1 < p.stages(); ++stage) {
    schedule::Slot slot = p.slotOf(stage, 0);
    const schedule::ChunkTimes &t =
        times.chunks[slot.rank * p.chunks + slot.chunk];
    bool leaves = p.slotOf(stage + 1, 0).rank != slot.rank;
    there.push_back(there.back() + t.forward + leaves * link);
    back.push_back(back.back() + t.inputGrad + t.weightGrad + leaves * link);
  }
  for (int rank = 0; rank < p.ranks; ++rank) {
    int first = p.stages();
    double waits = 0;
    for (int chunk = 0; chunk < p.chunks; ++chunk) {
      first = std::min(first, p.stageOf({rank, chunk}));
      waits += times.chunks[rank * p.chunks + chunk].forward -
               chunks[p.stageOf({rank, chunk})].forward;
    }
    double work = micro * (busy(rank) + 2 * waits / p.numPaths());
    least = std::max(least, there[first] + work + (joined ? back[first] : 0));
  }
  return least;
}

double StagedModel::pipelineSeconds(schedule::PipelinePricer &pricer) const {
  double least = leastSeconds();
  if (plan.pp == 1)
    return least;
  // The price of a large pipeline is extrapolated from smaller ones.
  return std::max(simulate(pricer).makespan, least);
}

ModelWork::Runs StagedModel::runsOf(size_t rank) const {
  const schedule::ScheduleProblem &problem = pipeline.problem;
  ModelWork::Runs all;
  for (int chunk = 0; chunk < problem.chunks; ++chunk)
    llvm::append_range(all, runs[problem.stageOf({int(rank), chunk})]);
  return all;
}

StepTime StagedModel::price(const Plan &wanted, double pipelined) const {
  StepTime step;
  step.busiest = busiest;
  const ChunkTime &rank = ranks[busiest];
  double micro = plan.microBatches, working = micro * busy(busiest);
  step.compute = micro * rank.compute;
  step.memoryBound = micro * rank.memory;
  double idle = std::max(0.0, working - step.compute - step.memoryBound);
  step.layerComm = std::min(micro * rank.exposed, idle);
  step.hostBound = idle - step.layerComm;
  step.bubble = pipelined - working;
  step.fixed = machine->device.stepFloor;
  addStepTail(step, *model, runsOf(busiest), rank, wanted, *machine);
  double seconds =
      pipelined + step.gradComm + step.exchange + step.optimizer + step.fixed;
  step.stragglers = stragglerShare(plan.gpus()) * seconds;
  step.total = seconds + step.stragglers;
  return step;
}

Expected<StepTime> tessera::cost::priceStep(const PricedModel &model,
                                            const Plan &plan,
                                            const Machine &machine,
                                            schedule::PipelinePricer &pricer) {
  Expected<StagedModel> staged =
      StagedModel::make(model, plan, machine, pricer);
  if (!staged)
    return staged.takeError();
  return staged->price(plan, staged->pipelineSeconds(pricer));
}
