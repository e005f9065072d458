//===- ArenaBuffers.cpp - Buffers of an arena besides activations ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The buffers of programs whose memory is planned as one arena, as this
// compiler does. Parameters are gathered, and gradients reduced, one after the
// other, so that two are live at once: one in use and one in transfer. A
// pipeline task keeps its values in one block, which lives until the end of the
// last task that reads it:
//
//     F0  F1  F2  B0  W0         activations of 3 micro-batches, and while B0
//     |-----------|              runs the gradients that it computes for W0;
//                 |---|          they reuse the activations' memory after it
//
// The peak has most of these buffers: at the turn from the forward to the
// backward in the head, in a block, or in the embedding table of the first
// stage.
//
//===----------------------------------------------------------------------===//

#include "ArenaBuffers.h"
#include <algorithm>

using namespace tessera;
using namespace tessera::cost;

namespace {

/// Bytes live at one time in addition to the activations.
struct Buffers {
  double gathered = 0, reduced = 0, workspace = 0;
  double sum() const { return gathered + reduced + workspace; }
};

/// Sizes of the layers of a stage.
struct StageSizes {
  /// Elements of the largest parameter of the blocks, of the head and of the
  /// table.
  double block = 0, head = 0, table = 0;
  /// Bytes of temporaries of the blocks and of the head; of an activation; of
  /// the gradients that a chunk's B computes for its W.
  double blockWork = 0, headWork = 0, output = 0, forWeightGrad = 0;
};

} // namespace

static StageSizes measure(const StageMemory &stage,
                          const std::vector<LayerMemory> &kinds,
                          const Plan &plan) {
  StageSizes sizes;
  llvm::SmallVector<double, 8> chunks;
  for (const StageMemory::ChunkRun &entry : stage.chunkRuns) {
    const LayerMemory &layer = kinds[entry.run.kind];
    double &largest = layer.isFirst  ? sizes.table
                      : layer.isHead ? sizes.head
                                     : sizes.block;
    largest = std::max(largest, layer.largestParameter);
    double &work = layer.isHead ? sizes.headWork : sizes.blockWork;
    work = std::max(work, std::max(layer.workspace, layer.gradients) +
                              recomputedBytes(layer, entry.run.count, plan));
    sizes.output = std::max(sizes.output, layer.output);
    chunks.resize(std::max<size_t>(chunks.size(), entry.chunk + 1));
    chunks[entry.chunk] += double(entry.run.count) * layer.weightResults;
  }
  sizes.forWeightGrad = *std::max_element(chunks.begin(), chunks.end());
  return sizes;
}

void MemoryModel::addArenaBuffers(StageMemory &stage, const Plan &plan,
                                  const StateBytes &each, bool splits) const {
  StageSizes sizes = measure(stage, kinds, plan);
  bool isPipeline = plan.pp > 1;
  bool scattersEach =
      plan.zero == 3 || (plan.zero == 2 && plan.scatter == Scatter::Each);
  double gradient = each.gradient;
  double gathered = 0;
  if (plan.zero == 3)
    gathered =
        plan.precision == Precision::F32 ? 4 : std::min(each.parameter, 2.0);
  // Bytes per element of a gradient before it is added to the sum over
  // micro-batches.
  double added = plan.microBatches > 1 ? gradient : 0;

  Buffers block, head, table;
  double ofBlock =
      sizes.block *
      (plan.zero == 3 ? copyBytes(plan, /*isBlock=*/true, gathered) : 0);
  block.gathered = 2 * ofBlock;
  block.reduced = scattersEach ? 2 * sizes.block * gradient : 0;
  block.workspace =
      sizes.blockWork + sizes.output + (scattersEach ? 0 : sizes.block * added);
  // At the turn, the head's parameter is gathered for the forward and again for
  // the backward. In a pipeline these are two tasks.
  double twice = isPipeline ? 1 : 2;
  head.gathered = twice * (sizes.head * gathered + ofBlock);
  head.reduced = scattersEach ? sizes.head * gradient : 0;
  head.workspace =
      sizes.headWork + sizes.output + (scattersEach ? 0 : sizes.head * added);
  // The table's gradient is computed when its micro-batch is over, except for
  // the block of a pipeline task. It is copied before it is scattered.
  if (isPipeline) {
    table.reduced = scattersEach ? 2 * sizes.table * gradient : 0;
    table.workspace =
        2 * sizes.output + (scattersEach ? 0 : sizes.table * added);
  }
  auto larger = [](const Buffers &a, const Buffers &b) {
    return a.sum() < b.sum() ? b : a;
  };
  if (sizes.head == 0)
    head = Buffers();
  Buffers most = larger(larger(block, head), table);
  if (splits) {
    // B computes no gradients of parameters; W does.
    Buffers inputGrad;
    inputGrad.gathered = sizes.head > 0
                             ? std::max(head.gathered, block.gathered)
                             : block.gathered;
    inputGrad.workspace = sizes.forWeightGrad +
                          std::max(sizes.blockWork, sizes.headWork) +
                          sizes.output;
    block.gathered = head.gathered = 0;
    most = larger(inputGrad, larger(larger(block, head), table));
  }
  stage.bytes.gathered = most.gathered;
  stage.bytes.communication += most.reduced;
  stage.bytes.workspace = most.workspace;
}
