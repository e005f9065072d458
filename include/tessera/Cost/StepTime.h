//===- StepTime.h - Seconds of a training step ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the seconds of layers to those of a step: chunks of layers on stages,
// the pipeline schedule, the reduction of gradients, the optimizer.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_STEPTIME_H
#define TESSERA_COST_STEPTIME_H

#include "tessera/Cost/LayerTime.h"
#include "tessera/Schedule/PipelinePricer.h"

namespace tessera::cost {

/// Seconds of a layer, of a chunk, or of all chunks of a rank, with one
/// micro-batch.
struct ChunkTime {
  double forward = 0, inputGrad = 0, weightGrad = 0;
  /// Of matmuls and attention, and of memory-bound kernels.
  double compute = 0, memory = 0;
  /// Of exposed collectives, and those of the forward among them.
  double exposed = 0, exposedForward = 0;
  /// Elements that are trained, and those of experts among them.
  double trained = 0, experts = 0;

  double seconds() const { return forward + inputGrad + weightGrad; }
  /// This forward beside the backward of another chunk: the collectives of each
  /// beside the kernels of the other.
  double pairSeconds(const ChunkTime &backward,
                     const DeviceModel &device) const;
  /// What a rank is busy for at least, with or without such pairs.
  double busy(bool pairs, const DeviceModel &device) const;
  /// Adds a number of layers.
  void addLayers(const ChunkTime &layer, double count);
  /// Adds a chunk that does a share of the rank's micro-batches.
  void add(const ChunkTime &o, double share);
};

/// The times of a layer without what it trains. The host issues both halves of
/// the backward in one go.
ChunkTime sumPasses(const LayerTime &time, const DeviceModel &device);

/// A model whose layers are priced for one machine and one plan of a layer
/// (tp, cp, sp, micro-batch, recompute, ...).
struct PricedModel {
  /// One kind of layer, on one device.
  struct Kind {
    LayerTime time;
    /// The sums of `time`, and elements of parameters on a device, before ZeRO
    /// shards them; of these, the ones that not all of the data axis shares
    /// (experts).
    ChunkTime sum;
    double outputBytes = 0;
    double savedBytes = 0;
  };
  std::vector<Kind> kinds;
  std::vector<ModelWork::Run> layers;
};

/// Prices each kind of layer once (priceLayer) and adds the sizes that a step
/// needs.
PricedModel priceModel(const ModelWork &work, const Machine &machine);

/// Seconds of a step by cause; they sum to `total`.
struct StepTime {
  double total = 0;
  /// Of the busiest stage.
  double compute = 0, memoryBound = 0;
  /// Device idle because the host issues kernels too slowly.
  double hostBound = 0;
  /// Exposed collectives inside layers (tp, cp, gathers of parameters).
  double layerComm = 0;
  /// Transfers between stages and waiting for other stages.
  double bubble = 0;
  /// Exposed reduction of gradients and gather of new parameters.
  double gradComm = 0;
  double optimizer = 0;
  /// What belongs to no layer.
  double fixed = 0;
  /// Waiting for the slowest of all devices.
  double stragglers = 0;
  /// The stage that the times above are of.
  size_t busiest = 0;
};

/// The part of a step by which the slowest of `devices` takes longer than the
/// mean: each step of a device has a normal distribution with a standard
/// deviation of 1 % of its mean, and all wait for the last one once per step.
/// The deviation gives the growth of published weak scaling from 8 to 2048
/// devices beyond that of its collectives; the mean of the largest of n is the
/// asymptotic form (Cramer 1946, section 28.6).
double stragglerShare(int64_t devices);

/// Bytes that the optimizer reads and writes for each parameter on its device.
double optimizerBytes(const Plan &plan);

/// Index of the longest run of equal layers: the model's blocks. What goes from
/// stage to stage is the output of one.
size_t findBlocks(llvm::ArrayRef<ModelWork::Run> layers);

/// The layers of each of the pp x vpp chunks, in order of the model: the blocks
/// as `plan.stageLayers` says or evenly (earlier chunks get what does not
/// divide; where it does not and the schedule has one chunk per stage, the
/// first and last get fewer), the embedding on the first and head and loss on
/// the last. One list of (kind, count) per chunk.
std::vector<ModelWork::Runs> assignChunks(llvm::ArrayRef<ModelWork::Run> layers,
                                          const Plan &plan);

/// The pipeline of a plan: a known schedule, or the list of its file, which the
/// pricer must know. An error says why the schedule cannot run with this many
/// stages, chunks and micro-batches; the plan must pass check().
llvm::Expected<schedule::Pipeline>
makePipeline(const Plan &plan, schedule::PipelinePricer &pricer);

/// The plan with the blocks of each chunk in `stageLayers`, where it leaves
/// them to the time (schedule::splitBlocks, by forward and backward without
/// transfers). The embedding and what is before the blocks count on the first
/// chunk, the head and the loss on the last. A plan without stages, with blocks
/// of its own or with even ones comes back as it is, also one with too few
/// blocks for its chunks, which are distributed evenly. An error as of
/// makePipeline().
llvm::Expected<Plan> splitByTime(const PricedModel &model, Plan plan,
                                 const Machine &machine,
                                 schedule::PipelinePricer &pricer);

/// A bound of the seconds with one micro-batch of the longest of `pp` ranks
/// that share the layers `all`, of which `front` are in the first chunk and
/// `back` in the last. `pairs`: forwards run beside backwards.
double leastRankSeconds(const ChunkTime &front, const ChunkTime &all,
                        const ChunkTime &back, int64_t pp, bool pairs,
                        const DeviceModel &device);

/// A bound of priceStep() for every schedule, split into chunks and ZeRO stage
/// that `zero3` and the schedules leave open. The longest rank takes at least
/// an even share of all layers, or what is before or after the blocks, and has
/// gradients of at least as many parameters as its layers have in that time.
/// `pairs`, `alone`: schedules are among them in which forwards run beside
/// backwards, and others.
double leastStepSeconds(const PricedModel &model, const Plan &plan,
                        const Machine &machine, bool pairs, bool alone);

/// The schedule that priceStep() prices, and its problem. An error if there are
/// no stages, or as of makePipeline().
llvm::Expected<schedule::ListedSchedule>
makeSchedule(const PricedModel &model, const Plan &plan, const Machine &machine,
             schedule::PipelinePricer &pricer);

/// A priced model on the stages of a pipeline: what plans share that differ
/// only in what comes once per step (ZeRO, its scatter, the optimizer). Refers
/// to model and machine.
class StagedModel {
public:
  /// An error as of makePipeline(). The plan's chunks are those of
  /// assignChunks(): splitByTime() comes before.
  static llvm::Expected<StagedModel> make(const PricedModel &model, Plan plan,
                                          const Machine &machine,
                                          schedule::PipelinePricer &pricer);

  const Plan &getPlan() const { return plan; }
  const schedule::Pipeline &getPipeline() const { return pipeline; }
  /// The layers of each chunk, in order of the model.
  llvm::ArrayRef<ModelWork::Runs> getChunks() const { return runs; }
  /// A bound of pipelineSeconds(), in the time of a few additions a chunk: on
  /// each rank, the forwards before its first chunk, all of its own work, and,
  /// where B and W are one action, the backwards after its last.
  double leastSeconds() const;
  /// Of all micro-batches, without that bound. Expects stages.
  schedule::CompiledSchedule::Ends
  simulate(schedule::PipelinePricer &pricer) const {
    return pricer.price(pipeline, times);
  }
  /// Seconds of all micro-batches: of the schedule as it is simulated, and at
  /// least leastSeconds().
  double pipelineSeconds(schedule::PipelinePricer &pricer) const;
  /// The step of a plan that has this pipeline.
  StepTime price(const Plan &plan, double pipelineSeconds) const;

private:
  StagedModel(const PricedModel &model, Plan plan, const Machine &machine,
              schedule::Pipeline pipeline);
  double busy(size_t rank) const;
  ModelWork::Runs runsOf(size_t rank) const;

  const PricedModel *model;
  const Machine *machine;
  Plan plan;
  schedule::Pipeline pipeline;
  std::vector<ModelWork::Runs> runs;
  std::vector<ChunkTime> chunks, ranks;
  bool pairs = false;
  size_t busiest = 0;
  /// Without stages empty.
  schedule::PipelineTimes times;
};

/// Prices a step. `pricer` keeps schedules between calls. An error says why the
/// schedule cannot run with this many stages, chunks and micro-batches; the
/// plan must pass check().
llvm::Expected<StepTime> priceStep(const PricedModel &model, const Plan &plan,
                                   const Machine &machine,
                                   schedule::PipelinePricer &pricer);

} // namespace tessera::cost

#endif // TESSERA_COST_STEPTIME_H
