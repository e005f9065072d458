//===- MemoryModel.cpp - Bytes of a device, by category ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/MemoryModel.h"
#include "ArenaBuffers.h"
#include "tessera/Cost/StepTime.h"
#include "tessera/Schedule/Generators.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

/// Scales of 8-bit moments: two floats per block of 2048 (Dettmers et al.
/// 2022).
static constexpr double kScaleBytes = 2 * 4.0 / 2048;

static double optimizerStateBytes(const Plan &plan) {
  bool isF32 = plan.precision == Precision::F32;
  double master = isF32 ? 0 : plan.precision == Precision::FP8 ? 2 : 4;
  double moment = plan.precision == Precision::FP8 ? 2 : 4;
  switch (plan.optimizer) {
  case OptimizerKind::AdamW:
    return master + 2 * moment;
  case OptimizerKind::AdamWNoMaster:
    return 2 * moment;
  case OptimizerKind::AdamW8Bit:
    return master + 2 * 1 + kScaleBytes;
  case OptimizerKind::SGD:
    return master + (plan.momentum > 0 ? moment : 0);
  }
  return 0;
}

StateBytes tessera::cost::stateBytes(const Plan &plan,
                                     const Execution &execution) {
  StateBytes bytes = trainedStateBytes(plan, execution);
  if (plan.loraRank > 0)
    bytes.gradient = bytes.optimizer = 0;
  return bytes;
}

StateBytes tessera::cost::trainedStateBytes(const Plan &plan,
                                            const Execution &execution) {
  StateBytes bytes;
  switch (plan.precision) {
  case Precision::F32:
    bytes.parameter = 4;
    break;
  case Precision::FP8:
    bytes.parameter = 1;
    break;
  // Parameters are stored in 16 bits: operands are cast for each matmul.
  default:
    bytes.parameter = 2;
    break;
  }
  bytes.gradient = plan.gradDType == GradDType::BF16  ? 2
                   : plan.gradDType == GradDType::F32 ? 4
                                                      : 2 + 4;
  if (plan.precision == Precision::F32)
    bytes.gradient = 4;
  bytes.gradient += double(execution.gradCopyBytes);
  bytes.optimizer = optimizerStateBytes(plan);
  if (plan.f32Parameters && bytes.parameter < 4) {
    bytes.parameter = 4;
    if (plan.optimizer != OptimizerKind::AdamWNoMaster)
      bytes.optimizer -= plan.precision == Precision::FP8 ? 2 : 4;
  }
  return bytes;
}

double tessera::cost::copyBytes(const Numerics &numerics, bool isBlock,
                                double otherwise) {
  return isBlock && numerics.weightBytes ? double(numerics.weightBytes)
                                         : otherwise;
}

StateBytes tessera::cost::shardedState(double parameters,
                                       const StateBytes &each, int zero,
                                       double ranks) {
  auto shard = [&](double bytes, int from) {
    return parameters * bytes / (zero >= from ? ranks : 1);
  };
  return {shard(each.parameter, 3), shard(each.gradient, 2),
          shard(each.optimizer, 1)};
}

double MemoryBytes::allocated() const {
  return parameters + gradients + optimizer + activations + gathered +
         communication + logits + workspace;
}

SmallVector<std::pair<const char *, double>, 10>
MemoryBytes::categories() const {
  return {{"parameters", parameters},
          {"gradients", gradients},
          {"optimizer state", optimizer},
          {"activations", activations},
          {"gathered parameters", gathered},
          {"communication", communication},
          {"logits", logits},
          {"workspace", workspace},
          {"context", context},
          {"margin", margin}};
}

/// Returns the bytes of the gradients of an op's result and operands, which are
/// live together while the latter are computed. For an op of several kernels,
/// only the bytes of one kernel count. The gradient of a softmax overwrites the
/// gradient that it is computed from, as in Megatron's kernels.
static double gradientBytes(const OpWork &op) {
  if (op.kind == OpClass::Matmul)
    return op.weight ? double(op.matmul.batch) * double(op.matmul.m) *
                           double(op.matmul.k + op.matmul.n) *
                           std::max(byteWidth(op.dtype), 2.0)
                     : 0;
  if (op.kind != OpClass::Elementwise || op.forwardOnly)
    return 0;
  return (op.bytesRead + op.bytesWritten) /
         double(std::max<int64_t>(op.kernels, 1));
}

static void addWeightOperands(const OpWork &op, LayerMemory &memory) {
  double rows =
      double(op.matmul.batch) * double(op.matmul.m) * byteWidth(op.dtype);
  memory.weightOperands += rows * double(op.matmul.k + op.matmul.n);
  memory.weightResults += rows * double(op.matmul.n);
}

MemoryModel::MemoryModel(const ModelWork &work) {
  for (const LayerWork &layer : work.kinds) {
    LayerMemory memory;
    memory.parameters = layer.parameterElements();
    for (const ParameterWork &parameter : layer.parameters) {
      memory.largestParameter =
          std::max(memory.largestParameter, parameter.elements);
      auto same = find_if(memory.groups, [&](const ParameterWork &group) {
        return group.expertRanks == parameter.expertRanks;
      });
      if (same == memory.groups.end())
        memory.groups.push_back(
            {"", parameter.elements, parameter.expertRanks});
      else
        same->elements += parameter.elements;
    }
    memory.adapters = layer.adapterElements();
    memory.saved = layer.savedBytes();
    for (const SavedTensor &tensor : layer.saved)
      memory.savedCore += tensor.attentionCore ? tensor.bytes : 0;
    for (const SavedTensor &tensor : layer.keptResults)
      memory.keptResults += tensor.bytes;
    for (const OpWork &op : layer.ops)
      if (op.pass == Pass::Forward && op.weight)
        addWeightOperands(op, memory);
    memory.isBlock = layer.name == "block";
    if (memory.isBlock)
      for (const OpWork &op : layer.ops)
        if (op.pass == Pass::Forward)
          memory.gradients = std::max(memory.gradients, gradientBytes(op));
    memory.isFirst = layer.name == "embedding";
    memory.output = layer.outputBytes;
    memory.workspace = layer.workspaceBytes;
    memory.isRecomputed = any_of(
        layer.ops, [](const OpWork &op) { return op.pass == Pass::Recompute; });
    memory.isHead = layer.name == "head" || layer.name == "loss";
    memory.tensors = layer.saved;
    memory.results = layer.keptResults;
    kinds.push_back(std::move(memory));
  }
  if (work.layers.empty())
    return;
  const LayerMemory &block = kinds[work.layers[findBlocks(work.layers)].kind];
  boundaryBytes = block.output;
  if (block.saved > 0)
    keptForWeightGrad = (block.saved - block.savedCore) / block.saved;
}

void MemoryModel::addState(StageMemory &stage, const LayerMemory &layer,
                           double count, const Plan &plan,
                           const Execution &execution,
                           const StateBytes &each) const {
  auto add = [&](const ParameterWork &group, const StateBytes &each) {
    // A bidirectional pipeline has each stage twice, on ranks that share its
    // state. This compiler's programs shard each copy separately.
    bool sharesCopies = plan.schedule == ScheduleKind::DualPipe &&
                        plan.pp > 1 && execution.gradBuffers;
    double ranks = double(plan.dp) * double(plan.cp) /
                   double(group.expertRanks) * (sharesCopies ? 2 : 1);
    if (plan.shardRanks)
      ranks = std::min<double>(ranks, plan.shardRanks);
    StateBytes state =
        shardedState(count * group.elements, each, plan.zero, ranks);
    // Gradients scattered once per step are whole until then.
    if (plan.zero == 2 && plan.scatter != Scatter::Each &&
        !(plan.scatter == Scatter::Round && plan.hasRounds()))
      state.gradient = count * group.elements * each.gradient;
    stage.bytes.parameters += state.parameter;
    stage.bytes.gradients += state.gradient;
    if (plan.offload == Offload::None)
      stage.bytes.optimizer += state.optimizer;
    else
      stage.offloaded += state.optimizer;
  };
  StateBytes own = each;
  // Parameters in f32 are the master copy: another one comes and goes.
  if (!plan.f32Parameters)
    own.parameter = copyBytes(plan, layer.isBlock, each.parameter);
  for (const ParameterWork &group : layer.groups)
    add(group, own);
  if (layer.adapters > 0)
    add({"", layer.adapters, 1}, trainedStateBytes(plan, execution));
}

/// Returns the bytes that one micro-batch keeps for `count` consecutive layers.
static double keptBytes(const LayerMemory &layer, double count,
                        const Numerics &plan) {
  if (!layer.isRecomputed)
    return count * layer.saved;
  if (plan.recompute == Recompute::Selective)
    return count * (layer.saved - layer.savedCore);
  if (plan.recompute == Recompute::Matmuls)
    return count * (layer.output + layer.keptResults);
  // The inputs of groups of layers.
  return std::ceil(count / plan.checkpointEvery) * layer.output;
}

double tessera::cost::recomputedBytes(const LayerMemory &layer, double count,
                                      const Plan &plan) {
  if (!layer.isRecomputed)
    return 0;
  if (plan.recompute == Recompute::Selective)
    return layer.savedCore;
  if (plan.recompute == Recompute::Matmuls)
    return std::max(0.0, layer.saved - layer.keptResults);
  return std::min<double>(count, plan.checkpointEvery) * layer.saved;
}

void MemoryModel::addActivations(StageMemory &stage, const Plan &plan) const {
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns) {
    const LayerMemory &layer = kinds[entry.run.kind];
    double bytes = entry.live * keptBytes(layer, entry.run.count, plan);
    (layer.isHead ? stage.bytes.logits : stage.bytes.activations) += bytes;
  }
}

std::vector<SavedTensor> MemoryModel::largestTensors(const StageMemory &stage,
                                                     const Plan &plan,
                                                     size_t count) const {
  llvm::MapVector<StringRef, double> sums;
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns) {
    const LayerMemory &layer = kinds[entry.run.kind];
    if (layer.isRecomputed && plan.recompute == Recompute::Matmuls) {
      sums["inputs of layers"] += entry.live * entry.run.count * layer.output;
      for (const SavedTensor &tensor : layer.results)
        sums[tensor.name] += entry.live * entry.run.count * tensor.bytes;
      continue;
    }
    if (layer.isRecomputed && plan.recompute == Recompute::Full) {
      sums["inputs of layers"] +=
          entry.live * keptBytes(layer, entry.run.count, plan);
      continue;
    }
    for (const SavedTensor &tensor : layer.tensors)
      if (!layer.isRecomputed || !tensor.attentionCore)
        sums[tensor.name] += entry.live * entry.run.count * tensor.bytes;
  }
  std::vector<std::pair<double, size_t>> order;
  for (const auto &[i, entry] : enumerate(sums))
    order.push_back({-entry.second, i});
  sort(order);
  std::vector<SavedTensor> largest;
  for (const auto &[bytes, i] : order)
    if (largest.size() < count)
      largest.push_back({(sums.begin() + i)->first.str(), -bytes});
  return largest;
}

void MemoryModel::addBuffers(StageMemory &stage, const Plan &plan,
                             const Execution &execution, const StateBytes &each,
                             bool splits) const {
  if (!execution.gradBuffers)
    return addArenaBuffers(stage, plan, each, splits);
  double output = 0, workspace = 0;
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns) {
    const LayerMemory &layer = kinds[entry.run.kind];
    output = std::max(output, layer.output);
    workspace =
        std::max(workspace, std::max(layer.workspace, layer.gradients) +
                                recomputedBytes(layer, entry.run.count, plan));
  }
  // The gradient of an activation is live while the next one is computed.
  stage.bytes.workspace = workspace + output;
  addGradientBuffers(stage, plan, execution, each);
}

void MemoryModel::addGradientBuffers(StageMemory &stage, const Plan &plan,
                                     const Execution &execution,
                                     const StateBytes &each) const {
  double largestLayer = 0, largestParameter = 0, gathered = 0;
  double width =
      plan.precision == Precision::F32 ? 4 : std::min(each.parameter, 2.0);
  SmallVector<double, 8> chunks;
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns) {
    const LayerMemory &layer = kinds[entry.run.kind];
    largestLayer = std::max(largestLayer, layer.parameters);
    gathered = std::max(gathered, layer.parameters *
                                      copyBytes(plan, layer.isBlock, width));
    // When the first layer's gradient is computed, its micro-batch is over.
    if (!layer.isFirst)
      largestParameter = std::max(largestParameter, layer.largestParameter);
    chunks.resize(std::max<size_t>(chunks.size(), entry.chunk + 1));
    chunks[entry.chunk] += double(entry.run.count) * layer.parameters;
  }
  double gradient =
      std::max(0.0, each.gradient - double(execution.gradCopyBytes));
  bool eachMicroBatch = plan.zero == 2 && plan.scatter == Scatter::Each;
  // A gradient before it is added to the sum over micro-batches.
  if (plan.microBatches > 1 && plan.zero != 3 && !eachMicroBatch &&
      plan.gradDType != GradDType::Both)
    stage.bytes.workspace += largestParameter * gradient;
  // The gradients of the layer being reduced, unsharded.
  if (plan.zero == 3 || eachMicroBatch)
    stage.bytes.communication += largestLayer * gradient;
  // The gradients of the chunk in use and of the chunk being scattered.
  if (plan.zero == 2 && plan.scatter == Scatter::Round && plan.hasRounds())
    stage.bytes.communication +=
        2 * *std::max_element(chunks.begin(), chunks.end()) * gradient;
  // One layer in use and the next one in transfer, in the type of matmuls.
  if (plan.zero == 3)
    stage.bytes.gathered = 2 * gathered;
}

/// Returns the bytes of the device's context and of the collective library.
static double contextBytes(const Layout &layout, const Execution &execution,
                           const MemoryConstants &constants) {
  if (execution.contextBytes > 0)
    return double(execution.contextBytes);
  return constants.deviceContext +
         (layout.gpus() > 1 ? constants.collectiveContext : 0);
}

/// True if some rank runs B and W separately, and B is not part of a pair.
static bool splitsBackward(const schedule::Pipeline &pipeline) {
  if (!pipeline.list)
    return schedule::splitsBackward(pipeline.kind) &&
           !schedule::overlapsPairs(pipeline.kind);
  return llvm::any_of(
      pipeline.list->ranks, [](const std::vector<schedule::Action> &actions) {
        return llvm::any_of(actions, [](const schedule::Action &action) {
          return action.kind == schedule::ActionKind::InputGrad;
        });
      });
}

/// `chunks` is by stage of a micro-batch's path; a bidirectional pipeline has
/// each stage twice.
std::vector<StageMemory>
MemoryModel::stages(ArrayRef<ModelWork::Runs> chunks, const Plan &plan,
                    const Execution &execution,
                    schedule::PipelinePricer &pricer,
                    const MemoryConstants &constants) const {
  auto pipeline = makePipeline(plan, pricer);
  assert(pipeline && "expects a plan that priceStep() prices");
  return stages(chunks, plan, execution, *pipeline, pricer, constants);
}

std::vector<StageMemory> MemoryModel::stages(
    ArrayRef<ModelWork::Runs> chunks, const Plan &plan,
    const Execution &execution, const schedule::Pipeline &pipeline,
    schedule::PipelinePricer &pricer, const MemoryConstants &constants) const {
  const schedule::ScheduleProblem &problem = pipeline.problem;
  // Between B and W, a micro-batch keeps a share of the activations of blocks,
  // and weightOperands of the head.
  std::vector<std::vector<double>> listed[2];
  auto liveAtPeak =
      [&](double kept,
          bool isPending) -> const std::vector<std::vector<double>> & {
    if (!pipeline.list)
      return pricer.liveAtPeak(pipeline.kind, problem, kept);
    listed[isPending] = schedule::liveAtPeak(problem, *pipeline.list, kept);
    return listed[isPending];
  };
  const auto &live = liveAtPeak(keptForWeightGrad, /*isPending=*/false);
  const auto &pending = liveAtPeak(0, /*isPending=*/true);
  std::vector<int64_t> boundaries = pricer.boundariesAtPeak(pipeline);
  StateBytes each = stateBytes(plan, execution);

  std::vector<StageMemory> stages(plan.pp);
  for (int rank = 0; rank < plan.pp; ++rank) {
    StageMemory &stage = stages[rank];
    for (int chunk = 0; chunk < problem.chunks; ++chunk) {
      for (const ModelWork::Run &run : chunks[problem.stageOf({rank, chunk})]) {
        const auto &count = kinds[run.kind].isHead ? pending : live;
        stage.chunkRuns.push_back({run, count[rank][chunk], chunk});
        addState(stage, kinds[run.kind], run.count, plan, execution, each);
        if (kinds[run.kind].isHead && keptForWeightGrad > 0)
          stage.bytes.logits += (live[rank][chunk] - pending[rank][chunk]) /
                                keptForWeightGrad * run.count *
                                kinds[run.kind].weightOperands;
      }
      stage.liveMicroBatches += live[rank][chunk] * problem.chunkShare();
    }
    addActivations(stage, plan);
    addBuffers(stage, plan, execution, each, splitsBackward(pipeline));
    MemoryBytes &bytes = stage.bytes;
    // The peak is before the backward (activations) or after it (gradients).
    if (!execution.gradBuffers && plan.microBatches == 1)
      bytes.gradients -=
          std::min(bytes.gradients, bytes.activations + bytes.logits);
    if (plan.pp > 1)
      bytes.communication += double(boundaries[rank]) * boundaryBytes;
    bytes.context = contextBytes(plan, execution, constants);
    bytes.margin =
        constants.fragmentation *
        (bytes.activations + bytes.gathered + bytes.logits + bytes.workspace);
    bytes.margin += (constants.observed - 1) * bytes.total();
  }
  return stages;
}

double MemoryModel::leastBytes(ArrayRef<ModelWork::Run> layers,
                               const Plan &plan, const Execution &execution,
                               int zero,
                               const MemoryConstants &constants) const {
  StateBytes each = stateBytes(plan, execution);
  StageMemory sum;
  Plan most = plan;
  most.zero = zero;
  most.scatter = Scatter::Each;
  // The two copies of a bidirectional pipeline are sharded over twice the
  // ranks, so the bytes per rank are the same.
  most.schedule = ScheduleKind::OneFOneB;
  double kept = 0;
  for (const ModelWork::Run &run : layers) {
    const LayerMemory &layer = kinds[run.kind];
    addState(sum, layer, run.count, most, execution, each);
    bool grouped = layer.isRecomputed && plan.recompute == Recompute::Full;
    if (!layer.isHead)
      kept += grouped ? run.count / double(plan.checkpointEvery) * layer.output
                      : keptBytes(layer, run.count, plan);
  }
  const MemoryBytes &state = sum.bytes;
  // Gradients may reuse the memory of activations.
  double held = execution.gradBuffers ? state.gradients
                                      : std::max(0.0, state.gradients - kept);
  double bytes = state.parameters + held + state.optimizer +
                 (1 + constants.fragmentation) * kept;
  return (1 - 1e-9) *
         (bytes / double(plan.pp) + contextBytes(plan, execution, constants));
}

size_t tessera::cost::fullestStage(ArrayRef<StageMemory> stages) {
  size_t fullest = 0;
  for (size_t i = 1; i < stages.size(); ++i)
    if (stages[i].bytes.total() > stages[fullest].bytes.total())
      fullest = i;
  return fullest;
}
