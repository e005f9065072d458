//===- StepTime.h - Seconds of a training step ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the seconds of a step from its layers' seconds: chunks of layers on
// stages, the pipeline schedule, the reduction of gradients, the optimizer.
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
  /// Seconds of matmuls and attention, and of memory-bound kernels.
  double compute = 0, memory = 0;
  /// Seconds of exposed collectives, and the forward's share of them.
  double exposed = 0, exposedForward = 0;
  /// Trained elements, and the experts' share of them.
  double trained = 0, experts = 0;

  double seconds() const { return forward + inputGrad + weightGrad; }
  /// Seconds of this forward overlapped with the backward of another chunk: the
  /// collectives of each run during the kernels of the other.
  double pairSeconds(const ChunkTime &backward,
                     const DeviceModel &device) const;
  /// The least time that a rank is busy, with or without such pairs.
  double busy(bool pairs, const DeviceModel &device) const;
  /// Adds a number of layers.
  void addLayers(const ChunkTime &layer, double count);
  /// Adds a chunk that does a share of the rank's micro-batches.
  void add(const ChunkTime &o, double share);
};

/// The times of a layer, without its trained elements. The host issues both
/// halves of the backward in one go.
ChunkTime sumPasses(const LayerTime &time, const DeviceModel &device);

/// A model whose layers are priced for one machine and the layer settings of
/// one plan (tp, cp, sp, micro-batch, recompute, ...).
struct PricedModel {
  /// One kind of layer, on one device.
  struct Kind {
    LayerTime time;
    /// The sums of `time`, and the elements of parameters on a device before
    /// ZeRO shards them; among them those that only a part of the data axis
    /// shares (experts).
    ChunkTime sum;
    /// True if the trained parameters are a block's own.
    bool isBlock = false;
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
  /// Kernel time of the busiest stage.
  double compute = 0, memoryBound = 0;
  /// Device idle because the host issues kernels too slowly.
  double hostBound = 0;
  /// Exposed collectives inside layers (tp, cp, gathers of parameters).
  double layerComm = 0;
  /// Transfers between stages and waiting for other stages.
  double bubble = 0;
  /// Exposed reduction of gradients and gather of new parameters.
  double gradComm = 0;
  /// Exchange of gradients between the ranks of both copies of a stage.
  double exchange = 0;
  double optimizer = 0;
  /// Time outside all layers.
  double fixed = 0;
  /// Waiting for the slowest of all devices.
  double stragglers = 0;
  /// The stage of the times above.
  size_t busiest = 0;
};

/// Relative excess of the slowest of `devices` over the mean of a step: each
/// step of a device has a normal distribution with a standard deviation of 1 %
/// of its mean, and all wait for the last device once per step. The deviation
/// explains the growth of published weak scaling from 8 to 2048 devices that
/// collectives do not; the mean of the largest of n is the asymptotic form
/// (Cramer 1946, section 28.6).
double stragglerShare(int64_t devices);

/// Bytes of gradients that a device receives from the one with the other copy
/// of its stage, for parameters of `elements` elements and experts of
/// `experts`: its shards, once they are reduced. 0 if there is one copy of each
/// stage, or if both copies reduce together.
double exchangedBytes(double elements, double experts, const Plan &plan,
                      const Execution &execution);

/// Bytes that the optimizer reads and writes for each parameter on its device.
double optimizerBytes(const Plan &plan, const Execution &execution);

/// Index of the longest run of equal layers: the model's blocks. Stages send
/// the output of a block to the next stage.
size_t findBlocks(llvm::ArrayRef<ModelWork::Run> layers);

/// The layers of each of the pp x vpp chunks, in model order: the blocks as
/// `plan.stageLayers` says or evenly (earlier chunks get the remainder; if
/// there is one and the schedule has one chunk per stage, the first and last
/// get fewer), the embedding on the first and head and loss on the last. One
/// list of (kind, count) per chunk.
std::vector<ModelWork::Runs> assignChunks(llvm::ArrayRef<ModelWork::Run> layers,
                                          const Layout &layout);

/// The pipeline of a plan: a known schedule, or the list of its file, which the
/// pricer must know. Fails, with the reason, if the schedule cannot run with
/// this many stages, chunks and micro-batches; the plan must pass check().
llvm::Expected<schedule::Pipeline>
makePipeline(const Layout &layout, schedule::PipelinePricer &pricer);

/// Returns the plan with the blocks of each chunk in `stageLayers`, if the plan
/// leaves them to be split by time (schedule::splitBlocks, by forward and
/// backward without transfers). The embedding and the layers before the blocks
/// count on the first chunk, the head and the loss on the last. Returns the
/// plan unchanged if it has no stages, gives its blocks or asks for even ones,
/// or has too few blocks for its chunks, which are then distributed evenly.
/// Fails where makePipeline() fails.
llvm::Expected<Plan> splitByTime(const PricedModel &model, Plan plan,
                                 const Machine &machine,
                                 schedule::PipelinePricer &pricer);

/// A lower bound of the seconds that the longest of `pp` ranks takes with one
/// micro-batch. The ranks share the layers `all`; of these, `front` are in the
/// first chunk and `back` in the last. `pairs`: forwards overlap with
/// backwards.
double leastRankSeconds(const ChunkTime &front, const ChunkTime &all,
                        const ChunkTime &back, int64_t pp, bool pairs,
                        const DeviceModel &device);

/// A lower bound of priceStep() for every schedule, split into chunks and ZeRO
/// stage that `zero3` and the schedules leave open. The longest rank takes at
/// least an even share of all layers, or the layers before or after the blocks,
/// and has gradients of at least as many parameters as its layers have in that
/// time. `pairs`, `alone`: the schedules include ones that overlap forwards
/// with backwards, and ones that do not.
double leastStepSeconds(const PricedModel &model, const Plan &plan,
                        const Machine &machine, bool pairs, bool alone);

/// The schedule that priceStep() prices, and its problem. Fails if there are no
/// stages, or where makePipeline() fails.
llvm::Expected<schedule::ListedSchedule>
makeSchedule(const PricedModel &model, const Plan &plan, const Machine &machine,
             schedule::PipelinePricer &pricer);

/// A priced model on the stages of a pipeline. Plans share it if they differ
/// only in the work once per step (ZeRO, its scatter, the optimizer). Refers to
/// model and machine.
class StagedModel {
public:
  /// Fails where makePipeline() fails. The plan has the chunks of
  /// assignChunks(): call splitByTime() before.
  static llvm::Expected<StagedModel> make(const PricedModel &model, Plan plan,
                                          const Machine &machine,
                                          schedule::PipelinePricer &pricer);

  const Plan &getPlan() const { return plan; }
  const Execution &getExecution() const { return machine->execution; }
  const schedule::Pipeline &getPipeline() const { return pipeline; }
  /// Seconds of the actions of getPipeline(); empty without stages.
  const schedule::PipelineTimes &getTimes() const { return times; }
  /// The layers of each chunk, in model order.
  llvm::ArrayRef<ModelWork::Runs> getChunks() const { return runs; }
  /// A lower bound of pipelineSeconds() that costs a few additions per chunk:
  /// on each rank, the forwards before its first chunk, all of its own work,
  /// and, if B and W are one action, the backwards after its last.
  double leastSeconds() const;
  /// Simulates all micro-batches, without that bound. Expects stages.
  schedule::CompiledSchedule::Ends
  simulate(schedule::PipelinePricer &pricer) const {
    return pricer.price(pipeline, times);
  }
  /// Seconds of all micro-batches: the simulated time of the schedule, and at
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
  /// Empty without stages.
  schedule::PipelineTimes times;
};

/// Prices a step. `pricer` keeps schedules between calls. Fails, with the
/// reason, if the schedule cannot run with this many stages, chunks and
/// micro-batches; the plan must pass check().
llvm::Expected<StepTime> priceStep(const PricedModel &model, const Plan &plan,
                                   const Machine &machine,
                                   schedule::PipelinePricer &pricer);

} // namespace tessera::cost

#endif // TESSERA_COST_STEPTIME_H
