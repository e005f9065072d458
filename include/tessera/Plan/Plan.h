//===- Plan.h - The training plan of a model --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one struct that describes training: sizes of the parallel axes, batch,
// schedule, precision, ZeRO, recompute, optimizer. `tessera plan` prices it,
// `tessera compile` builds it, `#dist.plan` carries it through a program. It
// names no model and no cluster. The table in PlanFields.h generates its
// options, its JSON and its attribute.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_PLAN_H
#define TESSERA_PLAN_PLAN_H

#include "tessera/Plan/ContextMethod.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Activations that are kept for the backward pass.
enum class Recompute {
  /// All activations that it needs.
  None,
  /// All but activations that are cheap to compute again. The price assumes
  /// that only the attention core is recomputed; the compiler recomputes norms,
  /// activation functions and other elementwise ops.
  Selective,
  /// Only the inputs of layers.
  Full,
  /// The inputs of layers, the results of attention and of every other matmul
  /// with a parameter (the first, third, ... of a layer).
  Matmuls,
  /// The most activations that fit into Plan::recomputeBytes.
  Auto,
};
/// The time at which ZeRO-2 scatters gradients.
enum class Scatter {
  /// After each micro-batch.
  Each,
  /// After all micro-batches of a round have gone back through a chunk of
  /// layers: one chunk's gradients are whole, and another's are being reduced.
  /// In the interleaved schedule a round is the pp micro-batches (or a few
  /// more, if their number is not a multiple of pp) that go through a chunk one
  /// after the other; otherwise it is all micro-batches.
  Round,
  /// Once per step, with ZeRO-1's memory.
  Last,
};
/// Element type of parameters and activations. All values after F16 are BF16
/// with the matmuls of linear layers in 8 or 4 bits; they differ in the
/// elements that share a scale and in the time at which it is known
/// (docs/cost.md).
enum class Precision {
  F32,
  BF16,
  F16,
  /// One scale per tensor, from the largest elements of earlier steps.
  FP8,
  /// One scale per tensor, from its own largest element.
  FP8Current,
  /// One scale per row.
  FP8Row,
  /// One scale per 128 elements; for parameters, per 128 x 128.
  FP8Block,
  /// One scale per 32 elements, applied by the matrix units.
  MXFP8,
  /// 4 bits; one scale per 16 elements and one per tensor. The last blocks stay
  /// in 16 bits.
  NVFP4,
};
/// True if linear layers multiply in 8 or 4 bits.
inline bool hasNarrowMatmuls(Precision precision) {
  return precision >= Precision::FP8;
}
/// Element type of the sums of gradients.
enum class GradDType {
  F32,
  BF16,
  /// Each micro-batch's gradients in 16 bits, added to separate sums in f32.
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
/// Storage of the optimizer state.
enum class Offload { None, Host, NVMe };
/// The implementation of attention.
enum class AttentionKind {
  /// One kernel, written for the device; scores are not written.
  Flash,
  /// Matmuls, mask, softmax and dropout one by one, with scores written.
  Naive,
  /// One kernel without the instructions that are new since Ampere
  /// (FlashAttention-2).
  Flash2,
  /// The first FlashAttention (2022), which splits work over fewer
  /// multiprocessors and passes sums through shared memory.
  Flash1,
};
/// The linear layers that have adapters (Plan::loraRank).
enum class LoraTargets {
  /// The linear layers of each block, not the head.
  All,
  /// The projection to queries, keys and values.
  QKV,
};
/// The learning rate after warm-up.
enum class LearningRateKind { Constant, Cosine };
/// The order of the forwards and backwards of micro-batches on pipeline stages,
/// for p ranks, m micro-batches, and v chunks of layers per rank. The table
/// ScheduleKinds.def has the kinds.
enum class ScheduleKind {
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits) kind,
#include "tessera/Plan/ScheduleKinds.def"
};

/// The names of the values of one of the enums above, in the enum's order.
template <typename EnumT> llvm::ArrayRef<llvm::StringRef> getNames();

/// The name of a value, as options, JSON and attributes spell it.
template <typename EnumT> llvm::StringRef stringify(EnumT value) {
  return getNames<EnumT>()[static_cast<size_t>(value)];
}

/// The value with this name; none if there is no such value.
template <typename EnumT> std::optional<EnumT> parseName(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(getNames<EnumT>()))
    if (known == name)
      return static_cast<EnumT>(i);
  return std::nullopt;
}

/// Training settings of the parameters whose names match a pattern.
struct ParameterGroup {
  /// Pattern of names: `*` matches any text, `?` one character, `[ab]` one of
  /// these.
  std::string pattern;
  /// Factor of the learning rate.
  double lrScale = 1;
  /// Replaces the plan's weight decay.
  std::optional<double> weightDecay;
  bool operator==(const ParameterGroup &o) const {
    return pattern == o.pattern && lrScale == o.lrScale &&
           weightDecay == o.weightDecay;
  }
};

/// The training setup: the devices by axis, the batch, the precision, the
/// optimizer and recomputation. The defaults also hold for options, JSON and
/// attribute; getPlanFields() lists the fields.
struct Plan {
  /// A forward program: there is no training, so only devices, micro-batches
  /// and stages matter.
  bool forward = false;

  //===--------------------------------------------------------------------===//
  // Devices
  //===--------------------------------------------------------------------===//
  int64_t dp = 1, tp = 1, pp = 1, cp = 1;
  /// The way in which the devices of cp share attention.
  ContextMethod cpMethod;
  /// Expert axis, a sub-axis of dp: it does not multiply the devices.
  int64_t ep = 1;
  /// Sequence sharding of the residual stream over tp.
  bool sp = false;
  /// 0: none, 1: optimizer state, 2: gradients too, 3: parameters too.
  int64_t zero = 0;
  /// For ZeRO-2, and for the compiler's ZeRO-3.
  Scatter scatter = Scatter::Each;
  /// Devices that ZeRO-3 shards over; 0: all of dp and cp.
  int64_t shardRanks = 0;

  //===--------------------------------------------------------------------===//
  // Batch
  //===--------------------------------------------------------------------===//
  /// Tokens of a sequence; 1 if the data has no sequences.
  int64_t seq = 1;
  /// Tokens per document in a packed sequence: fused attention covers only keys
  /// of the same document. 0: a sequence is one document.
  int64_t documentTokens = 0;
  /// Sequences of one micro-batch on one device (of dp).
  int64_t microBatch = 1;
  /// Micro-batches of one step on one pipeline, one after the other.
  int64_t microBatches = 1;

  //===--------------------------------------------------------------------===//
  // Pipeline
  //===--------------------------------------------------------------------===//
  /// The order of the stages' actions; no effect with pp = 1.
  ScheduleKind schedule = ScheduleKind::OneFOneB;
  /// A file with the action lists of all stages, which replaces the kind;
  /// empty: none.
  std::string scheduleFile;
  /// Chunks of layers per stage (virtual pipeline); with a file, its number.
  int64_t vpp = 1;
  /// Blocks of each chunk in order, whole and half ones; empty: split by the
  /// time of the chunks.
  std::vector<double> stageLayers;
  /// Distributes the blocks evenly if stageLayers is empty.
  bool evenStages = false;
  /// A stage sends and receives at once, in one batch of the library; otherwise
  /// one transfer after the other.
  bool batchTransfers = true;

  //===--------------------------------------------------------------------===//
  // Numbers and memory
  //===--------------------------------------------------------------------===//
  Precision precision = Precision::F32;
  GradDType gradDType = GradDType::F32;
  /// Bytes of further copies of each gradient: 16-bit copies in addition to f32
  /// sums, buffers of the optimizer's step.
  int64_t gradCopyBytes = 0;
  /// Gradients have their own buffers during the whole step. Otherwise the
  /// gradients of a single micro-batch use the memory that its backward frees.
  bool gradBuffers = true;
  /// Parameters are stored in f32, which is the master copy, and are cast at
  /// each use.
  bool f32Parameters = false;
  /// Bytes per parameter of the copy of a block's parameters that its matmuls
  /// read, if these are below 16 bits. The copy is kept and gathered in
  /// addition to the master copy, as in DeepSeek-V3's recipe. 0: parameters are
  /// kept in the type of the precision and cast for each matmul.
  int64_t weightBytes = 0;
  Recompute recompute = Recompute::None;
  /// For Recompute::Auto: the limit of a rank's arena, in bytes.
  int64_t recomputeBytes = 0;
  /// For Recompute::Full: number of consecutive layers per kept input.
  int64_t checkpointEvery = 1;
  Offload offload = Offload::None;

  //===--------------------------------------------------------------------===//
  // Kernels and overlap
  //===--------------------------------------------------------------------===//
  AttentionKind attention = AttentionKind::Flash;
  /// Dropout after attention, projections and MLP, as in the training of GPT-3.
  bool dropout = false;
  /// Each op is a kernel of its own and keeps its operands, as in a framework
  /// without a compiler.
  bool eager = false;
  /// Activations that sp gathers before a matmul are kept gathered for the
  /// backward pass instead of gathered again.
  bool keepGathered = false;
  /// The minor dimensions of each device's shard of a matmul are padded to a
  /// multiple of this number, as the compiler does for GPUs; 0: no padding.
  int64_t padMultiple = 0;
  /// Matmuls add residuals, apply GELU by tanh and multiply by its derivative,
  /// as in the compiler's GPU programs; otherwise these are separate kernels.
  bool fusedEpilogues = false;
  /// The loss is computed in one pass over the logits; otherwise kernel by
  /// kernel in f32.
  bool fusedLoss = false;
  /// Number of f32 copies of the logits that are alive at once without
  /// fusedLoss, in addition to the probabilities and their gradient.
  int64_t lossCopies = 0;
  /// Metrics that each micro-batch computes from its logits again, in f32 and
  /// without a gradient, as in a training loop that logs a loss of its own.
  int64_t lossMetrics = 0;
  /// Chunks of a micro-batch's tokens that go through the head and the loss one
  /// after the other, forward and backward, so that one chunk's logits are
  /// alive.
  int64_t lossChunks = 1;
  /// A token goes once to each device that has experts for it, and over links
  /// between nodes once to each node; otherwise once for each of its experts.
  bool dispatchOnce = false;
  /// Each local expert has its own matmul and cast kernels, and if no token is
  /// dropped, the host waits for the numbers of tokens before it can issue
  /// them; otherwise one kernel does all experts.
  bool expertsApart = false;
  /// Dispatch of tokens to experts and back overlaps with the kernels of other
  /// micro-batches.
  bool overlapExperts = false;
  /// Columns of the adapters that are trained instead of the parameters of
  /// linear layers (LoRA, Hu et al. 2021): a linear layer to this many columns
  /// and one back, whose result is scaled and added. 0: parameters are trained.
  int64_t loraRank = 0;
  /// The linear layers that have adapters; no effect without a rank.
  LoraTargets loraTargets = LoraTargets::All;
  /// Collectives of gradients and of sharded parameters overlap with kernels.
  bool overlap = true;
  /// Gathers and scatters of tp (with sp) overlap with matmuls, in chunks.
  bool overlapTp = false;
  /// Buffers of gradients and of gathered parameters are registered with the
  /// communication library, whose collectives then read and write them in place
  /// and use fewer multiprocessors (nccl_ub of Megatron-FSDP).
  bool registeredBuffers = false;
  /// Microseconds that the host needs to issue a kernel; 0: the device's
  /// constant.
  double hostLaunchMicros = 0;
  /// Microseconds of a step outside all layers; 0: the device's constant.
  double stepFloorMicros = 0;
  /// Under ZeRO-3, bytes that copies read and write per gathered parameter:
  /// between flat buffers of collectives and tensors.
  int64_t gatherCopyBytes = 0;
  /// A micro-batch's gradients are written, and separate kernels add them to
  /// the sums, as autograd does; otherwise the matmuls that compute them add
  /// them.
  bool sumsApart = false;
  /// Bytes moved per parameter at the optimizer's step in addition to the
  /// optimizer's own: gradients that are copied, checked and scaled.
  int64_t optimizerCopyBytes = 0;
  /// AdamW passes once over its state; otherwise it runs op by op.
  bool fusedOptimizer = true;
  /// A group with several, but not all, devices of a node also sends through
  /// the network cards of the node's other devices, which it reaches over
  /// NVLink (PXN, since NCCL 2.12); otherwise through the processors, which is
  /// slower.
  bool pxn = true;

  //===--------------------------------------------------------------------===//
  // Optimizer
  //===--------------------------------------------------------------------===//
  OptimizerKind optimizer = OptimizerKind::AdamW;
  double lr = 1e-3;
  LearningRateKind lrSchedule = LearningRateKind::Constant;
  /// Steps until the full learning rate.
  int64_t warmup = 0;
  /// Step at which the cosine reaches minLr.
  int64_t totalSteps = 0;
  double minLr = 0;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weightDecay = 0.1;
  /// Momentum of SGD.
  double momentum = 0;
  /// Largest norm of all gradients; 0: no limit.
  double clip = 1;
  /// The first group that matches a parameter applies to it.
  std::vector<ParameterGroup> groups;
  /// Initial loss scale of f16.
  double lossScale = 128;
  /// Steps without overflow until the loss scale doubles.
  int64_t scaleWindow = 2000;

  //===--------------------------------------------------------------------===//
  // Derived values and checks
  //===--------------------------------------------------------------------===//
  /// Devices of all axes together.
  int64_t gpus() const { return dp * tp * pp * cp; }
  /// Sequences of one step.
  int64_t globalBatch() const { return dp * microBatch * microBatches; }
  /// Tokens of one step over all devices.
  double tokens() const { return double(globalBatch()) * double(seq); }
  /// Chunks of layers over all stages: pp x vpp, and two per stage for a
  /// pipeline in the form of a V.
  int64_t chunks() const;
  /// True if the schedule has two chunks on each stage, in the form of a V.
  bool isVee() const;
  /// True if a round of micro-batches goes through a chunk one after the other,
  /// and then through the next chunk: in the interleaved schedule with chunks.
  bool hasRounds() const;
  /// Number of scatters of a chunk's gradients in a step, under ZeRO-2.
  int64_t scatters() const;

  /// Sets the number of micro-batches so that a step has `sequences` sequences.
  /// Fails if that is not a whole number.
  llvm::Error setGlobalBatch(int64_t sequences);
  /// Fails if the axes do not fill `devices`, with a suggestion.
  llvm::Error checkDevices(int64_t devices) const;
  /// Fails with one error for each field out of its range, for too many devices
  /// or sequences, and for contradicting settings of training.
  llvm::Error checkFields() const;
  /// Fails with one error for each reason why the plan cannot be priced:
  /// checkFields(), axes and sequences that do not divide, a schedule that
  /// needs another number of micro-batches or chunks, a policy that only the
  /// compiler supports.
  llvm::Error check() const;
  /// Checks the plan against a model: tp, cp, pp and vpp must divide its heads,
  /// KV heads, ffn and layers.
  llvm::Error checkModel(int64_t heads, int64_t kvHeads, int64_t ffn,
                         int64_t layers) const;
  /// Short form for reports: "dp128 tp8 pp16 mb1 zero2".
  std::string summary() const;

  bool operator==(const Plan &o) const;
  bool operator!=(const Plan &o) const { return !(*this == o); }
};

/// Equal plans have equal hashes.
llvm::hash_code hash_value(const Plan &plan);

} // namespace tessera

#endif // TESSERA_PLAN_PLAN_H
