//===- ModelConfig.cpp - Reads a config.json ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each key of the file is read, is known not to change the graph, must have a
// value that does not change it, or is an error: a misspelt key must not
// silently become a default.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/ModelConfig.h"
#include "ConfigReader.h"
#include "ModelFamilies.h"
#include "tessera/Support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace {

/// Upper limit of the number of layers.
constexpr int64_t kMaxLayers = 10000;

/// Values of "layer_types": attention to all keys, or to a window.
constexpr StringRef kLayerTypes[] = {"full_attention", "sliding_attention"};

constexpr StringRef kRopeRead[] = {"factor",
                                   "high_freq_factor",
                                   "low_freq_factor",
                                   "original_max_position_embeddings",
                                   "rope_theta",
                                   "rope_type",
                                   "type"};

constexpr StringRef kYarnRead[] = {"attention_factor", "beta_fast",
                                   "beta_slow",        "mscale",
                                   "mscale_all_dim",   "truncate"};

/// Returns "gpt2" for "share/models/gpt2.json" and for "gpt2/config.json".
std::string modelName(StringRef fileName) {
  StringRef stem = llvm::sys::path::stem(fileName);
  if (stem == "config") {
    StringRef folder =
        llvm::sys::path::filename(llvm::sys::path::parent_path(fileName));
    if (!folder.empty() && folder != "." && folder != "..")
      stem = folder;
  }
  return stem.empty() ? "model" : stem.str();
}

/// Reads the number of rotated elements per head from the top level (older
/// files) or from "rope_parameters".
void readRotaryWidth(ConfigReader &reader, ModelConfig &config) {
  constexpr StringRef key = "partial_rotary_factor";
  const json::Value *value = reader.find(key);
  if (!value)
    return;
  double factor = reader.positive(key);
  auto width = static_cast<int64_t>(factor * double(config.headDim));
  if (factor > 1.0 || width < 2 || width % 2 != 0)
    reader.fail(key, "expects at most 1, and an even number of a head's " +
                         Twine(config.headDim) + " elements, but got " +
                         printShort(*value));
  config.rotaryWidth = width < config.headDim ? width : 0;
}

/// Reads a number above 0, or 0 for none.
double readOptional(ConfigReader &reader, StringRef key) {
  const json::Value *value = reader.find(key);
  bool isOff = !value || value->getAsNumber() == 0.0;
  return isOff ? 0.0 : reader.positive(key);
}

/// Returns YaRN's factor for the magnitude of attention (Peng et al. 2023,
/// section 3.4), with DeepSeek's multiple of the logarithm.
double yarnMagnitude(double factor, double multiple) {
  return factor <= 1.0 ? 1.0 : 0.1 * multiple * std::log(factor) + 1.0;
}

YarnScaling readYarn(ConfigReader &rope) {
  YarnScaling yarn;
  yarn.factor = rope.positive("factor");
  yarn.betaFast = rope.positive("beta_fast", yarn.betaFast);
  yarn.betaSlow = rope.positive("beta_slow", yarn.betaSlow);
  yarn.originalContext = rope.size("original_max_position_embeddings");
  if (!rope.boolean("truncate", true))
    rope.fail("truncate", "expects true but got false");
  double rotated = readOptional(rope, "mscale");
  double all = readOptional(rope, "mscale_all_dim");
  yarn.rotatedFactor = rotated != 0.0 && all != 0.0
                           ? yarnMagnitude(yarn.factor, rotated) /
                                 yarnMagnitude(yarn.factor, all)
                           : yarnMagnitude(yarn.factor, 1.0);
  yarn.rotatedFactor = rope.positive("attention_factor", yarn.rotatedFactor);
  if (all != 0.0)
    yarn.scoreFactor = std::pow(yarnMagnitude(yarn.factor, all), 2);
  return yarn;
}

/// Reads "rope_scaling" or "rope_parameters" (newer files, which also have
/// rope_theta there). A rope_type of "default" means no scaling.
void readRope(const ModelFamily &family, ConfigReader &rope,
              ModelConfig &config, RotaryEmbedding &embedding) {
  // Older files say "type".
  StringRef typeKey = rope.find("type") ? "type" : "rope_type";
  if (rope.find("rope_type"))
    typeKey = "rope_type";
  constexpr StringRef kTypes[] = {"default", "linear", "llama3"};
  constexpr StringRef kLatentTypes[] = {"default", "yarn"};
  size_t type = rope.choice(typeKey, config.latent ? ArrayRef(kLatentTypes)
                                                   : ArrayRef(kTypes));
  constexpr StringRef partialKey[] = {"partial_rotary_factor"};
  ArrayRef<StringRef> own;
  if (config.latent)
    own = kYarnRead;
  else if (family.has(partialKey[0]))
    own = partialKey;
  rope.checkKeys({kRopeRead, own}, {}, "of rotary embeddings");
  embedding.theta = rope.positive("rope_theta", embedding.theta);
  readRotaryWidth(rope, config);
  if (type == 0)
    return;
  if (config.latent) {
    embedding.yarn = readYarn(rope);
    return;
  }
  RopeScaling scaling;
  scaling.factor = rope.positive("factor");
  if (type == 2) {
    scaling.lowFreqFactor = rope.positive("low_freq_factor");
    scaling.highFreqFactor = rope.positive("high_freq_factor");
    scaling.originalContext = rope.size("original_max_position_embeddings");
    if (scaling.highFreqFactor <= scaling.lowFreqFactor)
      rope.fail("high_freq_factor",
                "expects more than low_freq_factor = " +
                    printShort(json::Value(scaling.lowFreqFactor)) +
                    " but got " +
                    printShort(json::Value(scaling.highFreqFactor)));
  }
  embedding.scaling = scaling;
}

/// Keys of rotary embeddings in older files.
struct OlderRope {
  ConfigReader &file;
  /// The keys of theta and of scaling; null if there are none.
  StringRef thetaKey;
  std::optional<ConfigReader> scaling;

  /// Returns the number of `key` at the top level or in the scaling.
  std::optional<double> find(StringRef key) const {
    const json::Value *value = scaling ? scaling->find(key) : nullptr;
    value = value ? value : file.find(key == "rope_theta" ? thetaKey : key);
    return value ? value->getAsNumber() : std::nullopt;
  }
};

/// Reads a newer file's rotary embeddings, `rope`. Fails if older keys of the
/// same file contradict it.
void readNewerRope(const ModelFamily &family, const OlderRope &older,
                   ConfigReader &rope, ModelConfig &config,
                   RotaryEmbedding &embedding) {
  RotaryEmbedding before = embedding;
  int64_t widthBefore = config.rotaryWidth;
  embedding.scaling.reset();
  embedding.yarn.reset();
  readRope(family, rope, config, embedding);
  auto expectSame = [&](StringRef key, StringRef olderKey, bool isSame) {
    if (!isSame)
      rope.fail(key, "expects what " + olderKey +
                         " says, or only one of both, but they differ");
  };
  expectSame("rope_theta", older.thetaKey,
             !older.find("rope_theta") || !rope.find("rope_theta") ||
                 before.theta == embedding.theta);
  expectSame("partial_rotary_factor", "another partial_rotary_factor",
             !older.find("partial_rotary_factor") ||
                 widthBefore == config.rotaryWidth);
  expectSame("rope_type", "rope_scaling",
             !older.scaling || (before.scaling == embedding.scaling &&
                                before.yarn == embedding.yarn));
}

/// Reads the rotary embeddings of all layers. If window layers have their own,
/// newer files have both in "rope_parameters", by the type of layer.
void readRopes(const ModelFamily &family, ConfigReader &reader,
               ModelConfig &config) {
  config.rope.theta = reader.positive("rope_theta", config.rope.theta);
  readRotaryWidth(reader, config);
  OlderRope older{reader, "rope_theta", reader.nested("rope_scaling")};
  if (older.scaling)
    readRope(family, *older.scaling, config, config.rope);
  std::optional<ConfigReader> ropes = reader.nested("rope_parameters");
  if (!config.windowRope) {
    if (ropes)
      readNewerRope(family, older, *ropes, config, config.rope);
    return;
  }
  OlderRope window{reader, "rope_local_base_freq", std::nullopt};
  config.windowRope->theta =
      reader.positive(window.thetaKey, config.windowRope->theta);
  if (!ropes)
    return;
  ropes->checkKeys({kLayerTypes}, {}, "of rotary embeddings by layer_types");
  RotaryEmbedding *embeddings[] = {&config.rope, &*config.windowRope};
  const OlderRope *known[] = {&older, &window};
  for (auto [type, embedding, said] : llvm::zip(kLayerTypes, embeddings, known))
    if (std::optional<ConfigReader> rope = ropes->nested(type))
      readNewerRope(family, *said, *rope, config, *embedding);
}

/// Reads the `padding_idx` of the published class's embedding. A negative one
/// counts from the end.
void readPaddingToken(ConfigReader &reader, ModelConfig &config) {
  constexpr StringRef key = "pad_token_id";
  bool isDefaultRow = config.paddingToken < config.vocab;
  if (reader.isNull(key) || (!reader.find(key) && !isDefaultRow))
    config.paddingToken.reset();
  if (!reader.find(key))
    return;
  int64_t id =
      reader.integer(key, std::nullopt, -config.vocab, config.vocab - 1,
                     "an id of the vocabulary or null");
  config.paddingToken = id < 0 ? id + config.vocab : id;
}

/// Returns which layers have a window, by the keys of the family.
std::vector<bool> readWindowLayers(const ModelFamily &family,
                                   ConfigReader &reader, int64_t layers) {
  std::vector<bool> windows;
  for (size_t type : reader.list("layer_types", kLayerTypes, layers))
    windows.push_back(type == 1);
  if (!windows.empty())
    return windows;
  // Every layer except each `pattern`-th one, starting at layer `first`;
  // without either key, all layers.
  int64_t pattern = 0, first = 0;
  if (family.has("sliding_window_pattern"))
    pattern = reader.size("sliding_window_pattern", 6);
  if (family.has("max_window_layers"))
    first = reader.count("max_window_layers", 28);
  for (int64_t i = 0; i < layers; ++i)
    windows.push_back(i >= first && (pattern == 0 || (i + 1) % pattern != 0));
  return windows;
}

void readWindow(const ModelFamily &family, ConfigReader &reader,
                ModelConfig &config) {
  constexpr StringRef key = "sliding_window";
  if (reader.isNull(key) || !family.has(key))
    config.window.reset();
  if (reader.find(key))
    config.window = reader.size(key);
  if (!reader.boolean("use_sliding_window", !family.has("use_sliding_window")))
    config.window.reset();
  std::vector<bool> layers = readWindowLayers(family, reader, config.layers);
  bool isAsked = reader.find("layer_types") || config.windowRope;
  if (!config.window && isAsked && llvm::is_contained(layers, true))
    reader.fail(key, "expects a window for layers of sliding_attention but got "
                     "none");
  if (!llvm::is_contained(layers, true))
    config.window.reset();
  if (config.window && llvm::is_contained(layers, false))
    config.windowLayers = layers;
}

/// Reads the numbers and widths of heads. A default of 0, or null, means that
/// it follows from the other sizes.
void readHeads(ConfigReader &reader, ModelConfig &config) {
  config.heads = reader.size("num_attention_heads");
  if (config.kvHeads == 0 || reader.isNull("num_key_value_heads"))
    config.kvHeads = config.heads;
  config.kvHeads = reader.size("num_key_value_heads", config.kvHeads);
  reader.checkDivides("num_attention_heads", config.heads,
                      "num_key_value_heads", config.kvHeads);
  // Rotary embeddings rotate pairs, so the width of a head must be even.
  if (reader.find("head_dim") || config.headDim != 0) {
    config.headDim = reader.size("head_dim", config.headDim);
    if (config.headDim % 2 != 0)
      reader.fail("head_dim",
                  "expects an even number but got " + Twine(config.headDim));
  } else {
    reader.checkDivides("hidden_size", config.hidden, "2 num_attention_heads",
                        2 * config.heads);
    config.headDim = config.hidden / config.heads;
  }
}

/// Reads which layers have no experts, by the keys of the family.
std::vector<bool> readDenseLayers(const ModelFamily &family,
                                  ConfigReader &reader, int64_t layers) {
  std::vector<bool> dense(layers, false);
  if (family.has("decoder_sparse_step")) {
    int64_t step = reader.size("decoder_sparse_step", 1);
    for (int64_t i = 0; i < layers; ++i)
      dense[i] = (i + 1) % step != 0;
  }
  if (family.has("mlp_only_layers"))
    for (int64_t i : reader.integers("mlp_only_layers", 0, layers - 1))
      dense[i] = true;
  if (!llvm::is_contained(dense, true))
    dense.clear();
  return dense;
}

/// Reads the sizes of latent attention, all of whose heads have keys and values
/// of their own.
void readLatentAttention(ConfigReader &reader, ModelConfig &config) {
  LatentAttention &latent = *config.latent;
  config.heads = config.kvHeads = reader.size("num_attention_heads");
  int64_t kvHeads = reader.size("num_key_value_heads", config.heads);
  if (kvHeads != config.heads)
    reader.fail("num_key_value_heads",
                "expects num_attention_heads = " + Twine(config.heads) +
                    ", since latents have no key/value heads, but got " +
                    Twine(kvHeads));
  latent.queryRank = reader.isNull("q_lora_rank")
                         ? 0
                         : reader.size("q_lora_rank", latent.queryRank);
  latent.rank = reader.size("kv_lora_rank", latent.rank);
  latent.plainWidth = reader.size("qk_nope_head_dim", latent.plainWidth);
  latent.rotaryWidth = reader.size("qk_rope_head_dim", latent.rotaryWidth);
  latent.valueWidth = reader.size("v_head_dim", latent.valueWidth);
  // Rotary embeddings rotate neighbours.
  for (auto [key, size] : {std::pair("qk_nope_head_dim", latent.plainWidth),
                           std::pair("qk_rope_head_dim", latent.rotaryWidth)})
    if (size % 2 != 0)
      reader.fail(key, "expects an even number but got " + Twine(size));
  config.headDim = latent.plainWidth + latent.rotaryWidth;
  if (!reader.boolean("rope_interleave", true))
    reader.fail("rope_interleave", "expects true but got false");
}

/// Reads the number of experts, which has several names.
int64_t readNumberOfExperts(const ModelFamily &family, ConfigReader &reader,
                            int64_t byDefault) {
  StringRef key = "num_local_experts";
  for (StringRef other : {"num_experts", "n_routed_experts"})
    if (family.has(other) && !reader.find(key))
      key = other;
  return reader.size(key, byDefault);
}

/// Reads groups of experts: each token goes to experts of a few of them.
void readGroups(ConfigReader &reader, MixtureOfExperts &experts) {
  int64_t groups = reader.size("n_group", std::max<int64_t>(experts.groups, 1));
  reader.checkDivides("n_routed_experts", experts.experts, "n_group", groups);
  int64_t size = experts.experts / groups;
  int64_t chosen = reader.integer(
      "topk_group", std::max<int64_t>(experts.chosenGroups, 1), 1, groups,
      "an integer from 1 to n_group = " + std::to_string(groups));
  if (experts.expertsPerToken > chosen * size)
    reader.fail("num_experts_per_tok",
                "expects at most the " + Twine(chosen * size) + " experts of " +
                    Twine(chosen) + " groups but got " +
                    Twine(experts.expertsPerToken));
  if (chosen < groups && experts.groupScore == ExpertGroupScore::Sum2 &&
      size < 2)
    reader.fail("n_group", "expects groups of 2 experts but got " +
                               Twine(groups) + " groups of 1");
  // All groups, or the only one, leave the choice as it is.
  experts.groups = chosen < groups ? groups : 0;
  experts.chosenGroups = chosen < groups ? chosen : 0;
}

/// Reads how the routers of DeepSeek choose experts.
void readRouting(const ModelFamily &family, ConfigReader &reader,
                 MixtureOfExperts &experts) {
  if (!family.has("topk_method"))
    return;
  constexpr StringRef kGreedy[] = {"greedy", "group_limited_greedy"};
  constexpr StringRef kUnbiased[] = {"noaux_tc"};
  constexpr StringRef kScores[] = {"softmax", "sigmoid"};
  bool isBiased = experts.choiceBias;
  size_t method = reader.choice(
      "topk_method", isBiased ? ArrayRef(kUnbiased) : ArrayRef(kGreedy), 0,
      /*areNames=*/true);
  reader.choice("scoring_func", kScores[isBiased], 0);
  reader.integer("moe_layer_freq", 1, 1, 1, "1");
  experts.gateFactor =
      reader.positive("routed_scaling_factor", experts.gateFactor);
  experts.leadingDenseLayers =
      reader.count("first_k_dense_replace", experts.leadingDenseLayers);
  experts.sharedExperts =
      reader.isNull("n_shared_experts")
          ? 0
          : reader.count("n_shared_experts", experts.sharedExperts);
  if (isBiased || method == 1)
    readGroups(reader, experts);
}

void readExperts(const ModelFamily &family, ConfigReader &reader,
                 ModelConfig &config) {
  MixtureOfExperts &experts = *config.experts;
  experts.experts = readNumberOfExperts(family, reader, experts.experts);
  std::optional<int64_t> used = experts.expertsPerToken;
  if (*used == 0)
    used.reset();
  experts.expertsPerToken =
      reader.integer("num_experts_per_tok", used, 1, experts.experts,
                     "an integer from 1 to the number of experts, " +
                         std::to_string(experts.experts));
  experts.ffn = family.has("moe_intermediate_size")
                    ? reader.size("moe_intermediate_size", experts.ffn)
                    : config.ffn;
  experts.normalizedGates =
      reader.boolean("norm_topk_prob", experts.normalizedGates);
  experts.denseLayers = readDenseLayers(family, reader, config.layers);
  readRouting(family, reader, experts);
}

} // namespace

void tessera::readGPT2(const ModelFamily &, ConfigReader &reader,
                       ModelConfig &config) {
  config.vocab = reader.size("vocab_size");
  config.maxPositions = reader.size("n_positions");
  config.hidden = reader.size("n_embd");
  config.layers = reader.size("n_layer", std::nullopt, kMaxLayers);
  config.heads = reader.size("n_head");
  reader.checkDivides("n_embd", config.hidden, "n_head", config.heads);
  config.kvHeads = config.heads;
  config.headDim = config.hidden / config.heads;
  config.ffn = reader.size("n_inner", 4 * config.hidden);
  config.normEps = reader.positive("layer_norm_epsilon", config.normEps);
  config.initializerRange =
      reader.positive("initializer_range", config.initializerRange);
  // "gelu_fast" and "gelu_pytorch_tanh" are other names of the tanh formula.
  size_t activation =
      reader.choice("activation_function",
                    {"gelu_new", "gelu", "gelu_fast", "gelu_pytorch_tanh"}, 0);
  config.activation =
      activation == 1 ? Activation::GeluErf : Activation::GeluTanh;
  config.tiedHead = reader.boolean("tie_word_embeddings", config.tiedHead);
  if (!reader.boolean("scale_attn_weights", true))
    config.scoreDivisor = 1.0;
  config.scaleByInverseLayer = reader.boolean("scale_attn_by_inverse_layer_idx",
                                              config.scaleByInverseLayer);
}

void tessera::readDecoder(const ModelFamily &family, ConfigReader &reader,
                          ModelConfig &config) {
  config.vocab = reader.size("vocab_size");
  config.hidden = reader.size("hidden_size");
  config.ffn = reader.size("intermediate_size");
  config.layers = reader.size("num_hidden_layers", std::nullopt, kMaxLayers);
  if (config.latent)
    readLatentAttention(reader, config);
  else
    readHeads(reader, config);
  config.maxPositions =
      reader.size("max_position_embeddings", config.maxPositions);
  config.normEps = reader.positive("rms_norm_eps", config.normEps);
  config.initializerRange =
      reader.positive("initializer_range", config.initializerRange);
  // Each family has one activation, under several names.
  reader.choice("hidden_act", {"silu", "swish"}, 0);
  reader.choice("hidden_activation", {"gelu_pytorch_tanh", "gelu_new"}, 0);
  config.tiedHead = reader.boolean("tie_word_embeddings", config.tiedHead);
  config.qkvBias = reader.boolean("attention_bias", config.qkvBias);
  config.outputBias = reader.boolean("attention_bias", config.outputBias);
  config.mlpBias = reader.boolean("mlp_bias", config.mlpBias);
  config.scoreDivisor =
      reader.positive("query_pre_attn_scalar", config.scoreDivisor);
  if (config.experts)
    readExperts(family, reader, config);
  // The keys are two names of one number.
  for (StringRef key : {"num_mtp_layers", "num_nextn_predict_layers"})
    if (family.has(key))
      config.predictionModules =
          reader.integer(key, config.predictionModules, 0, kMaxLayers,
                         "an integer of at least 0");
  config.predictionLayer = config.layers;
  readPaddingToken(reader, config);
  readRopes(family, reader, config);
  readWindow(family, reader, config);
}

bool RopeScaling::operator==(const RopeScaling &other) const {
  return factor == other.factor && lowFreqFactor == other.lowFreqFactor &&
         highFreqFactor == other.highFreqFactor &&
         originalContext == other.originalContext;
}

bool YarnScaling::operator==(const YarnScaling &other) const {
  auto fields = [](const YarnScaling &y) {
    return std::tie(y.factor, y.betaFast, y.betaSlow, y.originalContext,
                    y.rotatedFactor, y.scoreFactor);
  };
  return fields(*this) == fields(other);
}

bool RotaryEmbedding::operator==(const RotaryEmbedding &other) const {
  return theta == other.theta && scaling == other.scaling && yarn == other.yarn;
}

std::vector<double> RotaryEmbedding::listFrequencies(int64_t width) const {
  assert(!scaling && "expects frequencies that YaRN stretches, or none");
  int64_t pairs = width / 2;
  // The index of the pair that makes so many turns in the original context.
  auto indexOf = [&](double turns) {
    return double(width) *
           std::log(double(yarn->originalContext) / (turns * 2 * M_PI)) /
           (2 * std::log(theta));
  };
  double first = 0.0, last = 0.0;
  if (yarn) {
    first = std::max(std::floor(indexOf(yarn->betaFast)), 0.0);
    last = std::min(std::ceil(indexOf(yarn->betaSlow)), double(width - 1));
    // The published code keeps the denominator from 0 so.
    last += first == last ? 0.001 : 0.0;
  }
  std::vector<double> frequencies(pairs);
  for (auto [i, frequency] : llvm::enumerate(frequencies)) {
    frequency = std::pow(theta, -2.0 * double(i) / double(width));
    if (!yarn)
      continue;
    double stretched =
        std::clamp((double(i) - first) / (last - first), 0.0, 1.0);
    frequency *= stretched / yarn->factor + (1.0 - stretched);
  }
  return frequencies;
}

bool LatentAttention::operator==(const LatentAttention &other) const {
  auto fields = [](const LatentAttention &a) {
    return std::tie(a.queryRank, a.rank, a.plainWidth, a.rotaryWidth,
                    a.valueWidth);
  };
  return fields(*this) == fields(other);
}

bool MixtureOfExperts::operator==(const MixtureOfExperts &other) const {
  auto fields = [](const MixtureOfExperts &m) {
    return std::tie(m.experts, m.expertsPerToken, m.ffn, m.scores, m.choiceBias,
                    m.groups, m.chosenGroups, m.groupScore, m.normalizedGates,
                    m.gateFactor, m.sharedExperts, m.leadingDenseLayers,
                    m.denseLayers);
  };
  return fields(*this) == fields(other);
}

bool ModelConfig::operator==(const ModelConfig &other) const {
  auto fields = [](const ModelConfig &c) {
    return std::tie(c.name, c.family, c.vocab, c.hidden, c.layers, c.heads,
                    c.kvHeads, c.headDim, c.ffn, c.maxPositions,
                    c.positionTable, c.rope, c.windowRope, c.latent,
                    c.predictionModules, c.predictionLayer, c.rotaryWidth,
                    c.window, c.windowLayers, c.norm, c.normEps,
                    c.initializerRange, c.scaledResidualInit, c.activation,
                    c.gatedMlp, c.experts, c.tiedHead, c.qkvBias, c.outputBias,
                    c.mlpBias, c.headNorms, c.postNorms, c.paddingToken,
                    c.scaledEmbeddings, c.scoreDivisor, c.scaleByInverseLayer);
  };
  return fields(*this) == fields(other);
}

double ModelConfig::attentionScale() const {
  return (rope.yarn ? rope.yarn->scoreFactor : 1.0) /
         std::sqrt(scoreDivisor > 0 ? scoreDivisor : double(headDim));
}

std::optional<int64_t> ModelConfig::windowOf(int64_t layer) const {
  if (windowLayers.empty() || windowLayers[layer % windowLayers.size()])
    return window;
  return std::nullopt;
}

bool ModelConfig::hasExperts(int64_t layer) const {
  return experts && layer >= experts->leadingDenseLayers &&
         (experts->denseLayers.empty() ||
          !experts->denseLayers[layer % experts->denseLayers.size()]);
}

llvm::Expected<ModelConfig>
tessera::parseModelConfig(StringRef text, StringRef fileName,
                          ArrayRef<StringRef> ignoredKeys,
                          WeightFormats formats) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return llvm::createStringError(fileName + ": " +
                                   llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError(
        fileName + ": expects a JSON object but got " + printShort(*value));

  llvm::Error error = llvm::Error::success();
  IgnoredKeys ignored{ignoredKeys, {}};
  ConfigReader reader(*object, fileName, ignored, error);
  ArrayRef<ModelFamily> families = getModelFamilies();
  SmallVector<StringRef> types;
  for (const ModelFamily &family : families)
    types.push_back(family.type);
  size_t index =
      reader.choice("model_type", types, std::nullopt, /*areNames=*/true);
  if (error)
    return std::move(error);
  const ModelFamily &family = families[index];
  bool takesAll = formats == WeightFormats::All;
  ArrayRef<StringRef> format = kWeightFormat;
  reader.checkKeys(
      {family.keys, family.ownKeys, family.ignored, getCommonIgnoredKeys(),
       takesAll ? format : ArrayRef<StringRef>()},
      {family.off, kMustBeOff, takesAll ? ArrayRef<StringRef>() : format},
      "of model_type " + family.type);
  ModelConfig config = family.makeDefaults();
  config.name = modelName(fileName);
  family.read(family, reader, config);
  if (error)
    return std::move(error);
  for (StringRef key : ignoredKeys)
    if (!llvm::is_contained(ignored.found, key))
      return llvm::createStringError("--ignore-key expects an unknown key of " +
                                     fileName + " but got '" + key + "'");
  if (countParameters(config) == std::numeric_limits<int64_t>::max())
    return llvm::createStringError(
        fileName + ": expects fewer than 2^63 parameters but got more");
  return config;
}

llvm::Expected<ModelConfig>
tessera::readModelConfig(StringRef path, ArrayRef<StringRef> ignoredKeys,
                         WeightFormats formats) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(
        path + ": cannot be read: " + buffer.getError().message());
  return parseModelConfig((*buffer)->getBuffer(), path, ignoredKeys, formats);
}
