//===- ModelFamilies.cpp - Keys and defaults of model types ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of supported values of `model_type`. The defaults are taken from
// the classes that publish such files (transformers' configuration_*.py).
//
//===----------------------------------------------------------------------===//

#include "ModelFamilies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace tessera;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

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

/// The same keys for GPT-2, whose published class has no padding row. Dropout
/// is not in the graph; reorder_and_upcast_attn asks for f32 scores, which
/// attention has anyway.
constexpr StringRef kGPT2Ignored[] = {"attn_pdrop",
                                      "embd_pdrop",
                                      "n_ctx",
                                      "n_special",
                                      "pad_token_id",
                                      "predict_special_tokens",
                                      "reorder_and_upcast_attn",
                                      "resid_pdrop",
                                      "summary_activation",
                                      "summary_first_dropout",
                                      "summary_proj_to_labels",
                                      "summary_type",
                                      "summary_use_proj"};

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

/// Keys of every family of rotary decoders.
constexpr StringRef kDecoderRead[] = {"head_dim",
                                      "hidden_size",
                                      "initializer_range",
                                      "intermediate_size",
                                      "max_position_embeddings",
                                      "model_type",
                                      "num_attention_heads",
                                      "num_hidden_layers",
                                      "num_key_value_heads",
                                      "pad_token_id",
                                      "rope_parameters",
                                      "rope_scaling",
                                      "rope_theta",
                                      "tie_word_embeddings",
                                      "vocab_size"};

constexpr StringRef kLlamaRead[] = {"attention_bias", "hidden_act", "mlp_bias"};
/// pretraining_tp splits matmuls and changes no value.
constexpr StringRef kLlamaIgnored[] = {"attention_dropout", "is_llama_config",
                                       "pretraining_tp"};

constexpr StringRef kQwen2Read[] = {"hidden_act", "layer_types",
                                    "max_window_layers", "sliding_window",
                                    "use_sliding_window"};
constexpr StringRef kQwen3Read[] = {"attention_bias", "hidden_act",
                                    "layer_types",    "max_window_layers",
                                    "sliding_window", "use_sliding_window"};
constexpr StringRef kQwenOff[] = {"use_mrope"};

constexpr StringRef kMistralRead[] = {"hidden_act", "sliding_window"};

constexpr StringRef kPhi3Read[] = {"hidden_act",
                                   "original_max_position_embeddings",
                                   "partial_rotary_factor", "sliding_window"};
/// Files of Phi 4 have some of these, which the published class does not read.
constexpr StringRef kPhi3Ignored[] = {"attention_dropout", "embd_pdrop",
                                      "full_attn_mod", "interpolate_factor",
                                      "resid_pdrop"};
constexpr StringRef kPhi3Off[] = {"attention_bias", "lm_head_bias", "mlp_bias"};

constexpr StringRef kGemma2Read[] = {"attention_bias",
                                     "attn_logit_softcapping",
                                     "final_logit_softcapping",
                                     "hidden_activation",
                                     "layer_types",
                                     "query_pre_attn_scalar",
                                     "sliding_window"};
constexpr StringRef kGemma3Read[] = {
    "attention_bias", "final_logit_softcapping", "hidden_activation",
    "layer_types",    "query_pre_attn_scalar",   "rope_local_base_freq",
    "sliding_window", "sliding_window_pattern"};
/// Files also have other names of hidden_activation and sliding_window, which
/// the published class does not read.
constexpr StringRef kGemma2Ignored[] = {"attention_dropout",
                                        "cache_implementation", "hidden_act",
                                        "sliding_window_size"};
/// layer_types decides if a file also has _sliding_window_pattern.
constexpr StringRef kGemma3Ignored[] = {
    "_sliding_window_pattern", "attention_dropout", "cache_implementation"};
constexpr StringRef kGemma2Off[] = {"use_bidirectional_attention"};
constexpr StringRef kGemma3Off[] = {"attn_logit_softcapping",
                                    "use_bidirectional_attention"};

constexpr StringRef kOlmo2Read[] = {"attention_bias", "hidden_act"};
constexpr StringRef kGraniteRead[] = {
    "attention_bias",     "attention_multiplier", "embedding_multiplier",
    "hidden_act",         "logits_scaling",       "mlp_bias",
    "residual_multiplier"};
constexpr StringRef kCohereRead[] = {"attention_bias", "hidden_act",
                                     "logit_scale", "use_qk_norm"};
constexpr StringRef kCohereIgnored[] = {"attention_dropout",
                                        "model_max_length"};
constexpr StringRef kStableLMRead[] = {"hidden_act", "partial_rotary_factor",
                                       "qk_layernorm", "use_parallel_residual",
                                       "use_qkv_bias"};
constexpr StringRef kStableLMIgnored[] = {"attention_dropout",
                                          "hidden_dropout"};
/// Heads are hidden_size / num_attention_heads wide.
constexpr StringRef kStableLMOff[] = {"head_dim"};
constexpr StringRef kStarcoder2Read[] = {"hidden_act", "sliding_window",
                                         "use_bias"};
/// The published class reads the dropout alone.
constexpr StringRef kStarcoder2Ignored[] = {"activation_function",
                                            "attention_dropout",
                                            "attention_softmax_in_fp32",
                                            "embedding_dropout",
                                            "layer_norm_epsilon",
                                            "mlp_type",
                                            "norm_type",
                                            "residual_dropout",
                                            "scale_attention_softmax_in_fp32",
                                            "scale_attn_weights"};
constexpr StringRef kGlm4Read[] = {"attention_bias", "hidden_act",
                                   "partial_rotary_factor"};

constexpr StringRef kMixtralRead[] = {"hidden_act", "num_experts_per_tok",
                                      "num_local_experts", "sliding_window"};
constexpr StringRef kQwen3MoeRead[] = {
    "attention_bias",  "decoder_sparse_step",   "hidden_act",
    "mlp_only_layers", "moe_intermediate_size", "norm_topk_prob",
    "num_experts",     "num_experts_per_tok",   "num_local_experts",
    "sliding_window",  "use_sliding_window"};
/// The factor of the balancing loss has no effect without router logits;
/// max_window_layers is not read by the published class.
constexpr StringRef kExpertsIgnored[] = {
    "attention_dropout", "max_window_layers", "router_aux_loss_coef"};
constexpr StringRef kExpertsOff[] = {"output_router_logits",
                                     "router_jitter_noise"};

constexpr StringRef kDeepSeekV2Read[] = {
    "first_k_dense_replace", "hidden_act",        "kv_lora_rank",
    "moe_intermediate_size", "moe_layer_freq",    "n_group",
    "n_routed_experts",      "n_shared_experts",  "norm_topk_prob",
    "num_experts_per_tok",   "num_local_experts", "q_lora_rank",
    "qk_nope_head_dim",      "qk_rope_head_dim",  "rope_interleave",
    "routed_scaling_factor", "scoring_func",      "topk_group",
    "topk_method",           "v_head_dim"};
constexpr StringRef kDeepSeekV3Read[] = {"first_k_dense_replace",
                                         "hidden_act",
                                         "kv_lora_rank",
                                         "moe_intermediate_size",
                                         "moe_layer_freq",
                                         "n_group",
                                         "n_routed_experts",
                                         "n_shared_experts",
                                         "norm_topk_prob",
                                         "num_experts_per_tok",
                                         "num_local_experts",
                                         "num_mtp_layers",
                                         "num_nextn_predict_layers",
                                         "q_lora_rank",
                                         "qk_nope_head_dim",
                                         "qk_rope_head_dim",
                                         "rope_interleave",
                                         "routed_scaling_factor",
                                         "scoring_func",
                                         "topk_group",
                                         "topk_method",
                                         "v_head_dim"};
/// Factors of losses have no effect on the forward; the width of a head follows
/// from its two parts.
constexpr StringRef kDeepSeekIgnored[] = {"attention_dropout", "aux_loss_alpha",
                                          "ep_size",           "pretraining_tp",
                                          "qk_head_dim",       "seq_aux"};
constexpr StringRef kDeepSeekV2Off[] = {
    "attention_bias", "mlp_bias", "norm_topk_prob", "output_router_logits"};
constexpr StringRef kDeepSeekV3Off[] = {"attention_bias",
                                        "output_router_logits"};

constexpr StringRef kDropoutIgnored[] = {"attention_dropout"};

ModelConfig makeGPT2() {
  ModelConfig config;
  config.family = "gpt2";
  return config;
}

/// Returns the common defaults of the rotary decoders: Llama's values.
ModelConfig makeLlama() {
  ModelConfig config;
  config.family = "llama";
  config.positionTable = false;
  config.maxPositions = 2048;
  config.norm = NormKind::RMS;
  config.normEps = 1e-6;
  config.scaledResidualInit = false;
  config.activation = Activation::Silu;
  config.gatedMlp = true;
  config.tiedHead = false;
  config.qkvBias = config.outputBias = config.mlpBias = false;
  return config;
}

ModelConfig makeQwen2() {
  ModelConfig config = makeLlama();
  config.family = "qwen2";
  config.maxPositions = 32768;
  config.kvHeads = 32;
  config.qkvBias = true;
  config.window = 4096;
  return config;
}

ModelConfig makeQwen3() {
  ModelConfig config = makeQwen2();
  config.family = "qwen3";
  config.headDim = 128;
  config.qkvBias = false;
  config.headNorms = HeadNorms::Shared;
  return config;
}

ModelConfig makeMistral() {
  ModelConfig config = makeLlama();
  config.family = "mistral";
  config.maxPositions = 131072;
  config.kvHeads = 8;
  config.window = 4096;
  return config;
}

ModelConfig makePhi3() {
  ModelConfig config = makeLlama();
  config.family = "phi3";
  config.maxPositions = 4096;
  config.normEps = 1e-5;
  config.paddingToken = 32000;
  return config;
}

ModelConfig makeGemma3() {
  ModelConfig config = makeLlama();
  config.family = "gemma3_text";
  config.maxPositions = 131072;
  config.kvHeads = 4;
  config.headDim = 256;
  config.rope.theta = 1e6;
  config.windowRope = RotaryEmbedding();
  config.window = 4096;
  config.windowLayers = {true, true, true, true, true, false};
  config.norm = NormKind::RMSPlusOne;
  config.activation = Activation::GeluTanh;
  config.tiedHead = true;
  config.headNorms = HeadNorms::Shared;
  config.postNorms = true;
  config.paddingToken = 0;
  config.scaledEmbeddings = true;
  config.scoreDivisor = 256;
  return config;
}

ModelConfig makeGemma2() {
  ModelConfig config = makeGemma3();
  config.family = "gemma2";
  config.maxPositions = 8192;
  config.rope.theta = 1e4;
  config.windowRope.reset();
  config.windowLayers = {true, false};
  config.headNorms = HeadNorms::None;
  config.scoreCap = 50.0;
  config.logitsCap = 30.0;
  return config;
}

ModelConfig makeOlmo2() {
  ModelConfig config = makeLlama();
  config.family = "olmo2";
  config.normEps = 1e-5;
  config.preNorms = false;
  config.postNorms = true;
  config.headNorms = HeadNorms::Whole;
  config.paddingToken = 1;
  return config;
}

ModelConfig makeGranite() {
  ModelConfig config = makeLlama();
  config.family = "granite";
  config.scoreFactor = 1.0;
  return config;
}

ModelConfig makeCohere() {
  ModelConfig config = makeLlama();
  config.family = "cohere";
  config.maxPositions = 8192;
  config.rope.theta = 5e5;
  config.interleavedRope = true;
  config.norm = NormKind::LayerNoBeta;
  config.normEps = 1e-5;
  config.parallelBlock = true;
  config.logitsFactor = 0.0625;
  config.tiedHead = true;
  config.paddingToken = 0;
  return config;
}

ModelConfig makeStableLM() {
  ModelConfig config = makeLlama();
  config.family = "stablelm";
  config.maxPositions = 4096;
  config.kvHeads = 32;
  config.norm = NormKind::Layer;
  config.normEps = 1e-5;
  return config;
}

ModelConfig makeStarcoder2() {
  ModelConfig config = makeLlama();
  config.family = "starcoder2";
  config.maxPositions = 4096;
  config.kvHeads = 2;
  config.norm = NormKind::Layer;
  config.normEps = 1e-5;
  config.initializerRange = 0.018042;
  config.activation = Activation::GeluTanh;
  config.gatedMlp = false;
  config.tiedHead = true;
  config.qkvBias = config.outputBias = config.mlpBias = true;
  return config;
}

ModelConfig makeGlm4() {
  ModelConfig config = makeLlama();
  config.family = "glm4";
  config.maxPositions = 131072;
  config.kvHeads = 2;
  config.headDim = 128;
  config.normEps = 1.5625e-7;
  config.interleavedRope = true;
  config.qkvBias = true;
  config.postNorms = true;
  config.paddingToken = 151329;
  return config;
}

ModelConfig makeMixtral() {
  ModelConfig config = makeLlama();
  config.family = "mixtral";
  config.maxPositions = 131072;
  config.normEps = 1e-5;
  config.kvHeads = 8;
  config.rope.theta = 1e6;
  config.experts = MixtureOfExperts();
  config.experts->experts = 8;
  config.experts->expertsPerToken = 2;
  return config;
}

ModelConfig makeQwen3Moe() {
  ModelConfig config = makeLlama();
  config.family = "qwen3_moe";
  config.maxPositions = 32768;
  config.kvHeads = 4;
  config.headNorms = HeadNorms::Shared;
  config.window = 4096;
  config.experts = MixtureOfExperts();
  config.experts->experts = 128;
  config.experts->expertsPerToken = 8;
  config.experts->ffn = 768;
  config.experts->normalizedGates = false;
  return config;
}

/// Returns the values that both versions of DeepSeek have.
ModelConfig makeDeepSeek() {
  ModelConfig config = makeLlama();
  config.latent = LatentAttention();
  config.latent->queryRank = 1536;
  config.latent->rank = 512;
  config.latent->plainWidth = 128;
  config.latent->rotaryWidth = 64;
  config.latent->valueWidth = 128;
  config.experts = MixtureOfExperts();
  return config;
}

ModelConfig makeDeepSeekV2() {
  ModelConfig config = makeDeepSeek();
  config.family = "deepseek_v2";
  MixtureOfExperts &experts = *config.experts;
  experts.experts = 64;
  experts.ffn = 1407;
  experts.sharedExperts = 2;
  experts.normalizedGates = false;
  return config;
}

ModelConfig makeDeepSeekV3() {
  ModelConfig config = makeDeepSeek();
  config.family = "deepseek_v3";
  config.maxPositions = 4096;
  config.predictionModules = 1;
  MixtureOfExperts &experts = *config.experts;
  experts.experts = 256;
  experts.expertsPerToken = 8;
  experts.ffn = 2048;
  experts.sharedExperts = 1;
  experts.scores = ScoreKind::Sigmoid;
  experts.choiceBias = true;
  experts.groups = 8;
  experts.chosenGroups = 4;
  experts.groupScore = ExpertGroupScore::Sum2;
  experts.gateFactor = 2.5;
  experts.leadingDenseLayers = 3;
  return config;
}

constexpr ModelFamily kFamilies[] = {
    {"gpt2", kGPT2Read, {}, kGPT2Ignored, {}, makeGPT2, readGPT2},
    {"llama",
     kDecoderRead,
     kLlamaRead,
     kLlamaIgnored,
     {},
     makeLlama,
     readDecoder},
    {"qwen2", kDecoderRead, kQwen2Read, kDropoutIgnored, kQwenOff, makeQwen2,
     readDecoder},
    {"qwen3", kDecoderRead, kQwen3Read, kDropoutIgnored, kQwenOff, makeQwen3,
     readDecoder},
    {"mistral",
     kDecoderRead,
     kMistralRead,
     kDropoutIgnored,
     {},
     makeMistral,
     readDecoder},
    {"phi3", kDecoderRead, kPhi3Read, kPhi3Ignored, kPhi3Off, makePhi3,
     readDecoder},
    {"gemma2", kDecoderRead, kGemma2Read, kGemma2Ignored, kGemma2Off,
     makeGemma2, readDecoder},
    {"gemma3_text", kDecoderRead, kGemma3Read, kGemma3Ignored, kGemma3Off,
     makeGemma3, readDecoder},
    {"olmo2",
     kDecoderRead,
     kOlmo2Read,
     kDropoutIgnored,
     {},
     makeOlmo2,
     readDecoder},
    {"granite",
     kDecoderRead,
     kGraniteRead,
     kDropoutIgnored,
     {},
     makeGranite,
     readDecoder},
    {"cohere",
     kDecoderRead,
     kCohereRead,
     kCohereIgnored,
     {},
     makeCohere,
     readDecoder,
     "layer_norm_eps"},
    {"stablelm", kDecoderRead, kStableLMRead, kStableLMIgnored, kStableLMOff,
     makeStableLM, readDecoder, "layer_norm_eps", /*hasOutputBias=*/true,
     /*rotaryFactor=*/0.25},
    {"starcoder2",
     kDecoderRead,
     kStarcoder2Read,
     kStarcoder2Ignored,
     {},
     makeStarcoder2,
     readDecoder,
     "norm_epsilon"},
    {"glm4",
     kDecoderRead,
     kGlm4Read,
     kDropoutIgnored,
     {},
     makeGlm4,
     readDecoder,
     "rms_norm_eps",
     /*hasOutputBias=*/false,
     /*rotaryFactor=*/0.5},
    {"mixtral", kDecoderRead, kMixtralRead, kExpertsIgnored, kExpertsOff,
     makeMixtral, readDecoder},
    {"qwen3_moe", kDecoderRead, kQwen3MoeRead, kExpertsIgnored, kExpertsOff,
     makeQwen3Moe, readDecoder},
    {"deepseek_v2", kDecoderRead, kDeepSeekV2Read, kDeepSeekIgnored,
     kDeepSeekV2Off, makeDeepSeekV2, readDecoder},
    {"deepseek_v3", kDecoderRead, kDeepSeekV3Read, kDeepSeekIgnored,
     kDeepSeekV3Off, makeDeepSeekV3, readDecoder},
};

} // namespace

bool ModelFamily::has(StringRef key) const {
  return llvm::is_contained(ownKeys, key);
}

ArrayRef<ModelFamily> tessera::getModelFamilies() { return kFamilies; }

ArrayRef<StringRef> tessera::getCommonIgnoredKeys() { return kCommonIgnored; }

ModelConfig tessera::getFamilyDefaults(StringRef modelType) {
  const ModelFamily *family = llvm::find_if(
      kFamilies, [&](const ModelFamily &f) { return f.type == modelType; });
  assert(family != std::end(kFamilies) && "expects a supported model_type");
  return family->makeDefaults();
}
