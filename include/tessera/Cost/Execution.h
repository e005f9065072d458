//===- Execution.h - How somebody runs a step -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The settings of a training step that its plan leaves open and that a
// framework fixes: kernels, copies, buffers, the host. Only prices depend on
// them. They are never in a program: the compiler runs a plan in its own way.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_EXECUTION_H
#define TESSERA_COST_EXECUTION_H

#include "tessera/Plan/Plan.h"

namespace tessera::cost {

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

/// The way in which a step is run. The defaults also hold for options and JSON;
/// getFields<Execution>() lists the fields.
struct Execution {
  AttentionKind attention = AttentionKind::Flash;
  /// Each op is a kernel of its own and keeps its operands, as in a framework
  /// without a compiler.
  bool eager = false;
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
  /// A stage sends and receives at once, in one batch of the library; otherwise
  /// one transfer after the other.
  bool batchTransfers = true;
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
  /// Bytes of further copies of each gradient: 16-bit copies in addition to f32
  /// sums, buffers of the optimizer's step.
  int64_t gradCopyBytes = 0;
  /// Gradients have their own buffers during the whole step. Otherwise the
  /// gradients of a single micro-batch use the memory that its backward frees.
  bool gradBuffers = true;
  /// Bytes of a device that its context and the libraries of the framework
  /// take, as nvidia-smi shows before the first step; 0: MemoryConstants.
  int64_t contextBytes = 0;
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

  bool operator==(const Execution &o) const;
  bool operator!=(const Execution &o) const { return !(*this == o); }
};

/// A plan and the way in which its steps are run: what is priced.
struct ExecutedPlan : Plan, Execution {
  const Execution &execution() const { return *this; }

  bool operator==(const ExecutedPlan &o) const {
    return Plan::operator==(o) && Execution::operator==(o);
  }
  bool operator!=(const ExecutedPlan &o) const { return !(*this == o); }
};

} // namespace tessera::cost

#endif // TESSERA_COST_EXECUTION_H
