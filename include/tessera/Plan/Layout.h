//===- Layout.h - How a model is spread over devices ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of the parallel axes, the batch and the pipeline of a plan.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_LAYOUT_H
#define TESSERA_PLAN_LAYOUT_H

#include "tessera/Plan/ContextMethod.h"
#include "tessera/Plan/EnumNames.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

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
/// The order of the forwards and backwards of micro-batches on pipeline stages,
/// for p ranks, m micro-batches, and v chunks of layers per rank. The table
/// ScheduleKinds.def has the kinds.
enum class ScheduleKind {
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits) kind,
#include "tessera/Plan/ScheduleKinds.def"
};

/// The devices by axis, the batch, the pipeline and the overlap of
/// communication with kernels.
struct Layout {
  /// A forward program: there is no training, so only devices, micro-batches
  /// and stages matter.
  bool forward = false;

  //===--------------------------------------------------------------------===//
  // Devices
  //===--------------------------------------------------------------------===//
  int64_t dp = 1, tp = 1, pp = 1, cp = 1;
  /// The way in which the devices of cp share attention.
  ContextMethod cpMethod;
  /// Expert axis: the innermost devices of dp and cp together, and without
  /// `etp` of dp, cp and all of tp. It does not multiply the devices.
  int64_t ep = 1;
  /// tp shards the MLP of each expert.
  bool etp = true;
  /// Rows of experts that a device has room for, over those of an even load; 0:
  /// as many as tokens can have.
  double moeRoom = 0;
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

  //===--------------------------------------------------------------------===//
  // Overlap
  //===--------------------------------------------------------------------===//
  /// Collectives of gradients and of sharded parameters overlap with kernels.
  bool overlap = true;
  /// Gathers and scatters of tp (with sp) overlap with matmuls, in chunks.
  bool overlapTp = false;

  //===--------------------------------------------------------------------===//
  // Derived values and checks
  //===--------------------------------------------------------------------===//
  /// Devices of all axes together.
  int64_t gpus() const { return dp * tp * pp * cp; }
  /// Devices of dp and cp that the experts are sharded over.
  int64_t expertRanks() const { return etp ? ep : ep / tp; }
  /// Devices that share the MLP of an expert.
  int64_t expertParts() const { return etp ? tp : 1; }
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
  /// Checks the layout against a model: tp, cp, pp and vpp must divide its
  /// heads, KV heads, ffn and layers. `padsHeads`: groups of KV heads are
  /// padded where tp does not divide them. `hasLatents`: keys and values are
  /// computed from latents.
  llvm::Error checkModel(int64_t heads, int64_t kvHeads, int64_t ffn,
                         int64_t layers, bool padsHeads = false,
                         bool hasLatents = false) const;
};

} // namespace tessera

#endif // TESSERA_PLAN_LAYOUT_H
