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
                                   ConfigReader &reader,
                                   const ModelConfig &config) {
  std::vector<bool> windows;
  for (size_t type : reader.list("layer_types", kLayerTypes, config.layers))
    windows.push_back(type == 1);
  if (!windows.empty())
    return windows;
  // Every layer except each `pattern`-th one, starting at layer `first`;
  // without either key, all layers or the default ones.
  int64_t pattern = config.windowLayers.size(), first = 0;
  if (family.has("sliding_window_pattern"))
    pattern = reader.size("sliding_window_pattern", pattern);
  if (family.has("max_window_layers"))
    first = reader.count("max_window_layers", 28);
  for (int64_t i = 0; i < config.layers; ++i)
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
  std::vector<bool> layers = readWindowLayers(family, reader, config);
  bool isAsked = reader.find("layer_types") || !config.windowLayers.empty();
  if (!config.window && isAsked && llvm::is_contained(layers, true))
    reader.fail(key, "expects a window for layers of sliding_attention but got "
                     "none");
  if (!llvm::is_contained(layers, true))
    config.window.reset();
  bool isMixed = config.window && llvm::is_contained(layers, false);
  config.windowLayers = isMixed ? layers : std::vector<bool>();
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
  constexpr Activation kOfExperts[] = {Activation::GeluErf,
                                       Activation::GeluTanh, Activation::Silu};
  if (!llvm::is_contained(kOfExperts, config.activation))
    reader.fail("hidden_act",
                "expects a GELU or \"silu\" for experts but got " +
                    printShort(*reader.find("hidden_act")));
  experts.normalizedGates =
      reader.boolean("norm_topk_prob", experts.normalizedGates);
  experts.denseLayers = readDenseLayers(family, reader, config.layers);
  readRouting(family, reader, experts);
}

/// An activation by its names in files.
struct ActivationName {
  StringRef name;
  Activation activation;
};
constexpr ActivationName kActivations[] = {
    {"gelu", Activation::GeluErf},
    {"gelu_new", Activation::GeluTanh},
    {"gelu_fast", Activation::GeluTanh},
    {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"quick_gelu", Activation::QuickGelu},
    {"relu", Activation::Relu},
    {"relu2", Activation::Relu2},
    {"silu", Activation::Silu},
    {"swish", Activation::Silu}};

Activation readActivation(ConfigReader &reader, StringRef key,
                          Activation byDefault) {
  SmallVector<StringRef> names;
  for (const ActivationName &row : kActivations)
    names.push_back(row.name);
  if (!reader.find(key))
    return byDefault;
  return kActivations[reader.choice(key, names)].activation;
}

/// Reads which matmuls have a bias. `attention_bias` gives one to q, k and v,
/// and to the projection after attention where the published class has it.
void readBiases(const ModelFamily &family, ConfigReader &reader,
                ModelConfig &config) {
  config.qkvBias = reader.boolean("attention_bias", config.qkvBias);
  if (family.hasOutputBias)
    config.outputBias = reader.boolean("attention_bias", config.outputBias);
  config.qkvBias = reader.boolean("use_qkv_bias", config.qkvBias);
  config.mlpBias = reader.boolean("mlp_bias", config.mlpBias);
  for (bool *bias : {&config.qkvBias, &config.outputBias, &config.mlpBias})
    *bias = reader.boolean("use_bias", *bias);
}

/// Reads a limit of scores or logits. A null is none, in place of the default.
double readCap(ConfigReader &reader, StringRef key, double byDefault) {
  return reader.isNull(key) ? 0.0
         : reader.find(key) ? reader.positive(key)
                            : byDefault;
}

/// Reads factors and limits of scores, of logits and of the residual stream.
void readFactors(ConfigReader &reader, ModelConfig &config) {
  config.scoreDivisor =
      reader.positive("query_pre_attn_scalar", config.scoreDivisor);
  if (reader.find("attention_multiplier"))
    config.scoreFactor = reader.positive("attention_multiplier");
  config.embeddingFactor =
      reader.positive("embedding_multiplier", config.embeddingFactor);
  config.residualFactor =
      reader.positive("residual_multiplier", config.residualFactor);
  config.logitsFactor = reader.positive("logit_scale", config.logitsFactor);
  config.logitsFactor /= reader.positive("logits_scaling", 1.0);
  config.scoreCap = readCap(reader, "attn_logit_softcapping", config.scoreCap);
  config.logitsCap =
      readCap(reader, "final_logit_softcapping", config.logitsCap);
}

/// Reads the norms and the form of blocks.
void readBlocks(ConfigReader &reader, ModelConfig &config) {
  for (StringRef key : {"use_qk_norm", "qk_layernorm"})
    if (reader.boolean(key, false))
      config.headNorms = HeadNorms::Own;
  config.parallelBlock =
      reader.boolean("use_parallel_residual", config.parallelBlock);
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
  config.activation =
      readActivation(reader, "activation_function", config.activation);
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
  config.normEps = reader.positive(family.epsKey, config.normEps);
  config.initializerRange =
      reader.positive("initializer_range", config.initializerRange);
  config.activation = readActivation(
      reader,
      family.has("hidden_activation") ? "hidden_activation" : "hidden_act",
      config.activation);
  config.tiedHead = reader.boolean("tie_word_embeddings", config.tiedHead);
  readBiases(family, reader, config);
  readFactors(reader, config);
  readBlocks(reader, config);
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
    return std::tie(
        c.name, c.family, c.vocab, c.hidden, c.layers, c.heads, c.kvHeads,
        c.headDim, c.ffn, c.maxPositions, c.positionTable, c.rope, c.windowRope,
        c.latent, c.predictionModules, c.predictionLayer, c.rotaryWidth,
        c.interleavedRope, c.window, c.windowLayers, c.norm, c.normEps,
        c.initializerRange, c.scaledResidualInit, c.activation, c.gatedMlp,
        c.experts, c.tiedHead, c.qkvBias, c.outputBias, c.mlpBias, c.headNorms,
        c.preNorms, c.postNorms, c.parallelBlock, c.paddingToken,
        c.scaledEmbeddings, c.embeddingFactor, c.residualFactor, c.logitsFactor,
        c.scoreDivisor, c.scoreFactor, c.scoreCap, c.logitsCap,
        c.scaleByInverseLayer);
  };
  return fields(*this) == fields(other);
}

double ModelConfig::attentionScale() const {
  if (scoreFactor != 0.0)
    return scoreFactor;
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
                          ArrayRef<StringRef> ignoredKeys, ConfigUse use) {
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
  ConfigReader reader(*object, fileName, use, ignored, error);
  ArrayRef<ModelFamily> families = getModelFamilies();
  SmallVector<StringRef> types;
  for (const ModelFamily &family : families)
    types.push_back(family.type);
  size_t index =
      reader.choice("model_type", types, std::nullopt, /*areNames=*/true);
  if (error)
    return std::move(error);
  const ModelFamily &family = families[index];
  bool takesAll = use == ConfigUse::Price;
  ArrayRef<StringRef> format = kWeightFormat;
  reader.checkKeys(
      {family.keys, family.ownKeys, family.epsKey, family.ignored,
       getCommonIgnoredKeys(), takesAll ? format : ArrayRef<StringRef>()},
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
                         ConfigUse use) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(
        path + ": cannot be read: " + buffer.getError().message());
  return parseModelConfig((*buffer)->getBuffer(), path, ignoredKeys, use);
}
