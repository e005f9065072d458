//===- Plan.h - How a model is trained on a cluster -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one struct for it: sizes of the parallel axes, batch, schedule,
// precision, ZeRO, recompute, optimizer. `tessera plan` prices it, `tessera
// compile` builds it, `#dist.plan` carries it through a program. It names no
// model and no cluster. Its options, its JSON and its attribute are all made of
// the table in PlanFields.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_PLAN_H
#define TESSERA_SUPPORT_PLAN_H

#include "tessera/Support/ContextMethod.h"
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

/// Which activations are kept for the backward pass.
enum class Recompute {
  /// All that it needs.
  None,
  /// What costs little to compute again is not kept. The price is that of all
  /// but the attention core; the compiler repeats norms, activations and other
  /// elementwise ops.
  Selective,
  /// The inputs of layers only.
  Full,
  /// The inputs of layers, the results of attention and of every other matmul
  /// with a parameter (the first, third, ... of a layer).
  Matmuls,
  /// As much as Plan::recomputeBytes have room for.
  Auto,
};
/// When ZeRO-2 scatters gradients.
enum class Scatter {
  /// With each micro-batch.
  Each,
  /// When all micro-batches of a round have gone back through a chunk of
  /// layers: one chunk's gradients are whole, and another's on their way. A
  /// round is the pp micro-batches (or a few more, if their number is no
  /// multiple of pp) that the interleaved schedule sends through a chunk one
  /// after the other, and all micro-batches otherwise.
  Round,
  /// Once per step, with ZeRO-1's memory.
  Last,
};
/// Element type of parameters and activations. All after F16 are BF16 with the
/// matmuls of linear layers in 8 or 4 bits; they differ in what shares a scale
/// and when it is known (docs/cost.md).
enum class Precision {
  F32,
  BF16,
  F16,
  /// One scale for each tensor, from the largest elements of earlier steps.
  FP8,
  /// One scale for each tensor, of its own largest element.
  FP8Current,
  /// One scale for each row.
  FP8Row,
  /// One scale for each 128 elements, 128 x 128 of parameters.
  FP8Block,
  /// One scale for each 32 elements, applied by the matrix units.
  MXFP8,
  /// 4 bits; one scale for each 16 elements and one for the tensor. The last
  /// blocks stay in 16 bits.
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
/// Where optimizer state is kept.
enum class Offload { None, Host, NVMe };
/// How attention is computed.
enum class AttentionKind {
  /// One kernel, written for the device; scores are not written.
  Flash,
  /// Matmuls, mask, softmax and dropout one by one, scores written.
  Naive,
  /// One kernel without the instructions that are new since Ampere
  /// (FlashAttention-2).
  Flash2,
  /// The first one (FlashAttention of 2022), which splits work over fewer
  /// multiprocessors and passes sums through shared memory.
  Flash1,
};
/// Which linear layers have adapters (Plan::loraRank).
enum class LoraTargets {
  /// Those of each block, not the head.
  All,
  /// The projection to queries, keys and values.
  QKV,
};
/// Course of the learning rate after warm-up.
enum class LearningRateKind { Constant, Cosine };
/// The order of the forwards and backwards of micro-batches on pipeline stages,
/// of p ranks, m micro-batches, v chunks of layers per rank.
enum class ScheduleKind {
  /// All forwards, then all backwards (Huang et al. 2019).
  GPipe,
  /// One forward, one backward in turn; at most p - r micro-batches are alive
  /// on rank r (PipeDream-Flush, Narayanan et al. 2021).
  OneFOneB,
  /// 1F1B with v chunks per rank, round robin (Narayanan et al. 2021), in
  /// rounds
  /// of at least p micro-batches where there are so many.
  Interleaved,
  /// Handmade zero-bubble schedules (Qi et al. 2024): W apart from B and later;
  /// at most p, and 2p - 1, micro-batches alive.
  ZeroBubbleH1,
  ZeroBubbleH2,
  /// The automatic scheduler of the same paper, with the memory of p and of 2p
  /// micro-batches.
  ZeroBubble1P,
  ZeroBubble2P,
  /// Two chunks per rank in the form of a V, at most p alive (Qi et al. 2024,
  /// "Pipeline Parallelism with Controllable Memory"). Expects m >= 2p.
  ZeroBubbleV,
  /// Two streams of micro-batches from both ends, the forward of one beside the
  /// backward of the other (DeepSeek-V3 report, 2024). Expects p and m even and
  /// m >= 2p; each rank holds two stages.
  DualPipe,
  /// The half of it that begins at one end, with the stages of the other half
  /// on the way back: 2p stages in the form of a V, one copy of the model
  /// (Qi et al. 2025, "cut-in-half"; DeepSeek's DualPipeV). Expects m >= 2p.
  DualPipeV,
};

/// The names of the values of one of the enums above, in their order.
template <typename EnumT> llvm::ArrayRef<llvm::StringRef> getNames();

/// The name of a value, as options, JSON and attributes spell it.
template <typename EnumT> llvm::StringRef stringify(EnumT value) {
  return getNames<EnumT>()[static_cast<size_t>(value)];
}

/// The value of a name.
template <typename EnumT> std::optional<EnumT> parseName(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(getNames<EnumT>()))
    if (known == name)
      return static_cast<EnumT>(i);
  return std::nullopt;
}

/// What the parameters of some names are trained with.
struct ParameterGroup {
  /// Of names: `*` any text, `?` one character, `[ab]` one of these.
  std::string pattern;
  /// Factor of the learning rate.
  double lrScale = 1;
  /// In place of the plan's.
  std::optional<double> weightDecay;
  bool operator==(const ParameterGroup &o) const {
    return pattern == o.pattern && lrScale == o.lrScale &&
           weightDecay == o.weightDecay;
  }
};

/// How a model is trained: the devices by axis, the batch, the precision, the
/// optimizer and what is recomputed. The defaults are those of options, JSON
/// and attribute; getPlanFields() lists the fields.
struct Plan {
  /// A forward program: nothing is trained, so only devices, micro-batches and
  /// stages count.
  bool forward = false;

  //===--------------------------------------------------------------------===//
  // Devices
  //===--------------------------------------------------------------------===//
  int64_t dp = 1, tp = 1, pp = 1, cp = 1;
  /// How the devices of cp share attention.
  ContextMethod cpMethod;
  /// Expert axis, a sub-axis of dp: it does not multiply.
  int64_t ep = 1;
  /// Sequence sharding of the residual stream over tp.
  bool sp = false;
  /// 0: none, 1: optimizer state, 2: gradients too, 3: parameters too.
  int64_t zero = 0;
  /// Under ZeRO-2, and ZeRO-3 of the compiler.
  Scatter scatter = Scatter::Each;
  /// Devices that ZeRO-3 shards over; 0: all of dp and cp.
  int64_t shardRanks = 0;

  //===--------------------------------------------------------------------===//
  // Batch
  //===--------------------------------------------------------------------===//
  /// Tokens of a sequence; 1 also where the data has no sequences.
  int64_t seq = 1;
  /// Tokens of a document where a sequence packs several: fused attention is
  /// over keys of the same document only; 0: a sequence is one.
  int64_t documentTokens = 0;
  /// Sequences of one micro-batch on one device (of dp).
  int64_t microBatch = 1;
  /// Micro-batches of one step on one pipeline, one after the other.
  int64_t microBatches = 1;

  //===--------------------------------------------------------------------===//
  // Pipeline
  //===--------------------------------------------------------------------===//
  /// Without stages it has no influence.
  ScheduleKind schedule = ScheduleKind::OneFOneB;
  /// A file with the lists of all stages, in place of a kind; empty: none.
  std::string scheduleFile;
  /// Chunks of layers per stage (virtual pipeline); those of the file.
  int64_t vpp = 1;
  /// Blocks of each chunk in order, whole and half ones; empty: by the time
  /// that chunks take.
  std::vector<double> stageLayers;
  /// Without stageLayers: the blocks are distributed evenly.
  bool evenStages = false;
  /// A stage receives while it sends, in one batch of the library; otherwise
  /// one transfer after the other.
  bool batchTransfers = true;

  //===--------------------------------------------------------------------===//
  // Numbers and memory
  //===--------------------------------------------------------------------===//
  Precision precision = Precision::F32;
  GradDType gradDType = GradDType::F32;
  /// Bytes of further copies of each gradient: 16-bit ones beside f32 sums,
  /// buffers of the optimizer's step.
  int64_t gradCopyBytes = 0;
  /// Gradients have buffers of their own for all of a step. Otherwise, those of
  /// a single micro-batch take the memory that its backward frees.
  bool gradBuffers = true;
  /// Parameters are stored in f32, which is the master copy, and are cast where
  /// they are used.
  bool f32Parameters = false;
  Recompute recompute = Recompute::None;
  /// Under Recompute::Auto: what a rank's arena may take, in bytes.
  int64_t recomputeBytes = 0;
  /// Layers whose input is kept together under Full.
  int64_t checkpointEvery = 1;
  Offload offload = Offload::None;

  //===--------------------------------------------------------------------===//
  // Kernels and overlap
  //===--------------------------------------------------------------------===//
  AttentionKind attention = AttentionKind::Flash;
  /// Dropout after attention, projections and MLP, as GPT-3 was trained.
  bool dropout = false;
  /// Each op is a kernel of its own and keeps its operands, as in a framework
  /// that compiles nothing.
  bool eager = false;
  /// What sp gathers before a matmul is kept for the backward pass, not
  /// gathered again.
  bool keepGathered = false;
  /// What minor dimensions of matmuls are padded to a multiple of, of each
  /// device's shard, as the compiler does it for GPUs; 0: they are not.
  int64_t padMultiple = 0;
  /// Matmuls add residuals, apply GELU by tanh and multiply by its derivative,
  /// as the compiler's GPU programs do; otherwise these are kernels of their
  /// own.
  bool fusedEpilogues = false;
  /// The loss is computed in one pass over the logits; otherwise kernel by
  /// kernel in f32.
  bool fusedLoss = false;
  /// Without fusedLoss, f32 copies of the logits that are alive at once beside
  /// the probabilities and their gradient.
  int64_t lossCopies = 0;
  /// Metrics that each micro-batch computes from its logits anew, in f32 and
  /// with no gradient, as a training loop does that logs a loss of its own.
  int64_t lossMetrics = 0;
  /// Chunks of a micro-batch's tokens that go through the head and the loss one
  /// after the other, there and back, so that the logits of one are alive.
  int64_t lossChunks = 1;
  /// A token goes once to each device that has experts of it, and over links
  /// between nodes once to each node; otherwise once for each of its experts.
  bool dispatchOnce = false;
  /// Matmul and cast of each local expert are kernels of their own, and where
  /// no token is dropped, the host waits for the numbers of tokens before it
  /// can issue them; otherwise one kernel does all experts.
  bool expertsApart = false;
  /// Tokens go to experts and back beside the kernels of other micro-batches.
  bool overlapExperts = false;
  /// Columns of the adapters beside linear layers that are trained in place of
  /// the parameters (LoRA, Hu et al. 2021): a linear layer to so many columns
  /// and one back, whose result is scaled and added. 0: parameters are trained.
  int64_t loraRank = 0;
  /// Which linear layers have adapters; of no effect without a rank.
  LoraTargets loraTargets = LoraTargets::All;
  /// Collectives of gradients and of sharded parameters run beside kernels.
  bool overlap = true;
  /// Gathers and scatters of tp (with sp) run beside matmuls, in chunks.
  bool overlapTp = false;
  /// Buffers of gradients and of gathered parameters are registered with the
  /// communication library, whose collectives then read and write them in place
  /// and take fewer multiprocessors (nccl_ub of Megatron-FSDP).
  bool registeredBuffers = false;
  /// Microseconds that the host needs to issue a kernel; 0: the device's
  /// constant.
  double hostLaunchMicros = 0;
  /// Microseconds of a step that belong to no layer; 0: the device's constant.
  double stepFloorMicros = 0;
  /// Under ZeRO-3, bytes that copies read and write for each parameter that is
  /// gathered: between flat buffers of collectives and tensors.
  int64_t gatherCopyBytes = 0;
  /// A micro-batch's gradients are written, and added to the sums of those
  /// before by kernels of their own, as autograd does; otherwise by the matmuls
  /// that make them.
  bool sumsApart = false;
  /// Bytes that are moved for each parameter at the optimizer's step beside the
  /// optimizer's own: gradients that are copied, checked and scaled.
  int64_t optimizerCopyBytes = 0;
  /// AdamW passes once over its state; otherwise it runs op by op.
  bool fusedOptimizer = true;
  /// Groups of several of a node's devices, but not all, leave it by the
  /// network cards of other devices too, which they reach over NVLink (PXN,
  /// since NCCL 2.12); otherwise through the processors, which is slower.
  bool pxn = true;

  //===--------------------------------------------------------------------===//
  // Optimizer
  //===--------------------------------------------------------------------===//
  OptimizerKind optimizer = OptimizerKind::AdamW;
  double lr = 1e-3;
  LearningRateKind lrSchedule = LearningRateKind::Constant;
  /// Steps until the full learning rate.
  int64_t warmup = 0;
  /// Step at which a cosine reaches minLr.
  int64_t totalSteps = 0;
  double minLr = 0;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weightDecay = 0.1;
  /// Of SGD.
  double momentum = 0;
  /// Largest norm of all gradients, 0 for any.
  double clip = 1;
  /// The first that matches a parameter holds for it.
  std::vector<ParameterGroup> groups;
  /// Of f16, at first.
  double lossScale = 128;
  /// Steps without overflow until the scale of the loss doubles.
  int64_t scaleWindow = 2000;

  //===--------------------------------------------------------------------===//
  // What follows from these
  //===--------------------------------------------------------------------===//
  /// Devices of all axes together.
  int64_t gpus() const { return dp * tp * pp * cp; }
  /// Sequences of one step.
  int64_t globalBatch() const { return dp * microBatch * microBatches; }
  /// Tokens of one step over all devices.
  double tokens() const { return double(globalBatch()) * double(seq); }
  /// Chunks of layers that the stages have together: pp x vpp, and two for each
  /// stage of a pipeline in the form of a V.
  int64_t chunks() const;
  /// True if the schedule has two chunks on each stage, in the form of a V.
  bool isVee() const;
  /// True if a round of micro-batches goes through a chunk one after the other,
  /// and then through another: with chunks in the interleaved schedule.
  bool hasRounds() const;
  /// Scatters of the gradients of a chunk in a step, under ZeRO-2.
  int64_t scatters() const;

  /// Takes as many micro-batches as a step of `sequences` has. An error if that
  /// is no whole number.
  llvm::Error setGlobalBatch(int64_t sequences);
  /// An error if the axes do not fill `devices`, with what to change.
  llvm::Error checkDevices(int64_t devices) const;
  /// An error for each field that is out of its range, for too many devices or
  /// sequences, and for settings of training that contradict each other.
  llvm::Error checkFields() const;
  /// An error for each reason why the plan has no price: checkFields(), axes
  /// and sequences that do not divide, a schedule that wants another number of
  /// micro-batches or chunks, a policy that only the compiler has.
  llvm::Error check() const;
  /// The same against a model: heads, KV heads, ffn, layers that tp, cp, pp and
  /// vpp do not divide.
  llvm::Error checkModel(int64_t heads, int64_t kvHeads, int64_t ffn,
                         int64_t layers) const;
  /// Short form for reports: "dp128 tp8 pp16 mb1 zero2".
  std::string summary() const;

  bool operator==(const Plan &o) const;
  bool operator!=(const Plan &o) const { return !(*this == o); }
};

/// Of equal plans the same.
llvm::hash_code hash_value(const Plan &plan);

} // namespace tessera

#endif // TESSERA_SUPPORT_PLAN_H
