//===- MemoryModel.h - Bytes of a device, by category -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contents of a device's memory at the peak of a training step, for each
// pipeline stage: state by precision, optimizer and ZeRO; activations by the
// tensors that the forward pass saves, the number of micro-batches that the
// schedule keeps alive, and recomputation; buffers; stated margins. Nothing
// here depends on time.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_MEMORYMODEL_H
#define TESSERA_COST_MEMORYMODEL_H

#include "tessera/Cost/Execution.h"
#include "tessera/Cost/Work.h"
#include "tessera/Schedule/PipelinePricer.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera::cost {

/// Bytes that training keeps per parameter, before ZeRO shards them.
struct StateBytes {
  double parameter = 0, gradient = 0, optimizer = 0;
  double sum() const { return parameter + gradient + optimizer; }
};

/// Bytes per trained parameter: the model's own, or the adapters' with
/// Numerics::loraRank. They depend on precision, type of the gradients and
/// optimizer: bf16 and f16 2 + 4 (f32 gradients) or 2 (bf16) + 12 (master copy
/// and two moments of AdamW), 8 without the master copy, 4 + 2 with 8-bit
/// moments, 4 for SGD; f32 4 + 4 + 8, since parameters in f32 are their own
/// master copy; fp8 1 + 4 or 2 + 6 (master copy and moments in bf16). 8-bit
/// moments have 8 bytes of scales for each block of 2048.
StateBytes trainedStateBytes(const Plan &plan, const Execution &execution);

/// Bytes per parameter of the model: as trainedStateBytes(), but without
/// gradient and optimizer state if Numerics::loraRank is set.
StateBytes stateBytes(const Plan &plan, const Execution &execution);

/// Bytes of a parameter that is kept or gathered in so many where nothing else
/// says so: a block's parameter has Numerics::weightBytes.
double copyBytes(const Numerics &numerics, bool isBlock, double otherwise);

/// Bytes of the state of `parameters` on one of the `ranks` devices that share
/// them: ZeRO 1 shards the optimizer state, 2 also the gradients, 3 also the
/// parameters.
StateBytes shardedState(double parameters, const StateBytes &each, int zero,
                        double ranks);

/// Bytes on one device at the peak, by category.
struct MemoryBytes {
  double parameters = 0, gradients = 0, optimizer = 0;
  double activations = 0;
  /// Parameters that ZeRO-3 has gathered for the running layers.
  double gathered = 0;
  /// Gradients in reduction, activations between stages.
  double communication = 0;
  /// Tensors that the head and the loss keep.
  double logits = 0;
  /// Temporaries of kernels and of recomputation.
  double workspace = 0;
  /// Context of the driver and of the collective library.
  double context = 0;
  /// Fragmentation: bytes lost between blocks.
  double margin = 0;

  /// Bytes that the program requests: without context and margin.
  double allocated() const;
  /// Bytes that the allocator reserves for them.
  double reserved() const { return allocated() + margin; }
  double total() const { return reserved() + context; }
  /// All categories with their names, in the order above.
  llvm::SmallVector<std::pair<const char *, double>, 10> categories() const;
};

/// Constants that do not follow from the program.
struct MemoryConstants {
  /// Bytes of the device's context, and of the collective library if there is
  /// more than one device.
  double deviceContext = 2e9, collectiveContext = 1e9;
  /// Share of the transient categories (activations, gathered, logits,
  /// workspace) that is lost between blocks. Fitted to the peak memory of the
  /// zero-bubble paper's runs (Qi et al. 2024, tables 4, 8 and 9).
  double fragmentation = 0.08;
  /// Bytes of observed runs relative to the model's; the margin covers the
  /// excess.
  double observed = 1;
};

/// A pipeline stage, that is, one rank of pp.
struct StageMemory {
  MemoryBytes bytes;
  /// Bytes of this device's state that are in host memory or on disk.
  double offloaded = 0;
  /// Layers of one kind in one chunk, and the number of their micro-batches
  /// alive at the peak.
  struct ChunkRun {
    ModelWork::Run run;
    double live;
    /// Index among the rank's chunks.
    int chunk = 0;
  };
  llvm::SmallVector<ChunkRun, 4> chunkRuns;
  /// Micro-batches alive at the peak, in whole stages.
  double liveMicroBatches = 0;
};

/// The sizes of a kind of layer that the memory model needs.
struct LayerMemory {
  /// Elements of the parameters, and of the adapters that are trained instead.
  double parameters = 0, adapters = 0;
  /// Elements of the largest parameter.
  double largestParameter = 0;
  /// Parameters grouped by the number of devices that share them.
  std::vector<ParameterWork> groups;
  /// Bytes that the backward needs; the attention core's share of them; and
  /// the bytes kept in addition to the input if every second matmul is
  /// recomputed.
  double saved = 0, savedCore = 0, keptResults = 0;
  double output = 0, workspace = 0;
  /// Bytes that the weight gradients need: the inputs of the matmuls and the
  /// gradients of their results.
  double weightOperands = 0;
  /// The share of these that the input gradient computes: gradients of results.
  double weightResults = 0;
  /// Largest number of bytes of gradients that one op of a block reads and
  /// writes.
  double gradients = 0;
  bool isRecomputed = false, isHead = false, isFirst = false, isBlock = false;
  std::vector<SavedTensor> tensors, results;
};

/// The memory model of one model under the layer settings of one plan.
class MemoryModel {
public:
  explicit MemoryModel(const ModelWork &work);

  /// The memory of each stage of a plan's pipeline (makePipeline); the plan
  /// must pass check(). `chunks` are the layers of each chunk in model order,
  /// as assignChunks() gives them.
  std::vector<StageMemory> stages(llvm::ArrayRef<ModelWork::Runs> chunks,
                                  const Plan &plan, const Execution &execution,
                                  const schedule::Pipeline &pipeline,
                                  schedule::PipelinePricer &pricer,
                                  const MemoryConstants &constants = {}) const;
  /// The same; the plan must have a pipeline.
  std::vector<StageMemory> stages(llvm::ArrayRef<ModelWork::Runs> chunks,
                                  const Plan &plan, const Execution &execution,
                                  schedule::PipelinePricer &pricer,
                                  const MemoryConstants &constants = {}) const;

  /// A lower bound of the fullest stage's total, for every schedule, split into
  /// chunks and scatter of a plan: the mean over the stages of their state and
  /// the activations of one micro-batch. `zero` is the highest ZeRO stage that
  /// the plan may have.
  double leastBytes(llvm::ArrayRef<ModelWork::Run> layers, const Plan &plan,
                    const Execution &execution, int zero,
                    const MemoryConstants &constants = {}) const;

  /// The tensors that a stage keeps at the peak, merged by name, the largest
  /// first.
  std::vector<SavedTensor> largestTensors(const StageMemory &stage,
                                          const Plan &plan, size_t count) const;

private:
  void addState(StageMemory &stage, const LayerMemory &layer, double count,
                const Plan &plan, const Execution &execution,
                const StateBytes &each) const;
  void addActivations(StageMemory &stage, const Plan &plan) const;
  void addBuffers(StageMemory &stage, const Plan &plan,
                  const Execution &execution, const StateBytes &each,
                  bool splits) const;
  void addGradientBuffers(StageMemory &stage, const Plan &plan,
                          const Execution &execution,
                          const StateBytes &each) const;
  void addArenaBuffers(StageMemory &stage, const Plan &plan,
                       const StateBytes &each, bool splits) const;

  std::vector<LayerMemory> kinds;
  /// Bytes that a stage sends to the next.
  double boundaryBytes = 0;
  /// Share of a block's activations that its weight gradients need: all but the
  /// attention core, if that is kept.
  double keptForWeightGrad = 1;
};

/// Index of the stage that needs the most bytes.
size_t fullestStage(llvm::ArrayRef<StageMemory> stages);

} // namespace tessera::cost

#endif // TESSERA_COST_MEMORYMODEL_H
