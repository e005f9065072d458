//===- ModelConfig.cpp - Reads a config.json ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every key of the file is either read, known to have no influence on the
// graph, required to have the value at which it has none, or an error: a
// misspelt key must not silently become a default.
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

/// Upper limit of the number of layers, as of a size.
constexpr int64_t kMaxLayers = 10000;

constexpr StringRef kRopeRead[] = {"factor",
                                   "high_freq_factor",
                                   "low_freq_factor",
                                   "original_max_position_embeddings",
                                   "rope_theta",
                                   "rope_type",
                                   "type"};

/// "gpt2" of "share/models/gpt2.json" and of "gpt2/config.json".
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

/// Reads one of "rope_scaling" and "rope_parameters" (newer files: rope_theta
/// is in it). A rope_type of "default" is no scaling.
void readRope(ConfigReader &rope, RotaryEmbedding &embedding) {
  rope.checkKeys({kRopeRead}, {}, "of llama3 rotary embeddings");
  embedding.theta = rope.positive("rope_theta", embedding.theta);
  // Older files say "type".
  StringRef typeKey = rope.find("type") ? "type" : "rope_type";
  if (rope.find("rope_type"))
    typeKey = "rope_type";
  if (rope.choice(typeKey, {"llama3", "default"}) == 1)
    return;
  RopeScaling scaling;
  scaling.factor = rope.positive("factor");
  scaling.lowFreqFactor = rope.positive("low_freq_factor");
  scaling.highFreqFactor = rope.positive("high_freq_factor");
  scaling.originalContext = rope.size("original_max_position_embeddings");
  if (scaling.highFreqFactor <= scaling.lowFreqFactor)
    rope.fail("high_freq_factor",
              "expects more than low_freq_factor = " +
                  printShort(json::Value(scaling.lowFreqFactor)) + " but got " +
                  printShort(json::Value(scaling.highFreqFactor)));
  embedding.scaling = scaling;
}

/// Numbers and widths of heads. A default of 0 follows from the other sizes, as
/// a null does.
void readHeads(ConfigReader &reader, ModelConfig &config) {
  config.heads = reader.size("num_attention_heads");
  if (config.kvHeads == 0 || reader.isNull("num_key_value_heads"))
    config.kvHeads = config.heads;
  config.kvHeads = reader.size("num_key_value_heads", config.kvHeads);
  reader.checkDivides("num_attention_heads", config.heads,
                      "num_key_value_heads", config.kvHeads);
  // Rotary embeddings turn pairs: the width of a head must be even.
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

} // namespace

void tessera::readGPT2(ConfigReader &reader, ModelConfig &config) {
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
  // "gelu_fast" and "gelu_pytorch_tanh" are the tanh formula under other names.
  size_t activation =
      reader.choice("activation_function",
                    {"gelu_new", "gelu", "gelu_fast", "gelu_pytorch_tanh"}, 0);
  config.activation =
      activation == 1 ? Activation::GeluErf : Activation::GeluTanh;
  config.tiedHead = reader.boolean("tie_word_embeddings", config.tiedHead);
  config.scaleAttention =
      reader.boolean("scale_attn_weights", config.scaleAttention);
  config.scaleByInverseLayer = reader.boolean("scale_attn_by_inverse_layer_idx",
                                              config.scaleByInverseLayer);
}

void tessera::readDecoder(ConfigReader &reader, ModelConfig &config) {
  config.vocab = reader.size("vocab_size");
  config.hidden = reader.size("hidden_size");
  config.ffn = reader.size("intermediate_size");
  config.layers = reader.size("num_hidden_layers", std::nullopt, kMaxLayers);
  readHeads(reader, config);
  config.maxPositions =
      reader.size("max_position_embeddings", config.maxPositions);
  config.normEps = reader.positive("rms_norm_eps", config.normEps);
  config.initializerRange =
      reader.positive("initializer_range", config.initializerRange);
  reader.choice("hidden_act", {"silu", "swish"}, 0);
  config.tiedHead = reader.boolean("tie_word_embeddings", config.tiedHead);
  config.qkvBias = reader.boolean("attention_bias", config.qkvBias);
  config.outputBias = reader.boolean("attention_bias", config.outputBias);
  config.mlpBias = reader.boolean("mlp_bias", config.mlpBias);
  config.rope.theta = reader.positive("rope_theta", config.rope.theta);
  for (StringRef key : {"rope_scaling", "rope_parameters"})
    if (std::optional<ConfigReader> rope = reader.nested(key))
      readRope(*rope, config.rope);
}

bool RopeScaling::operator==(const RopeScaling &other) const {
  return factor == other.factor && lowFreqFactor == other.lowFreqFactor &&
         highFreqFactor == other.highFreqFactor &&
         originalContext == other.originalContext;
}

bool RotaryEmbedding::operator==(const RotaryEmbedding &other) const {
  return theta == other.theta && scaling == other.scaling;
}

bool ModelConfig::operator==(const ModelConfig &other) const {
  auto fields = [](const ModelConfig &c) {
    return std::tie(c.name, c.family, c.vocab, c.hidden, c.layers, c.heads,
                    c.kvHeads, c.headDim, c.ffn, c.maxPositions,
                    c.positionTable, c.rope, c.norm, c.normEps,
                    c.initializerRange, c.scaledResidualInit, c.activation,
                    c.gatedMlp, c.tiedHead, c.qkvBias, c.outputBias, c.mlpBias,
                    c.headNorms, c.scaleAttention, c.scaleByInverseLayer);
  };
  return fields(*this) == fields(other);
}

llvm::Expected<ModelConfig>
tessera::parseModelConfig(StringRef text, StringRef fileName,
                          ArrayRef<StringRef> ignoredKeys) {
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
  reader.checkKeys(
      {family.keys, family.ownKeys, family.ignored, getCommonIgnoredKeys()},
      {family.off, kMustBeOff}, "of model_type " + family.type);
  ModelConfig config = family.makeDefaults();
  config.name = modelName(fileName);
  family.read(reader, config);
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
tessera::readModelConfig(StringRef path, ArrayRef<StringRef> ignoredKeys) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(
        path + ": cannot be read: " + buffer.getError().message());
  return parseModelConfig((*buffer)->getBuffer(), path, ignoredKeys);
}
