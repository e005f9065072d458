//===- MoEWork.h - The work of a mixture of experts -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices models that the graph has no ops for yet: blocks whose MLP is a router
// and many experts, with plain or latent attention. Their records are written
// down from the config's sizes, as ReadWork.h would read them off a program,
// and go through the same models of backward, compute, collectives and memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_MOEWORK_H
#define TESSERA_PLANNING_MOEWORK_H

#include "tessera/Cost/Work.h"
#include "tessera/Support/Plan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// A decoder with experts, as its config.json says. Sizes in elements.
struct MoEConfig {
  std::string name;
  int64_t vocab = 0, hidden = 0, layers = 0;
  int64_t heads = 0, kvHeads = 0, headDim = 0;
  /// Latent attention (DeepSeek-V2, 2024): ranks of the latent query (0: none)
  /// and of the latent keys and values (0: plain attention); dims of a head
  /// with and without position, and of its values.
  int64_t queryRank = 0, kvRank = 0, nopeDim = 0, ropeDim = 0, valueDim = 0;
  /// Each head's q and k are normalized before their positions enter.
  bool headNorms = false;
  /// Width of a dense MLP, of an expert, and of the experts that every token
  /// passes, together.
  int64_t denseFfn = 0, expertFfn = 0, sharedFfn = 0;
  /// Layers at the beginning with a dense MLP.
  int64_t denseLayers = 0;
  int64_t experts = 0, expertsPerToken = 0;
  /// Groups of experts and how many of them a token may use, 0: any. A group is
  /// taken to be a node's experts.
  int64_t groups = 0, groupsPerToken = 0;
  /// Further blocks with a head each that predict later tokens.
  int64_t extraHeads = 0;
  bool tiedHead = false;
  int64_t maxPositions = 0;

  bool isLatent() const { return kvRank > 0; }
  int64_t keyDim() const { return isLatent() ? nopeDim + ropeDim : headDim; }
  /// Parameters of attention, of one expert, and of all but routed experts in a
  /// block with experts.
  double attentionParameters() const;
  double expertParameters() const { return 3.0 * hidden * expertFfn; }
  double sparseBlockParameters() const;
  double denseBlockParameters() const;
  /// Of the model without its extra heads; of those, the ones that a token
  /// uses.
  double parameters() const;
  double activeParameters() const;
  /// 6 for each active parameter but those of norms and of the input embedding,
  /// and attention over the whole sequence, as for dense models.
  double modelFlopsPerToken(int64_t seq) const;
};

/// True if the config.json text is of a kind that readMoEConfig() reads:
/// model_type "mixtral", "qwen3_moe", "deepseek_v2" or "deepseek_v3".
bool isMoEConfig(llvm::StringRef text);
/// Errors name the file, the key, what is expected and what is there.
llvm::Expected<MoEConfig> parseMoEConfig(llvm::StringRef text,
                                         llvm::StringRef fileName);

/// Parts of a layer with experts that the host launches as graphs, not kernel
/// by kernel.
enum class GraphScope {
  None,
  /// The router.
  Router,
  /// Attention, and the router.
  Attention,
};

/// The scope that "none", "router" or "attention" names; none for others.
std::optional<GraphScope> parseGraphScope(llvm::StringRef text);

/// How tokens meet experts.
struct MoEOptions {
  /// Capacity slots of each expert relative to an even distribution of tokens;
  /// what is beyond is dropped. 0: nothing is dropped.
  double capacityFactor = 0;
  /// Without capacity: tokens of the busiest device's experts relative to an
  /// even spread.
  double imbalance = 1;
  GraphScope graphs = GraphScope::None;
  /// Below 16 bits, what sends a token once to each device (DeepEP) leaves it
  /// to a copy to pad the rows of each expert to whole blocks of scales, as a
  /// plain all-to-all does; HybridEP pads them as it sends.
  bool padsApart = false;
  /// Rows of experts are whole, so parts of a micro-batch may have fewer than
  /// their share. Where this is above 0, a whole one has no more rows than its
  /// parts of at least so many tokens have together: work of which parts are
  /// bounded.
  int64_t leastTokens = 0;
};

/// The errors of a plan for such a model, joined.
llvm::Error checkMoELayout(const MoEConfig &config, const Plan &plan);

/// The work of a training step of each kind of layer with one micro-batch, on
/// one device.
cost::ModelWork makeMoEWork(const MoEConfig &config, const Plan &plan,
                            const MoEOptions &options = {});

} // namespace tessera

#endif // TESSERA_PLANNING_MOEWORK_H
