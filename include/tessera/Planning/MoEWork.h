//===- MoEWork.h - The work of a mixture of experts -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices models without building their graph: blocks whose MLP is a router
// and many experts, with plain or latent attention. Their records come from the
// config's sizes, in the form in which ReadWork.h reads them off a program, and
// go through the same models of backward, compute, collectives and memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_MOEWORK_H
#define TESSERA_PLANNING_MOEWORK_H

#include "tessera/Cost/Execution.h"
#include "tessera/Cost/Work.h"
#include "tessera/Import/ModelConfig.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// A decoder with experts, as its config.json describes it. Sizes in elements.
struct MoEConfig {
  std::string name;
  int64_t vocab = 0, hidden = 0, layers = 0;
  int64_t heads = 0, kvHeads = 0, headDim = 0;
  /// Latent attention (DeepSeek-V2, 2024): ranks of the latent query (0: none)
  /// and of the latent keys and values (0: plain attention); dims of a head
  /// without and with position, and of its values.
  int64_t queryRank = 0, kvRank = 0, nopeDim = 0, ropeDim = 0, valueDim = 0;
  /// Each head's q and k are normalized before positions are applied.
  bool headNorms = false;
  /// Width of a dense MLP, of an expert, and of all shared experts together.
  int64_t denseFfn = 0, expertFfn = 0, sharedFfn = 0;
  /// Layers at the beginning with a dense MLP.
  int64_t denseLayers = 0;
  int64_t experts = 0, expertsPerToken = 0;
  /// Number of groups of experts, and the number of groups that a token may
  /// use; 0: any. A group is assumed to be a node's experts.
  int64_t groups = 0, groupsPerToken = 0;
  /// Extra blocks with a head each that predict later tokens.
  int64_t extraHeads = 0;
  bool tiedHead = false;
  int64_t maxPositions = 0;

  bool isLatent() const { return kvRank > 0; }
  int64_t keyDim() const { return isLatent() ? nopeDim + ropeDim : headDim; }
  /// Parameters of attention, of one expert, and of a block with experts
  /// without its routed experts.
  double attentionParameters() const;
  double expertParameters() const { return 3.0 * hidden * expertFfn; }
  double sparseBlockParameters() const;
  double denseBlockParameters() const;
  /// Parameters of the model without its extra heads, and those among them that
  /// a token uses.
  double parameters() const;
  double activeParameters() const;
  /// 6 FLOPs for each active parameter except norms and the input embedding,
  /// and attention over the whole sequence, as for dense models.
  double modelFlopsPerToken(int64_t seq) const;
};

/// The sizes of a model with experts that a price depends on. Fails, with one
/// line, if a layer without experts comes after one with experts, or none has
/// experts.
llvm::Expected<MoEConfig> makeMoEConfig(const ModelConfig &model);

/// Parts of a layer with experts that the host launches as graphs instead of
/// kernel by kernel.
enum class GraphScope {
  None,
  /// The router.
  Router,
  /// Attention and the router.
  Attention,
};

/// The scope named "none", "router" or "attention"; none for other texts.
std::optional<GraphScope> parseGraphScope(llvm::StringRef text);

/// The distribution of tokens over experts.
struct MoEOptions {
  /// Capacity slots of each expert relative to an even distribution of tokens;
  /// tokens beyond it are dropped. 0: no token is dropped.
  double capacityFactor = 0;
  /// Tokens of the busiest device's experts relative to an even distribution,
  /// if there is no capacity.
  double imbalance = 1;
  GraphScope graphs = GraphScope::None;
  /// Below 16 bits, a separate copy pads the rows of each expert to whole
  /// blocks of scales, as after a plain all-to-all, also if tokens are sent
  /// once to each device (DeepEP); HybridEP pads them while sending.
  bool padsApart = false;
  /// Experts have whole rows, so parts of a micro-batch may have fewer rows
  /// than their share. If above 0, a whole micro-batch counts at most as many
  /// rows as its parts of at least this many tokens have together; a bound from
  /// parts needs this.
  int64_t leastTokens = 0;
};

/// The errors of a plan for such a model, joined.
llvm::Error checkMoELayout(const MoEConfig &config,
                           const cost::ExecutedPlan &plan);

/// The work of a training step on one device, for each kind of layer with one
/// micro-batch.
cost::ModelWork makeMoEWork(const MoEConfig &config,
                            const cost::ExecutedPlan &plan,
                            const MoEOptions &options = {});

} // namespace tessera

#endif // TESSERA_PLANNING_MOEWORK_H
