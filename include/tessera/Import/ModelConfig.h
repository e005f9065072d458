//===- ModelConfig.h - A model as its config.json defines it ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads an unmodified Hugging Face config.json into a plain struct, and lists
// the parameters that such a model has. Differences between families of models
// are data of the struct; ModelFamilies.cpp has the default values of each
// family. This file does not depend on MLIR; ModelBuilder.h builds the graph.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IMPORT_MODELCONFIG_H
#define TESSERA_IMPORT_MODELCONFIG_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The activation function between the two halves of an MLP. QuickGelu is
/// x * sigmoid(1.702 x), Relu2 the square of Relu.
enum class Activation { GeluErf, GeluTanh, QuickGelu, Relu, Relu2, Silu };

/// The formula of a norm; only Layer has a beta. RMSPlusOne multiplies by
/// 1 + gamma.
enum class NormKind { Layer, LayerNoBeta, RMS, RMSPlusOne };

/// Norms of q and k before positions are applied: of each head with one gamma
/// for all, of each head with a gamma of its own (a layer norm without beta),
/// or of all heads at once.
enum class HeadNorms { None, Shared, Own, Whole };

/// Stretching of rotary frequencies, by Llama 3's rule or, without an original
/// context, of all frequencies by one factor: see #nn.rope_scaling.
struct RopeScaling {
  double factor = 1.0;
  /// Parameters of Llama 3's rule.
  double lowFreqFactor = 1.0;
  double highFreqFactor = 4.0;
  /// Positions that the model was trained on before stretching.
  int64_t originalContext = 0;

  bool operator==(const RopeScaling &other) const;
};

/// YaRN (Peng et al. 2023): frequencies of fewer than `betaSlow` turns in the
/// original context are divided by `factor`, those of more than `betaFast` are
/// kept, those between are interpolated by their index.
struct YarnScaling {
  double factor = 1.0;
  double betaFast = 32.0;
  double betaSlow = 1.0;
  /// The interpolation begins and ends at an integer index.
  bool truncated = true;
  /// Positions that the model was trained on before stretching.
  int64_t originalContext = 0;
  /// Multiplies the rotated elements of q and of k.
  double rotatedFactor = 1.0;
  /// Multiplies the scores.
  double scoreFactor = 1.0;

  bool operator==(const YarnScaling &other) const;
};

/// LongRoPE (Ding et al. 2024): each frequency is divided by a factor of its
/// own, by one list in sequences of up to `originalContext` positions and by
/// another in longer ones.
struct LongScaling {
  std::vector<double> shortFactors;
  std::vector<double> longFactors;
  int64_t originalContext = 0;
  /// Multiplies the rotated elements of q and of k.
  double rotatedFactor = 1.0;

  bool operator==(const LongScaling &other) const;
};

/// NTK scaling by length: theta grows with the positions of a sequence beyond
/// `originalContext`.
struct DynamicScaling {
  double factor = 1.0;
  int64_t originalContext = 0;

  bool operator==(const DynamicScaling &other) const;
};

/// Rotary position embeddings of q and k. It is stretched by one rule at most.
struct RotaryEmbedding {
  double theta = 10000.0;
  std::optional<RopeScaling> scaling;
  std::optional<YarnScaling> yarn;
  std::optional<LongScaling> longScaling;
  std::optional<DynamicScaling> dynamic;

  /// True if a list alone says the frequencies; otherwise theta and `scaling`
  /// do.
  bool needsList() const { return yarn || longScaling || dynamic; }
  /// Returns the angle per position of each pair of `width` elements, in
  /// radians, in sequences of `positions`. Expects no `scaling`.
  std::vector<double> listFrequencies(int64_t width, int64_t positions) const;
  /// The factor of the rotated elements of q and of k.
  double rotatedFactor() const;
  /// True if both are stretched by the same rule.
  bool isStretchedLike(const RotaryEmbedding &other) const;

  bool operator==(const RotaryEmbedding &other) const;
};

/// Latent attention (DeepSeek-AI 2024): keys and values of all heads are
/// matmuls of one latent vector of each token, queries possibly of another. The
/// first elements of a head's q and k have no position; the last are rotated,
/// neighbours as a pair, and those of k are shared by all heads.
struct LatentAttention {
  /// Widths of the latents of queries (0: none) and of keys and values.
  int64_t queryRank = 0;
  int64_t rank = 0;
  /// Elements of a head without and with positions.
  int64_t plainWidth = 0;
  int64_t rotaryWidth = 0;
  /// Width of a head's values.
  int64_t valueWidth = 0;

  bool operator==(const LatentAttention &other) const;
};

/// The function of a router's logits that gives the scores of experts.
enum class ScoreKind { Softmax, Sigmoid };

/// The score of a group of experts: its largest, or the sum of its two largest.
enum class ExpertGroupScore { Max, Sum2 };

/// Experts in place of the MLP of some layers (Shazeer et al. 2017): each is a
/// gated MLP, and each token goes to a few of them, which a router chooses by
/// scores.
struct MixtureOfExperts {
  int64_t experts = 0;
  int64_t expertsPerToken = 0;
  /// Width of an expert.
  int64_t ffn = 0;
  ScoreKind scores = ScoreKind::Softmax;
  /// Scores have a bias for the choice, which gates do not have (Wang et al.
  /// 2024).
  bool choiceBias = false;
  /// Experts are groups of neighbours, and a token's are in the `chosenGroups`
  /// groups of the highest score; 0: there are no groups.
  int64_t groups = 0;
  int64_t chosenGroups = 0;
  ExpertGroupScore groupScore = ExpertGroupScore::Max;
  /// Gates, the scores of a token's experts, are divided by their sum.
  bool normalizedGates = true;
  /// Multiplies gates.
  double gateFactor = 1.0;
  /// Experts of all tokens: one MLP, this many times as wide as an expert.
  int64_t sharedExperts = 0;
  /// Leading layers that have an MLP and no experts.
  int64_t leadingDenseLayers = 0;
  /// True for each layer that has an MLP and no experts; empty: none.
  std::vector<bool> denseLayers;

  bool operator==(const MixtureOfExperts &other) const;
};

/// A decoder-only transformer. Sizes are numbers of elements; `heads` is a
/// multiple of `kvHeads`.
struct ModelConfig {
  /// The file's name without extension, or its folder's for a "config.json".
  std::string name;
  /// The file's `model_type`, for messages; the graph follows from the other
  /// fields.
  std::string family = "gpt2";

  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  /// Key/value heads; each serves heads / kvHeads query heads.
  int64_t kvHeads = 0;
  int64_t headDim = 0;
  /// Width of the MLP.
  int64_t ffn = 0;
  /// Rows of the position table; for rotary positions, the number in the file,
  /// which positions may exceed.
  int64_t maxPositions = 0;
  /// Positions are a table that is added to the embeddings; otherwise they are
  /// rotary.
  bool positionTable = true;
  RotaryEmbedding rope;
  /// Rotary embedding of window layers, if it differs.
  std::optional<RotaryEmbedding> windowRope;
  /// Latent attention, in place of matmuls of the residual stream. `headDim` is
  /// the width of q and k.
  std::optional<LatentAttention> latent;
  /// Number of leading elements of a head that are rotated; 0 for all.
  int64_t rotaryWidth = 0;
  /// Neighbours are rotated as a pair, not elements of the two halves.
  bool interleavedRope = false;

  /// Keys that a query sees in a window layer: its own and those before it.
  std::optional<int64_t> window;
  /// True for each layer with the window. The list repeats for further layers;
  /// if it is empty, all layers have the window.
  std::vector<bool> windowLayers;

  NormKind norm = NormKind::Layer;

  double normEps = 1e-5;
  /// Standard deviation of initial weights.
  double initializerRange = 0.02;
  /// Weights that end in the residual stream start smaller, by
  /// 1 / sqrt(2 layers).
  bool scaledResidualInit = true;
  Activation activation = Activation::GeluTanh;
  /// The MLP is down(activation(gate(x)) * up(x)).
  bool gatedMlp = false;
  /// Experts, in place of the MLP of layers that are not dense.
  std::optional<MixtureOfExperts> experts;
  /// Modules that predict tokens after the next in training (DeepSeek-AI 2024),
  /// each a block; files have them as layers from `predictionLayer` on.
  int64_t predictionModules = 0;
  int64_t predictionLayer = 0;
  /// Logits use the token embedding; otherwise there is an `lm_head`.
  bool tiedHead = true;
  /// Biases of q, k and v; of the projection after attention; of the MLP.
  bool qkvBias = true;
  bool outputBias = true;
  bool mlpBias = true;
  HeadNorms headNorms = HeadNorms::None;
  /// Norms before attention and before the MLP, and norms after them, before
  /// the residual add.
  bool preNorms = true;
  bool postNorms = false;
  /// Attention and MLP have the same input, one norm, and are added at once.
  bool parallelBlock = false;
  /// The token whose row of the embedding table gets no gradient from lookups.
  std::optional<int64_t> paddingToken;
  /// Embeddings are multiplied by sqrt(hidden).
  bool scaledEmbeddings = false;
  /// Factors of embeddings, of what attention and MLP add to the residual
  /// stream, and of logits.
  double embeddingFactor = 1.0;
  double residualFactor = 1.0;
  double logitsFactor = 1.0;
  /// Scores are divided by the root of this number; 0 for headDim.
  double scoreDivisor = 0.0;
  /// The factor of scores; 0: scoreDivisor says it.
  double scoreFactor = 0.0;
  /// Limits of scores and of logits: x becomes c tanh(x / c); 0: there is none.
  double scoreCap = 0.0;
  double logitsCap = 0.0;
  /// Scores are also divided by layer + 1.
  bool scaleByInverseLayer = false;

  /// Number of elements of a head that are rotated, without latents.
  int64_t rotatedElements() const {
    return rotaryWidth ? rotaryWidth : headDim;
  }
  /// Query heads per key/value head.
  int64_t headsPerGroup() const { return heads / kvHeads; }
  /// The factor of attention's scores, without scaleByInverseLayer.
  double attentionScale() const;
  /// The window of a layer, if it has one.
  std::optional<int64_t> windowOf(int64_t layer) const;
  /// True if a layer has experts.
  bool hasExperts(int64_t layer) const;

  bool operator==(const ModelConfig &other) const;
};

/// A model of a family (a supported `model_type`) with the default values of
/// its published class; sizes are 0.
ModelConfig getFamilyDefaults(llvm::StringRef modelType);

/// The use of a config.
enum class ConfigUse {
  /// A graph, whose parameters are floats of 16 bits at least.
  Graph,
  /// A price, which neither a `quantization_config` nor rotary frequencies
  /// change.
  Price
};

/// Parses `text`, the content of the file `fileName` (used in errors and for
/// the name). Keys without influence on the graph are accepted silently; null
/// means the key's default if it has one. Errors are one line with the file,
/// the key, the expected and the actual value: no JSON, an unknown model_type
/// or key, a wrong type, a missing key, sizes that do not divide, a feature
/// that the graph cannot express. `ignoredKeys` are unknown keys that are
/// accepted ("rope_scaling.x" for a nested one); each must be in the file.
llvm::Expected<ModelConfig>
parseModelConfig(llvm::StringRef text, llvm::StringRef fileName,
                 llvm::ArrayRef<llvm::StringRef> ignoredKeys = {},
                 ConfigUse use = ConfigUse::Graph);

/// Reads and parses a file; fails also if the file cannot be read.
llvm::Expected<ModelConfig>
readModelConfig(llvm::StringRef path,
                llvm::ArrayRef<llvm::StringRef> ignoredKeys = {},
                ConfigUse use = ConfigUse::Graph);

/// The initial value of a parameter.
enum class ParameterInit { Zeros, Ones, Normal };

/// One trainable tensor.
struct Parameter {
  /// Stable name: "wte", "wpe",
  /// "blocks.<i>.{ln1,ln1_post,ln2,ln2_post}.{gamma,beta}",
  /// "blocks.<i>.attn.{wq,wk,wv,wo,bq,bk,bv,bo}",
  /// "blocks.<i>.attn.{q_norm,k_norm}.gamma",
  /// "blocks.<i>.mlp.{w1,b1,w2,b2}" or
  /// "blocks.<i>.mlp.{w_gate,w_up,w_down,b_gate,b_up,b_down}", or
  /// "blocks.<i>.moe.{router,bias,w_gate,w_up,w_down}",
  /// "blocks.<i>.moe.shared.{w_gate,w_up,w_down}",
  /// "ln_f.{gamma,beta}", "lm_head"; with latent attention
  /// "blocks.<i>.attn.{wq,wq_a,wq_b,wkv_a,wk_rope,wk_b,wv_b,wo}" and
  /// "blocks.<i>.attn.{q_a_norm,kv_a_norm}.gamma"; of prediction modules
  /// "mtp.<j>.{norm_h,norm_e,norm}.gamma", "mtp.<j>.proj" and
  /// "mtp.<j>.block.<...>", named as those of a block.
  std::string name;
  llvm::SmallVector<int64_t, 4> shape;
  /// A name for each dimension: "vocab", "embed", "positions", "ffn",
  /// "kv_heads", "q_per_kv" (query heads of one key/value head), "head_dim",
  /// "heads" (all query heads), "experts", "scores" (of a router, one for each
  /// expert), "q_latent", "kv_latent", "rope_dim" (the elements of k with
  /// positions), "embed_pair" (an embedding and a value of the residual
  /// stream).
  llvm::SmallVector<llvm::StringRef, 4> dims;
  ParameterInit init = ParameterInit::Zeros;
  /// Standard deviation, for Normal.
  double stddev = 0.0;
  /// The bias of a router: it is f32 and has no gradient.
  bool isChoiceBias = false;

  /// Product of the dimensions; saturates instead of overflowing.
  int64_t numElements() const;
};

/// All parameters, in the order in which they are arguments of the graph:
/// embeddings, blocks from first to last, final norm, head. Weights start as
/// normal(initializerRange); with scaledResidualInit, weights that end in the
/// residual stream start as normal(initializerRange / sqrt(2 layers)) (Radford
/// et al. 2019, section 2.3); biases as 0; norms with gamma 1 (RMSPlusOne 0)
/// and beta 0.
std::vector<Parameter> listParameters(const ModelConfig &config);

/// The view of a tensor in published weight files that a parameter consists of,
/// or, where the tensor's name has a '*', of a tensor for each index of the
/// first dimension; #nn.source has the same fields.
struct ParameterSource {
  std::string tensor;
  llvm::SmallVector<int64_t, 2> shape;
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 4> strides;
};

/// The views of the parameters from listParameters() in the files that
/// `transformers` reads and writes for the model's family.
std::vector<ParameterSource> listSources(const ModelConfig &config,
                                         llvm::ArrayRef<Parameter> parameters);

/// Number of trainable scalars; a tied head counts once.
int64_t countParameters(const ModelConfig &config);

} // namespace tessera

#endif // TESSERA_IMPORT_MODELCONFIG_H
