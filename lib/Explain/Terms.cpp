//===- Terms.cpp - Words of the field -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"

using namespace tessera;
using namespace tessera::explain;

namespace {
struct Term {
  const char *word, *sentence;
  /// The topic that explains more; empty: none.
  const char *topic;
};
} // namespace

static constexpr Term kTerms[] = {
    {"parameter", "A number that training changes.", "memory"},
    {"gradient", "The change of the loss by a parameter, with its shape.",
     "memory"},
    {"optimizer state",
     "Numbers that the optimizer keeps for each parameter: moments, and a "
     "master copy in f32.",
     "memory"},
    {"activation", "A result of the forward pass that the backward pass needs.",
     "memory"},
    {"micro-batch",
     "The sequences that a device computes at once; a step has one or "
     "several.",
     "accumulation"},
    {"global batch", "All sequences of a step, on all devices.", "dp"},
    {"gradient accumulation",
     "Adding the gradients of micro-batches before one update.",
     "accumulation"},
    {"rank", "One of the devices that run a program together, by its number.",
     "collectives"},
    {"collective",
     "A transfer in which all ranks of a group take part, in the same order.",
     "collectives"},
    {"all-reduce", "After it each rank has the sums of all ranks' tensors.",
     "ring"},
    {"reduce-scatter", "After it each rank has its shard of the sums.", "ring"},
    {"all-gather", "After it each rank has the shards of all ranks.", "ring"},
    {"all-to-all", "Each rank sends another block to each rank.",
     "collectives"},
    {"ring", "An order of ranks in which each sends to the next one alone.",
     "ring"},
    {"data parallelism (dp)",
     "All devices have the same parameters and different sequences.", "dp"},
    {"ZeRO",
     "Data parallelism that shards optimizer state, gradients, and "
     "parameters, instead of keeping copies.",
     "zero"},
    {"FSDP", "ZeRO-3 as PyTorch has it: a layer is gathered, used, dropped.",
     "fsdp"},
    {"tensor parallelism (tp)", "Matrices of a layer are split over devices.",
     "tp"},
    {"sequence parallelism (sp)",
     "Between the matmuls of tp, tokens are split over the same devices.",
     "strategies"},
    {"context parallelism (cp)",
     "The tokens of a sequence are split over devices, in attention too.",
     "strategies"},
    {"expert parallelism (ep)",
     "The experts of a layer are split over devices, to which tokens are sent.",
     "strategies"},
    {"pipeline stage", "Consecutive layers on one rank of pp.", "pipeline"},
    {"bubble", "Time in which a pipeline stage waits for the others.",
     "pipeline"},
    {"recomputation",
     "Computing activations again in the backward instead of keeping them "
     "(checkpointing).",
     "checkpointing"},
    {"offload", "Keeping state in host memory or on disk.", "offload"},
    {"FLOP", "A multiplication or an addition of floating-point numbers.",
     "wall"},
    {"MFU",
     "The model's FLOPs in a second over the peak of the devices, without "
     "recomputation.",
     "cost"},
    {"roofline",
     "The limit of a kernel by its FLOPs for each byte: memory's bandwidth "
     "below the ridge, the peak above.",
     "roofline"},
    {"critical batch",
     "The batch at which a run takes twice the fewest steps and twice the "
     "fewest examples.",
     "batch"},
    {"master copy",
     "Parameters in f32 that the optimizer updates, while layers use 16 bits.",
     "precision"},
};

Section tessera::explain::explainTerms(const ExplainSizes &) {
  Table table({"term", "meaning", "topic"});
  table.alignLeft(1);
  table.alignLeft(2);
  for (const Term &term : kTerms)
    table.addRow({term.word, term.sentence, term.topic});
  Explanation text("terms", llvm::formatv("{0} words of distributed training",
                                          std::size(kTerms)));
  text.add({"terms", "table", "A sentence each",
            "The last column is the topic that explains a word by numbers.",
            std::move(table)});
  return std::move(text).finish();
}
