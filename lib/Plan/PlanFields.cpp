//===- PlanFields.cpp - The fields of a plan ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields of the bases of a plan, and what all of them give.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/PlanFields.h"
#include "tessera/Plan/FieldImpl.h"
#include "llvm/ADT/Hashing.h"

using namespace llvm;
using namespace tessera;

namespace tessera {
template <> ArrayRef<StringRef> getNames<AttentionKind>() {
  static constexpr StringRef names[] = {"flash", "naive", "flash2", "flash1"};
  return names;
}
} // namespace tessera

template <> ArrayRef<PlanField> tessera::getFields<Plan>() {
  static const std::vector<PlanField> fields = [] {
    auto all = joinFields<Plan, Layout, Numerics, OptimizerConfig>();
    const PlanField own[] = {
        {"attention", "KIND", uses::kOnlyPriced, makeChoice<&Plan::attention>(),
         "flash, naive, which writes scores, flash2, as flash without a "
         "device's "
         "newest instructions, or flash1, that of 2022",
         FieldSection::Execution},
        {"eager", "", uses::kOnlyPriced, PlanField::Flag{&Plan::eager},
         "each op a kernel of its own that keeps its operands",
         FieldSection::Execution},
        {"pad-to-multiple-of", "N", uses::kPriced,
         PlanField::Integer{&Plan::padMultiple, 0, 4096},
         "minor dimensions of matmuls, as the vocabulary's, are padded where "
         "that adds no more than 1 %; 0: they are as they are",
         FieldSection::Execution},
        {"fused-epilogues", "", uses::kPriced,
         PlanField::Flag{&Plan::fusedEpilogues},
         "matmuls add residuals, and do GELU by tanh and its gradient",
         FieldSection::Execution},
        {"fused-loss", "", uses::kPriced, PlanField::Flag{&Plan::fusedLoss},
         "the loss in one pass over the logits; without effect over tp, but of "
         "models with experts",
         FieldSection::Execution},
        {"loss-copies", "N", uses::kOnlyPriced,
         PlanField::Integer{&Plan::lossCopies, 0, 8},
         "without fused-loss, f32 copies of the logits alive at once beside "
         "the "
         "probabilities and their gradient",
         FieldSection::Execution},
        {"loss-metrics", "N", uses::kOnlyPriced,
         PlanField::Integer{&Plan::lossMetrics, 0, 8},
         "losses that a micro-batch computes again from its logits, for "
         "metrics",
         FieldSection::Execution},
        {"loss-chunks", "N", uses::kOnlyPriced,
         PlanField::Integer{&Plan::lossChunks, 1, 4096},
         "chunks of a micro-batch's tokens in which the head and the loss go "
         "there and back, so that the logits of one are alive",
         FieldSection::Execution},
        {"dispatch-once", "", uses::kOnlyPriced,
         PlanField::Flag{&Plan::dispatchOnce},
         "a token goes once to each device with experts of it, not once for "
         "each "
         "expert",
         FieldSection::Execution},
        {"experts-apart", "", uses::kOnlyPriced,
         PlanField::Flag{&Plan::expertsApart},
         "each local expert has kernels of its own, which the host issues once "
         "it "
         "knows the numbers of tokens",
         FieldSection::Execution},
        {"overlap-ep", "", uses::kOnlyPriced,
         PlanField::Flag{&Plan::overlapExperts},
         "tokens go to experts and back beside kernels",
         FieldSection::Execution},
        {"batch-transfers", "", uses::kOnlyPriced,
         PlanField::Flag{&Plan::batchTransfers},
         "off: stages do not receive while they send", FieldSection::Execution},
        {"registered-buffers", "", uses::kOnlyPriced,
         PlanField::Flag{&Plan::registeredBuffers},
         "gradients and gathered parameters travel in buffers that NCCL knows, "
         "whose collectives slow kernels less",
         FieldSection::Execution},
        {"host-launch-us", "X", uses::kPriced,
         PlanField::Number{&Plan::hostLaunchMicros, 0},
         "microseconds of the host for each kernel; default: the device's",
         FieldSection::Execution},
        {"step-floor-us", "X", uses::kPriced,
         PlanField::Number{&Plan::stepFloorMicros, 0},
         "microseconds of a step outside of layers; default: the device's",
         FieldSection::Execution},
        {"gather-copy-bytes", "N", uses::kOnlyPriced,
         PlanField::Integer{&Plan::gatherCopyBytes, 0, 64},
         "with zero 3, bytes that copies around gathers and scatters move for "
         "each parameter and micro-batch",
         FieldSection::Execution},
        {"sums-apart", "", uses::kOnlyPriced, PlanField::Flag{&Plan::sumsApart},
         "kernels of their own add a micro-batch's gradients to the sums, not "
         "the matmuls that make them",
         FieldSection::Execution},
        {"grad-copy-bytes", "N", uses::kStored | FieldUse::kOnlyPriced,
         PlanField::Integer{&Plan::gradCopyBytes, 0, kMostCount},
         "bytes of further copies of each gradient", FieldSection::Execution},
        {"grad-buffers", "", uses::kPriced, PlanField::Flag{&Plan::gradBuffers},
         "off: gradients of a single micro-batch take the memory that its "
         "backward frees, not buffers of their own",
         FieldSection::Execution},
        {"optimizer-copy-bytes", "N", uses::kOnlyPriced,
         PlanField::Integer{&Plan::optimizerCopyBytes, 0, 128},
         "bytes that copies, checks and scaling of gradients move for each "
         "parameter, beside the optimizer's own",
         FieldSection::Execution},
        {"fused-optimizer", "", uses::kOnlyPriced,
         PlanField::Flag{&Plan::fusedOptimizer},
         "off: AdamW runs op by op, not in one pass over its state",
         FieldSection::Execution},
        {"pxn", "", uses::kOnlyPriced, PlanField::Flag{&Plan::pxn},
         "off: groups of some of a node's devices leave it through the "
         "processors, as before NCCL 2.12",
         FieldSection::Execution},
    };
    append_range(all, own);
    return all;
  }();
  return fields;
}

template class tessera::Field<Plan>;

bool Plan::operator==(const Plan &o) const { return haveEqualFields(*this, o); }

hash_code tessera::hash_value(const Plan &plan) {
  hash_code hash = 0;
  for (const PlanField &field : getFields<Plan>())
    if (!field.isDefault(plan))
      hash = hash_combine(hash, StringRef(field.name), field.print(plan));
  return hash;
}
