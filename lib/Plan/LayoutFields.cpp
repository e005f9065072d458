//===- LayoutFields.cpp - The fields of a layout --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of fields, and their values with a syntax of their own.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/FieldImpl.h"
#include "tessera/Plan/PlanFields.h"

using namespace llvm;
using namespace tessera;

namespace tessera {
template <> ArrayRef<StringRef> getNames<Scatter>() {
  static constexpr StringRef names[] = {"each", "round", "last"};
  return names;
}
template <> ArrayRef<StringRef> getNames<ScheduleKind>() {
  static constexpr StringRef names[] = {
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits) name,
#include "tessera/Plan/ScheduleKinds.def"
  };
  return names;
}
} // namespace tessera

static std::string printStageLayers(const Layout &layout) {
  if (layout.stageLayers.empty())
    return layout.evenStages ? "even" : "time";
  return join(map_range(layout.stageLayers, printNumber), ",");
}

static bool parseStageLayers(StringRef text, Layout &layout) {
  std::vector<double> layers;
  if (text != "time" && text != "even")
    for (StringRef part : split(text, ',')) {
      double &blocks = layers.emplace_back();
      if (!parseNumber(part, blocks) || blocks < 0 ||
          blocks > double(kMostCount) || 2 * blocks != std::floor(2 * blocks))
        return false;
    }
  layout.stageLayers = std::move(layers);
  layout.evenStages = text == "even";
  return true;
}

static std::string printContext(const Layout &layout) {
  return layout.cpMethod.getName();
}

static bool parseContext(StringRef text, Layout &layout) {
  std::optional<ContextMethod> method = parseContextMethod(text);
  if (method)
    layout.cpMethod = *method;
  return method.has_value();
}

template <> ArrayRef<Field<Layout>> tessera::getFields<Layout>() {
  using LayoutField = Field<Layout>;
  static const LayoutField fields[] = {
      {"forward", "", FieldUse::kAttribute, LayoutField::Flag{&Layout::forward},
       "a forward program: nothing is trained", FieldSection::Training},
      {"ranks", "N", FieldUse::kJson | FieldUse::kPriced | uses::kDevices,
       LayoutField::Derived{&Layout::gpus},
       "devices; default: dp x tp x pp x cp", FieldSection::Mesh,
       /*isCommon=*/true, /*brief=*/"", /*old=*/"gpus"},
      {"dp", "N", uses::kBoth | uses::kDevices, makeSize(&Layout::dp),
       "data axis: the batch; of plan, default: what is left of --ranks",
       FieldSection::Mesh, /*isCommon=*/true, "data axis: the batch"},
      {"tp", "N", uses::kBoth | uses::kDevices, makeSize(&Layout::tp),
       "tensor axis: heads, MLP and vocabulary", FieldSection::Mesh,
       /*isCommon=*/true},
      {"pp", "N", uses::kBoth | uses::kDevices, makeSize(&Layout::pp),
       "pipeline stages", FieldSection::Mesh, /*isCommon=*/true},
      {"cp", "N", uses::kBoth | uses::kDevices, makeSize(&Layout::cp),
       "context axis: the sequence, in attention too", FieldSection::Mesh,
       /*isCommon=*/true},
      {"cp-method", "NAME", uses::kBoth | uses::kDevices,
       LayoutField::Text{kContextMethods, printContext, parseContext},
       "how devices of cp share attention: all_gather (of keys and values), "
       "ring (the same in chunks, beside the attention), all_to_all (heads; "
       ":U, heads over U neighbours and queries over the rest), latent (of "
       "what "
       "keys and values are computed from), or auto, the fastest of the "
       "others",
       FieldSection::Mesh},
      {"ep", "N", uses::kBoth | uses::kDevices, makeSize(&Layout::ep),
       "expert axis: the innermost devices of dp and cp, and of tp with etp "
       "off",
       FieldSection::Mesh},
      {"etp", "", uses::kBoth | uses::kDevices, LayoutField::Flag{&Layout::etp},
       "tp shards each expert's MLP; off: experts go over tp, too",
       FieldSection::Mesh},
      {"moe-room", "X", uses::kCompiled,
       LayoutField::Number{&Layout::moeRoom, 0},
       "room for rows of experts, over those of an even load; a step that "
       "needs "
       "more changes nothing and ends the run; 0 (default): as many as tokens "
       "can have",
       FieldSection::Mesh},
      {"sp",
       "",
       uses::kBoth | uses::kDevices,
       LayoutField::Flag{&Layout::sp},
       "shard the residual stream's sequence over tp",
       {FieldSection::Mesh, 19},
       /*isCommon=*/true},
      {"zero", "N", uses::kBoth | uses::kDevices,
       LayoutField::Integer{&Layout::zero, 0, 3},
       "0 to 3: shard nothing, optimizer state, gradients too, parameters too, "
       "over dp",
       FieldSection::Mesh, /*isCommon=*/true,
       "0 to 3: shard state, gradients too, parameters too"},
      {"zero2-reduce", "WHEN", uses::kBoth, makeChoice<&Layout::scatter>(),
       "with zero 2 (compiled: and 3), scatter gradients of each micro-batch "
       "(each), a chunk's after a round of micro-batches (round), or the "
       "step's sum (last, the memory of zero 1)",
       FieldSection::Mesh},
      {"shard-ranks", "N", uses::kOnlyPriced,
       LayoutField::Integer{&Layout::shardRanks, 0, kMostCount},
       "devices that zero shards over; default: dp x cp",
       FieldSection::Execution},
      {"seq", "N", uses::kPriced, makeSize(&Layout::seq),
       "tokens of a sequence; default: the config's", FieldSection::Training,
       /*isCommon=*/true, "tokens of a sequence"},
      {"document-tokens", "N", uses::kOnlyPriced,
       LayoutField::Integer{&Layout::documentTokens, 0, kMostCount},
       "tokens of a document where a sequence packs several, within which "
       "fused attention stays; 0: a sequence is one",
       FieldSection::Execution},
      {"micro-batch", "N", uses::kPriced, makeSize(&Layout::microBatch),
       "sequences of a device's micro-batch", FieldSection::Training,
       /*isCommon=*/true},
      {"micro-batches", "N",
       FieldUse::kPriced | FieldUse::kCompiled | FieldUse::kAttribute |
           uses::kForward,
       makeSize(&Layout::microBatches),
       "shares of a device's batch, one after the other",
       FieldSection::Training,
       /*isCommon=*/true, "shares of a device's batch"},
      {"global-batch", "N", FieldUse::kJson | FieldUse::kPriced,
       LayoutField::Derived{&Layout::globalBatch},
       "sequences of a step; default: dp x micro-batch x micro-batches",
       FieldSection::Training, /*isCommon=*/true, "sequences of a step"},
      {"schedule", "NAME", uses::kBoth | uses::kForward,
       makeChoice<&Layout::schedule>(&Layout::schedule, &Layout::scheduleFile),
       "order of micro-batches on pipeline stages: {}, or FILE.csv with a list "
       "a stage, as torch.distributed.pipelining writes it",
       FieldSection::Mesh},
      {"vpp", "N", uses::kBoth | uses::kForward, makeSize(&Layout::vpp),
       "chunks of each stage, with interleaved; those of FILE.csv",
       FieldSection::Mesh},
      {"stage-layers",
       "LIST",
       uses::kBoth | uses::kForward,
       LayoutField::Text{"time, even or blocks of each chunk, as 7,8.5,8,6.5",
                         printStageLayers, parseStageLayers},
       "blocks of each chunk, whole and half ones, as 7,8.5,8,6.5, even, or "
       "time, so that stages take equally long; priced, even has short ends",
       {FieldSection::Mesh, 21}},
      {"overlap",
       "",
       uses::kPriced,
       LayoutField::Flag{&Layout::overlap},
       "off: gradients and parameters travel beside no kernel",
       {FieldSection::Kernels, 15}},
      {"overlap-tp",
       "",
       uses::kPriced,
       LayoutField::Flag{&Layout::overlapTp},
       "collectives of tp run beside matmuls",
       {FieldSection::Kernels, 16}},
  };
  return fields;
}

template class tessera::Field<Layout>;
