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
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace {

/// Upper limit of the number of layers, as of a size.
constexpr int64_t kMaxLayers = 10000;

/// Keys that any Hugging Face config may have and that do not change the graph.
constexpr StringRef kCommonIgnored[] = {"_attn_implementation_autoset",
                                        "_commit_hash",
                                        "_name_or_path",
                                        "_num_labels",
                                        "architectures",
                                        "attn_implementation",
                                        "auto_map",
                                        "bad_words_ids",
                                        "begin_suppress_tokens",
                                        "bos_token_id",
                                        "chunk_size_feed_forward",
                                        "cross_attention_hidden_size",
                                        "decoder_start_token_id",
                                        "diversity_penalty",
                                        "do_sample",
                                        "dtype",
                                        "early_stopping",
                                        "encoder_no_repeat_ngram_size",
                                        "eos_token_id",
                                        "exponential_decay_length_penalty",
                                        "finetuning_task",
                                        "forced_bos_token_id",
                                        "forced_eos_token_id",
                                        "gradient_checkpointing",
                                        "id2label",
                                        "is_decoder",
                                        "label2id",
                                        "length_penalty",
                                        "max_length",
                                        "min_length",
                                        "no_repeat_ngram_size",
                                        "num_beam_groups",
                                        "num_beams",
                                        "num_return_sequences",
                                        "output_attentions",
                                        "output_hidden_states",
                                        "output_past",
                                        "output_scores",
                                        "pad_token_id",
                                        "prefix",
                                        "problem_type",
                                        "remove_invalid_values",
                                        "repetition_penalty",
                                        "return_dict",
                                        "return_dict_in_generate",
                                        "sep_token_id",
                                        "suppress_tokens",
                                        "task_specific_params",
                                        "temperature",
                                        "tf_legacy_loss",
                                        "tie_encoder_decoder",
                                        "tokenizer_class",
                                        "top_k",
                                        "top_p",
                                        "torch_dtype",
                                        "torchscript",
                                        "transformers.js_config",
                                        "transformers_version",
                                        "typical_p",
                                        "use_bfloat16",
                                        "use_cache"};

/// The same for GPT-2. Dropout is not in the graph; reorder_and_upcast_attn
/// asks for f32 scores, which attention has anyway.
constexpr StringRef kGPT2Ignored[] = {"attn_pdrop",
                                      "embd_pdrop",
                                      "n_ctx",
                                      "n_special",
                                      "predict_special_tokens",
                                      "reorder_and_upcast_attn",
                                      "resid_pdrop",
                                      "summary_activation",
                                      "summary_first_dropout",
                                      "summary_proj_to_labels",
                                      "summary_type",
                                      "summary_use_proj"};

/// The same for Llama. pretraining_tp splits matmuls and changes no value.
constexpr StringRef kLlamaIgnored[] = {"attention_dropout", "is_llama_config",
                                       "pretraining_tp"};

constexpr StringRef kGPT2Read[] = {"activation_function",
                                   "initializer_range",
                                   "layer_norm_epsilon",
                                   "model_type",
                                   "n_embd",
                                   "n_head",
                                   "n_inner",
                                   "n_layer",
                                   "n_positions",
                                   "scale_attn_by_inverse_layer_idx",
                                   "scale_attn_weights",
                                   "tie_word_embeddings",
                                   "vocab_size"};

constexpr StringRef kLlamaRead[] = {"attention_bias",
                                    "head_dim",
                                    "hidden_act",
                                    "hidden_size",
                                    "initializer_range",
                                    "intermediate_size",
                                    "max_position_embeddings",
                                    "mlp_bias",
                                    "model_type",
                                    "num_attention_heads",
                                    "num_hidden_layers",
                                    "num_key_value_heads",
                                    "rms_norm_eps",
                                    "rope_parameters",
                                    "rope_scaling",
                                    "rope_theta",
                                    "tie_word_embeddings",
                                    "vocab_size"};

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

void readGPT2(ConfigReader &reader, ModelConfig &config) {
  reader.checkKeys({kGPT2Read, kGPT2Ignored, kCommonIgnored, kMustBeOff},
                   "of model_type gpt2");
  config.vocab = reader.size("vocab_size");
  config.maxPositions = reader.size("n_positions");
  config.hidden = reader.size("n_embd");
  config.layers = reader.size("n_layer", std::nullopt, kMaxLayers);
  config.heads = reader.size("n_head");
  reader.checkDivides("n_embd", config.hidden, "n_head", config.heads);
  config.kvHeads = config.heads;
  config.headDim = config.hidden / config.heads;
  config.ffn = reader.size("n_inner", 4 * config.hidden);
  config.normEps = reader.positive("layer_norm_epsilon", 1e-5);
  config.initializerRange = reader.positive("initializer_range", 0.02);
  // "gelu_fast" and "gelu_pytorch_tanh" are the tanh formula under other names.
  size_t activation =
      reader.choice("activation_function",
                    {"gelu_new", "gelu", "gelu_fast", "gelu_pytorch_tanh"}, 0);
  config.activation =
      activation == 1 ? Activation::GeluErf : Activation::GeluTanh;
  config.tiedHead = reader.boolean("tie_word_embeddings", true);
  config.scaleAttention = reader.boolean("scale_attn_weights", true);
  config.scaleByInverseLayer =
      reader.boolean("scale_attn_by_inverse_layer_idx", false);
}

/// Reads one of "rope_scaling" and "rope_parameters" (newer files: rope_theta
/// is in it). A rope_type of "default" is no scaling.
void readRope(ConfigReader &rope, ModelConfig &config) {
  rope.checkKeys({kRopeRead}, "of llama3 rotary embeddings");
  config.ropeTheta = rope.positive("rope_theta", config.ropeTheta);
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
  config.ropeScaling = scaling;
}

void readLlama(ConfigReader &reader, ModelConfig &config, StringRef fileName,
               IgnoredKeys &ignored, llvm::Error &error) {
  reader.checkKeys({kLlamaRead, kLlamaIgnored, kCommonIgnored, kMustBeOff},
                   "of model_type llama");
  config.vocab = reader.size("vocab_size");
  config.hidden = reader.size("hidden_size");
  config.ffn = reader.size("intermediate_size");
  config.layers = reader.size("num_hidden_layers", std::nullopt, kMaxLayers);
  config.heads = reader.size("num_attention_heads");
  config.kvHeads = reader.size("num_key_value_heads", config.heads);
  reader.checkDivides("num_attention_heads", config.heads,
                      "num_key_value_heads", config.kvHeads);
  // Rotary embeddings turn pairs: the width of a head must be even.
  if (reader.find("head_dim")) {
    config.headDim = reader.size("head_dim");
    if (config.headDim % 2 != 0)
      reader.fail("head_dim",
                  "expects an even number but got " + Twine(config.headDim));
  } else {
    reader.checkDivides("hidden_size", config.hidden, "2 num_attention_heads",
                        2 * config.heads);
    config.headDim = config.hidden / config.heads;
  }
  config.maxPositions = reader.size("max_position_embeddings", 2048);
  config.normEps = reader.positive("rms_norm_eps", 1e-6);
  config.initializerRange = reader.positive("initializer_range", 0.02);
  reader.choice("hidden_act", {"silu", "swish"}, 0);
  config.activation = Activation::Silu;
  config.tiedHead = reader.boolean("tie_word_embeddings", false);
  config.attentionBias = reader.boolean("attention_bias", false);
  config.mlpBias = reader.boolean("mlp_bias", false);
  config.ropeTheta = reader.positive("rope_theta", 10000.0);
  for (StringRef key : {"rope_scaling", "rope_parameters"})
    if (const json::Object *object = reader.nested(key)) {
      std::string path = (key + ".").str();
      ConfigReader rope(*object, fileName, ignored, error, path);
      readRope(rope, config);
    }
}

} // namespace

StringRef tessera::stringify(ModelFamily family) {
  return family == ModelFamily::GPT2 ? "gpt2" : "llama";
}

bool RopeScaling::operator==(const RopeScaling &other) const {
  return factor == other.factor && lowFreqFactor == other.lowFreqFactor &&
         highFreqFactor == other.highFreqFactor &&
         originalContext == other.originalContext;
}

bool ModelConfig::operator==(const ModelConfig &other) const {
  auto fields = [](const ModelConfig &c) {
    return std::tie(c.name, c.family, c.vocab, c.hidden, c.layers, c.heads,
                    c.kvHeads, c.headDim, c.ffn, c.maxPositions, c.normEps,
                    c.initializerRange, c.activation, c.tiedHead,
                    c.attentionBias, c.mlpBias, c.scaleAttention,
                    c.scaleByInverseLayer, c.ropeTheta, c.ropeScaling);
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
  ModelConfig config;
  config.name = modelName(fileName);
  size_t family = reader.choice("model_type", {"gpt2", "llama"});
  if (error)
    return std::move(error);
  config.family = family == 0 ? ModelFamily::GPT2 : ModelFamily::Llama;
  if (config.family == ModelFamily::GPT2)
    readGPT2(reader, config);
  else
    readLlama(reader, config, fileName, ignored, error);
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
