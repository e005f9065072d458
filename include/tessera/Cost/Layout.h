//===- Layout.h - How a model is to be trained on a cluster -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan file says: sizes of the parallel axes, batch, schedule,
// precision, ZeRO, recompute. Plain data with a check and a JSON form; it names
// no model and no cluster.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_LAYOUT_H
#define TESSERA_COST_LAYOUT_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cost {

/// Which activations are kept for the backward pass.
enum class Recompute {
  /// All that it needs.
  None,
  /// All but the attention core, which is computed again.
  Selective,
  /// The inputs of layers only.
  Full,
  /// The inputs of layers, the results of attention and of every other product
  /// with a parameter (the first, third, ... of a layer).
  Products,
};
/// When ZeRO-2 scatters gradients.
enum class Scatter {
  /// With each micro-batch.
  Each,
  /// When all micro-batches of a round have gone back through a chunk of
  /// layers:
  /// one chunk's gradients are whole, and another's on their way. A round are
  /// the pp micro-batches that the interleaved schedule sends through a chunk
  /// one after the other, and all micro-batches otherwise.
  Round,
  /// Once a step, with ZeRO-1's memory.
  Last,
};
enum class Precision { F32, BF16, F16, FP8 };
enum class GradDType {
  F32,
  BF16,
  /// Each micro-batch's gradients in 16 bits, added up in f32 beside them.
  Both,
};
enum class OptimizerKind {
  /// f32 master copy, f32 moments.
  AdamW,
  /// No master copy (bf16 parameters, f32 moments).
  AdamWNoMaster,
  /// f32 master copy, 8-bit moments.
  AdamW8Bit,
  SGD,
};
/// Where optimizer state rests.
enum class Offload { None, Host, NVMe };
/// How attention is computed.
enum class AttentionKind {
  /// One kernel; scores are not written.
  Flash,
  /// Products, mask, softmax and dropout one by one, scores written.
  Naive,
};

struct Layout {
  int64_t gpus = 1;
  int64_t dp = 1, tp = 1, pp = 1, cp = 1;
  /// Expert axis, a part of dp: it does not multiply.
  int64_t ep = 1;
  /// Sequence sharding of the residual stream over tp.
  bool sp = false;
  /// 0: none, 1: optimizer state, 2: gradients too, 3: parameters too.
  int zero = 0;
  /// Under ZeRO-2.
  Scatter scatter = Scatter::Each;
  /// Devices that ZeRO-3 shards over; 0: all of dp and cp.
  int64_t shardRanks = 0;
  int64_t seq = 1;
  int64_t microBatch = 1;
  int64_t globalBatch = 1;
  /// "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-1p", "zb-2p",
  /// "zb-v", "dualpipe"; without stages it has no influence.
  std::string schedule = "1f1b";
  /// Chunks of layers a stage (virtual pipeline).
  int64_t vpp = 1;
  /// Blocks of each chunk in order; empty: spread evenly.
  std::vector<int64_t> stageLayers;
  Recompute recompute = Recompute::None;
  /// Layers whose input is kept together under Full.
  int64_t checkpointEvery = 1;
  Precision precision = Precision::BF16;
  GradDType gradDType = GradDType::F32;
  /// Parameters rest in f32, which is the master copy, and are cast where they
  /// are used.
  bool f32Parameters = false;
  /// Bytes of further copies of each gradient: 16-bit ones beside f32 sums,
  /// buffers of the optimizer's step.
  int64_t gradCopyBytes = 0;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  Offload offload = Offload::None;
  AttentionKind attention = AttentionKind::Flash;
  /// Dropout after attention, projections and MLP, as GPT-3 was trained.
  bool dropout = false;
  /// Each op is a kernel of its own and keeps its operands, as in a framework
  /// that compiles nothing.
  bool eager = false;
  /// What sp gathers before a product is kept for the backward pass, not
  /// gathered again.
  bool keepGathered = false;
  /// The loss is computed in one pass over the logits; otherwise kernel by
  /// kernel in f32.
  bool fusedLoss = false;
  /// Only a few added parameters are trained (LoRA): no gradients, no optimizer
  /// state of the others.
  bool frozen = false;
  /// Without sp, devices of tp send a stage's output in parts that are gathered
  /// on the other side; otherwise each sends the whole of it.
  bool scatterTransfers = true;
  /// Collectives of gradients and of sharded parameters run beside kernels.
  bool overlap = true;
  /// Gathers and scatters of tp (with sp) run beside products, in chunks.
  bool overlapTp = false;

  /// Chunks of layers that the stages have together: pp x vpp, and two for each
  /// stage of a pipeline in the form of a V.
  int64_t chunks() const;
  /// Micro-batches of one step on one pipeline.
  int64_t microBatches() const { return globalBatch / (dp * microBatch); }
  /// True if pp micro-batches go through a chunk one after the other, and then
  /// through another: with chunks in the interleaved schedule.
  bool hasRounds() const;
  /// Scatters of the gradients of a chunk in a step, under ZeRO-2.
  int64_t scatters() const;
  /// Tokens of one step over all devices.
  double tokens() const { return double(globalBatch) * double(seq); }

  /// One line for each way in which the layout contradicts itself: sizes below
  /// 1, axes that do not multiply to the GPUs, batches that do not divide, a
  /// schedule that is unknown or wants another number of micro-batches or
  /// chunks. Empty if it is sound.
  std::vector<std::string> check() const;
  /// The same against a model: heads, KV heads, ffn, layers that tp, cp, pp and
  /// vpp do not divide.
  std::vector<std::string> checkModel(int64_t heads, int64_t kvHeads,
                                      int64_t ffn, int64_t layers) const;
  /// Short form for reports: "dp128 tp8 pp16 mb1 zero2".
  std::string summary() const;
};

const char *stringify(Recompute value);
const char *stringify(Scatter value);
const char *stringify(Precision value);
const char *stringify(GradDType value);
const char *stringify(OptimizerKind value);
const char *stringify(Offload value);
const char *stringify(AttentionKind value);

/// All fields under the names of the command line's options.
llvm::json::Object toJson(const Layout &layout);
/// Reads what toJson writes; absent fields keep their default. Errors name the
/// field, what is expected and what is there; unknown fields are errors.
llvm::Expected<Layout> layoutFromJson(const llvm::json::Object &object);

} // namespace tessera::cost

#endif // TESSERA_COST_LAYOUT_H
