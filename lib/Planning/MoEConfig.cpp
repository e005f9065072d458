//===- MoEConfig.cpp - The sizes of a mixture of experts ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/MoEWork.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tessera;

/// Returns the number of layers before the first one with experts.
static llvm::Expected<int64_t> countDenseLayers(const ModelConfig &model) {
  int64_t dense = 0;
  while (dense < model.layers && !model.hasExperts(dense))
    ++dense;
  if (dense == model.layers)
    return llvm::createStringError(llvm::formatv(
        "expects fewer than {0} layers without experts but got {0}", dense));
  for (int64_t layer = dense; layer < model.layers; ++layer)
    if (!model.hasExperts(layer))
      return llvm::createStringError(
          llvm::formatv("expects a plan's model to have experts in each layer "
                        "from layer {0}, its first with experts, but got none "
                        "in layer {1}",
                        dense, layer));
  return dense;
}

llvm::Expected<MoEConfig> tessera::makeMoEConfig(const ModelConfig &model) {
  llvm::Expected<int64_t> dense = countDenseLayers(model);
  if (!dense)
    return dense.takeError();
  MoEConfig config;
  config.denseLayers = *dense;
  config.name = model.name;
  config.vocab = model.vocab;
  config.hidden = model.hidden;
  config.layers = model.layers;
  config.heads = model.heads;
  config.kvHeads = model.kvHeads;
  config.headDim = model.headDim;
  config.headNorms = model.headNorms != HeadNorms::None;
  if (model.latent) {
    config.queryRank = model.latent->queryRank;
    config.kvRank = model.latent->rank;
    config.nopeDim = model.latent->plainWidth;
    config.ropeDim = model.latent->rotaryWidth;
    config.valueDim = model.latent->valueWidth;
  }
  const MixtureOfExperts &experts = *model.experts;
  config.denseFfn = model.ffn;
  config.expertFfn = experts.ffn;
  config.sharedFfn = experts.ffn * experts.sharedExperts;
  config.experts = experts.experts;
  config.expertsPerToken = experts.expertsPerToken;
  config.groups = experts.groups;
  config.groupsPerToken = experts.chosenGroups;
  config.extraHeads = model.predictionModules;
  config.tiedHead = model.tiedHead;
  config.maxPositions = model.maxPositions;
  return config;
}

double MoEConfig::attentionParameters() const {
  double h = hidden;
  if (!isLatent())
    return h * headDim * (2.0 * heads + 2.0 * kvHeads) +
           (headNorms ? 2.0 * headDim : 0.0);
  double queries = double(heads) * keyDim();
  double query =
      queryRank ? h * queryRank + queryRank + queryRank * queries : h * queries;
  return query + h * (kvRank + ropeDim) + kvRank +
         double(kvRank) * heads * (nopeDim + valueDim) +
         double(heads) * valueDim * h;
}

double MoEConfig::sparseBlockParameters() const {
  return attentionParameters() + 2.0 * hidden + double(hidden) * experts +
         3.0 * hidden * sharedFfn;
}

double MoEConfig::denseBlockParameters() const {
  return attentionParameters() + 2.0 * hidden + 3.0 * hidden * denseFfn;
}

static double parametersWith(const MoEConfig &c, double expertsUsed) {
  double tables = (c.tiedHead ? 1.0 : 2.0) * c.vocab * c.hidden + c.hidden;
  double sparse =
      double(c.layers - c.denseLayers) *
      (c.sparseBlockParameters() + expertsUsed * c.expertParameters());
  return tables + double(c.denseLayers) * c.denseBlockParameters() + sparse;
}

double MoEConfig::parameters() const {
  return parametersWith(*this, double(experts));
}

double MoEConfig::activeParameters() const {
  return parametersWith(*this, double(expertsPerToken));
}

double MoEConfig::modelFlopsPerToken(int64_t seq) const {
  double values = isLatent() ? valueDim : headDim;
  double lookedUp = tiedHead ? 0.0 : double(vocab) * double(hidden);
  double ofLatents = isLatent() ? double(queryRank) + double(kvRank) : 0.0;
  double ofHeads = headNorms ? 2.0 * headDim : 0.0;
  double norms = double(layers) * (2.0 * hidden + ofLatents + ofHeads) + hidden;
  return 6 * (activeParameters() - lookedUp - norms) +
         6.0 * double(layers) * double(heads) * (double(keyDim()) + values) *
             double(seq);
}
