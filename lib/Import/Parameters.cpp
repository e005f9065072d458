//===- Parameters.cpp - The parameters of a model -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only list of parameters: the graph's arguments and the count are derived
// from it.
//
// The head dimension of a projection is split in two: key/value heads, and
// query heads per key/value head. So a tensor-parallel degree may exceed the
// number of key/value heads, and Q, K and V are never columns of one tensor.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/ModelConfig.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace tessera;
using llvm::StringRef;

namespace {

/// The name and size of a dimension.
struct Dim {
  StringRef name;
  int64_t size;
};

class ParameterList {
public:
  explicit ParameterList(const ModelConfig &config)
      : config(config), stddev(config.initializerRange),
        residualStddev(config.scaledResidualInit
                           ? stddev / std::sqrt(2.0 * config.layers)
                           : stddev) {}

  std::vector<Parameter> build() {
    weight("wte", {vocab, embed});
    if (config.positionTable)
      weight("wpe", {{"positions", config.maxPositions}, embed});
    for (int64_t i = 0; i < config.layers; ++i) {
      prefix = "blocks." + std::to_string(i) + ".";
      block(i);
    }
    prefix.clear();
    norm("ln_f");
    if (!config.tiedHead)
      weight("lm_head", {vocab, embed});
    for (int64_t j = 0; j < config.predictionModules; ++j)
      predictionModule(j);
    return std::move(list);
  }

private:
  void block(int64_t layer) {
    if (config.preNorms)
      norm("ln1");
    attention();
    if (config.postNorms)
      norm("ln1_post");
    if (config.preNorms && !config.parallelBlock)
      norm("ln2");
    config.hasExperts(layer) ? experts() : mlp();
    if (config.postNorms)
      norm("ln2_post");
  }

  void predictionModule(int64_t module) {
    const std::string name = "mtp." + std::to_string(module) + ".";
    prefix = name;
    norm("norm_h");
    norm("norm_e");
    weight("proj", {{"embed_pair", 2 * config.hidden}, embed});
    prefix = name + "block.";
    block(config.predictionLayer + module);
    prefix = name;
    norm("norm");
  }

  void latentAttention() {
    const LatentAttention &latent = *config.latent;
    const Dim query{"q_latent", latent.queryRank},
        both{"kv_latent", latent.rank};
    if (latent.queryRank) {
      weight("attn.wq_a", {embed, query});
      norm("attn.q_a_norm", query);
      weight("attn.wq_b", {query, heads, perHead, headDim});
    } else {
      weight("attn.wq", {embed, heads, perHead, headDim});
    }
    const Dim plain{"head_dim", latent.plainWidth};
    const Dim value{"head_dim", latent.valueWidth};
    weight("attn.wkv_a", {embed, both});
    norm("attn.kv_a_norm", both);
    weight("attn.wk_rope", {embed, {"rope_dim", latent.rotaryWidth}});
    weight("attn.wk_b", {both, heads, plain});
    weight("attn.wv_b", {both, heads, value});
    weight("attn.wo", {heads, perHead, value, embed}, residualStddev);
  }

  void attention() {
    if (config.latent)
      return latentAttention();
    weight("attn.wq", {embed, heads, perHead, headDim});
    weight("attn.wk", {embed, heads, headDim});
    weight("attn.wv", {embed, heads, headDim});
    weight("attn.wo", {heads, perHead, headDim, embed}, residualStddev);
    if (config.qkvBias) {
      bias("attn.bq", {heads, perHead, headDim});
      bias("attn.bk", {heads, headDim});
      bias("attn.bv", {heads, headDim});
    }
    if (config.outputBias)
      bias("attn.bo", {embed});
    headNorms();
  }

  void headNorms() {
    switch (config.headNorms) {
    case HeadNorms::None:
      return;
    case HeadNorms::Shared:
      norm("attn.q_norm", headDim);
      norm("attn.k_norm", headDim);
      return;
    case HeadNorms::Own:
      gamma("attn.q_norm", {{"heads", config.heads}, headDim});
      gamma("attn.k_norm", {heads, headDim});
      return;
    case HeadNorms::Whole:
      gamma("attn.q_norm", {heads, perHead, headDim});
      gamma("attn.k_norm", {heads, headDim});
      return;
    }
  }

  void mlp() {
    if (!config.gatedMlp) {
      weight("mlp.w1", {embed, ffn});
      if (config.mlpBias)
        bias("mlp.b1", {ffn});
      weight("mlp.w2", {ffn, embed}, residualStddev);
      if (config.mlpBias)
        bias("mlp.b2", {embed});
      return;
    }
    gatedMlp("mlp", ffn);
    if (!config.mlpBias)
      return;
    bias("mlp.b_gate", {ffn});
    bias("mlp.b_up", {ffn});
    bias("mlp.b_down", {embed});
  }

  void gatedMlp(const std::string &name, Dim width) {
    weight(name + ".w_gate", {embed, width});
    weight(name + ".w_up", {embed, width});
    weight(name + ".w_down", {width, embed}, residualStddev);
  }

  void experts() {
    const MixtureOfExperts &mixture = *config.experts;
    const Dim all{"experts", mixture.experts},
        scores{"scores", mixture.experts};
    const Dim ffn{"ffn", mixture.ffn};
    weight("moe.router", {embed, scores});
    if (mixture.choiceBias) {
      bias("moe.bias", {scores});
      list.back().isChoiceBias = true;
    }
    weight("moe.w_gate", {all, embed, ffn});
    weight("moe.w_up", {all, embed, ffn});
    weight("moe.w_down", {all, ffn, embed}, residualStddev);
    if (mixture.sharedExperts)
      gatedMlp("moe.shared", {"ffn", mixture.sharedExperts * mixture.ffn});
  }

  void norm(StringRef name) { norm(name, embed); }
  void norm(StringRef name, Dim width) {
    gamma(name, {width});
    if (config.norm == NormKind::Layer)
      add((name + ".beta").str(), {width}, ParameterInit::Zeros, 0.0);
  }

  void gamma(StringRef name, std::initializer_list<Dim> dims) {
    add((name + ".gamma").str(), dims,
        config.norm == NormKind::RMSPlusOne ? ParameterInit::Zeros
                                            : ParameterInit::Ones,
        0.0);
  }

  void weight(StringRef name, std::initializer_list<Dim> dims) {
    weight(name, dims, stddev);
  }
  void weight(StringRef name, std::initializer_list<Dim> dims, double stddev) {
    add(name, dims, ParameterInit::Normal, stddev);
  }
  void bias(StringRef name, std::initializer_list<Dim> dims) {
    add(name, dims, ParameterInit::Zeros, 0.0);
  }

  void add(StringRef name, std::initializer_list<Dim> dims, ParameterInit init,
           double stddev) {
    Parameter parameter;
    parameter.name = prefix + name.str();
    for (const Dim &dim : dims) {
      parameter.shape.push_back(dim.size);
      parameter.dims.push_back(dim.name);
    }
    parameter.init = init;
    parameter.stddev = stddev;
    list.push_back(std::move(parameter));
  }

  const ModelConfig &config;
  const double stddev, residualStddev;
  const Dim vocab{"vocab", config.vocab};
  const Dim embed{"embed", config.hidden};
  const Dim ffn{"ffn", config.ffn};
  const Dim heads{"kv_heads", config.kvHeads};
  const Dim perHead{"q_per_kv", config.headsPerGroup()};
  const Dim headDim{"head_dim", config.headDim};
  std::string prefix;
  std::vector<Parameter> list;
};

} // namespace

int64_t Parameter::numElements() const {
  // Saturates, so that an absurd config gives an error instead of a small
  // number.
  uint64_t product = 1;
  for (int64_t size : shape)
    product = llvm::SaturatingMultiply<uint64_t>(product, size);
  return std::min<uint64_t>(product, std::numeric_limits<int64_t>::max());
}

std::vector<Parameter> tessera::listParameters(const ModelConfig &config) {
  return ParameterList(config).build();
}

int64_t tessera::countParameters(const ModelConfig &config) {
  uint64_t count = 0;
  for (const Parameter &parameter : listParameters(config))
    count = llvm::SaturatingAdd<uint64_t>(count, parameter.numElements());
  return std::min<uint64_t>(count, std::numeric_limits<int64_t>::max());
}
