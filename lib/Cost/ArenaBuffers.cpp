//===- ArenaBuffers.cpp - What passes need beside activations -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The buffers of programs whose memory is planned as one arena: those of this
// compiler. Parameters are gathered, and gradients reduced, one after the
// other, so that two are there at once: one at work and one on its way. What a
// task of a pipeline keeps is one block, which lives to the end of the last
// task that reads it:
//
//     F0  F1  F2  B0  W0         activations of 3 micro-batches, and while B0
//     |-----------|              runs the gradients that it makes for W0, which
//                 |---|          take the place of activations only after it
//
// The peak is where most of this is there: at the turn from the forward to the
// backward in the head, in a block, or in the table of the first stage.
//
//===----------------------------------------------------------------------===//

#include "ArenaBuffers.h"
#include <algorithm>

using namespace tessera;
using namespace tessera::cost;

namespace {

/// Bytes beside the activations, at one time.
struct Buffers {
  double gathered = 0, reduced = 0, workspace = 0;
  double sum() const { return gathered + reduced + workspace; }
};

/// Sizes of the layers of a stage.
struct StageSizes {
  /// Elements of the largest parameter of the blocks, of the head, of the
  /// table.
  double block = 0, head = 0, table = 0;
  /// Bytes of temporaries of the blocks and of the head; of an activation; of
  /// the gradients that a chunk's B makes for its W.
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
  // A gradient before it is added to those of earlier micro-batches.
  double added = plan.microBatches > 1 ? gradient : 0;

  Buffers block, head, table;
  block.gathered = 2 * sizes.block * gathered;
  block.reduced = scattersEach ? 2 * sizes.block * gradient : 0;
  block.workspace =
      sizes.blockWork + sizes.output + (scattersEach ? 0 : sizes.block * added);
  // At the turn the head's parameter is there for the forward, and comes again
  // for the backward. The two are tasks of their own in a pipeline.
  double twice = isPipeline ? 1 : 2;
  head.gathered = twice * (sizes.head + sizes.block) * gathered;
  head.reduced = scattersEach ? sizes.head * gradient : 0;
  head.workspace =
      sizes.headWork + sizes.output + (scattersEach ? 0 : sizes.head * added);
  // The table's gradient is made when its micro-batch is gone, but for frames
  // of a pipeline; before it is scattered it is copied.
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
    // Gradients of parameters are made in W.
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
