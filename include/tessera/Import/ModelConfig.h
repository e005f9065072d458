//===- ModelConfig.h - What a config.json says of a model -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads an unmodified Hugging Face config.json into a plain struct, and lists
// the parameters that such a model has. What families of models differ in is
// data of the struct; which values a family has by default is in
// ModelFamilies.cpp. Nothing here knows of MLIR; ModelBuilder.h makes the
// graph.
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

/// What is between the two halves of an MLP.
enum class Activation { GeluErf, GeluTanh, Silu };

/// How a norm is computed; only layer norms have a beta. RMSPlusOne multiplies
/// by 1 + gamma.
enum class NormKind { Layer, RMS, RMSPlusOne };

/// Stretching of rotary frequencies, by Llama 3's rule or, without an original
/// context, of all alike: see #nn.rope_scaling.
struct RopeScaling {
  double factor = 1.0;
  /// Of Llama 3's rule.
  double lowFreqFactor = 1.0;
  double highFreqFactor = 4.0;
  /// Positions that the model was trained on before stretching.
  int64_t originalContext = 0;

  bool operator==(const RopeScaling &other) const;
};

/// Rotary position embeddings of q and k.
struct RotaryEmbedding {
  double theta = 10000.0;
  std::optional<RopeScaling> scaling;

  bool operator==(const RotaryEmbedding &other) const;
};

/// A decoder-only transformer. Sizes are numbers of elements and divide as they
/// must: `heads` is a multiple of `kvHeads`.
struct ModelConfig {
  /// The file's name without extension, or its folder's for a "config.json".
  std::string name;
  /// The file's `model_type`: for people; the graph follows from the other
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
  /// Rows of the position table; without one what the file states, which rotary
  /// positions may go beyond.
  int64_t maxPositions = 0;
  /// Positions are a table that is added to the embeddings; otherwise they are
  /// rotary.
  bool positionTable = true;
  RotaryEmbedding rope;
  /// That of window layers, where it is another.
  std::optional<RotaryEmbedding> windowRope;
  /// How many of the first elements of a head turn; 0 for all.
  int64_t rotaryWidth = 0;

  /// Keys that a query sees in a window layer: its own and those before it.
  std::optional<int64_t> window;
  /// Which layers have the window; layers beyond the list repeat it, and all
  /// have it without one.
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
  /// Logits use the token embedding; otherwise there is an `lm_head`.
  bool tiedHead = true;
  /// Biases of q, k and v; of the projection after attention; of the MLP.
  bool qkvBias = true;
  bool outputBias = true;
  bool mlpBias = true;
  /// Each head's q and k are normalized before their positions enter.
  bool headNorms = false;
  /// Norms after attention and after the MLP, too, before the residual stream.
  bool postNorms = false;
  /// The token whose row of the table gets no gradient from where it is read.
  std::optional<int64_t> paddingToken;
  /// Embeddings are multiplied by sqrt(hidden).
  bool scaledEmbeddings = false;
  /// Scores are divided by the root of this number; 0 for headDim.
  double scoreDivisor = 0.0;
  /// Scores are divided by layer + 1, too.
  bool scaleByInverseLayer = false;

  /// Query heads of one key/value head.
  int64_t headsPerGroup() const { return heads / kvHeads; }
  /// What scores are multiplied by, but for the layer.
  double attentionScale() const;
  /// The window of a layer, if it has one.
  std::optional<int64_t> windowOf(int64_t layer) const;

  bool operator==(const ModelConfig &other) const;
};

/// A model of a family (a supported `model_type`) with the values that its
/// published class has by default; sizes are 0.
ModelConfig getFamilyDefaults(llvm::StringRef modelType);

/// Reads `text`, the content of the file `fileName` (used in errors and for the
/// name). Keys without influence on the graph are accepted silently; null means
/// the key's default where it has one. Errors are one line with the file, the
/// key, what is expected and what is there: no JSON, an unknown model_type or
/// key, a wrong type, a missing key, sizes that do not divide, a feature that
/// the graph cannot express. `ignoredKeys` are unknown keys that are no error
/// ("rope_scaling.x" of a nested one); each must be in the file.
llvm::Expected<ModelConfig>
parseModelConfig(llvm::StringRef text, llvm::StringRef fileName,
                 llvm::ArrayRef<llvm::StringRef> ignoredKeys = {});

/// Reads a file; also an error when it cannot be read.
llvm::Expected<ModelConfig>
readModelConfig(llvm::StringRef path,
                llvm::ArrayRef<llvm::StringRef> ignoredKeys = {});

/// How a parameter starts.
enum class ParameterInit { Zeros, Ones, Normal };

/// One trainable tensor.
struct Parameter {
  /// Lasting name: "wte", "wpe",
  /// "blocks.<i>.{ln1,ln1_post,ln2,ln2_post}.{gamma,beta}",
  /// "blocks.<i>.attn.{wq,wk,wv,wo,bq,bk,bv,bo}",
  /// "blocks.<i>.attn.{q_norm,k_norm}.gamma",
  /// "blocks.<i>.mlp.{w1,b1,w2,b2}" or
  /// "blocks.<i>.mlp.{w_gate,w_up,w_down,b_gate,b_up,b_down}",
  /// "ln_f.{gamma,beta}", "lm_head".
  std::string name;
  llvm::SmallVector<int64_t, 4> shape;
  /// A name for each dimension: "vocab", "embed", "positions", "ffn",
  /// "kv_heads", "q_per_kv" (query heads of one key/value head), "head_dim".
  llvm::SmallVector<llvm::StringRef, 4> dims;
  ParameterInit init = ParameterInit::Zeros;
  /// Of Normal.
  double stddev = 0.0;

  /// Product of the dimensions; saturates instead of overflowing.
  int64_t numElements() const;
};

/// All parameters, in the order in which they are arguments of the graph:
/// embeddings, blocks from first to last, final norm, head. Weights start as
/// normal(initializerRange), with scaledResidualInit those that end in the
/// residual stream as normal(initializerRange / sqrt(2 layers)) (Radford et al.
/// 2019, section 2.3); biases as 0, norms as 1 (RMSPlusOne as 0) and 0.
std::vector<Parameter> listParameters(const ModelConfig &config);

/// The view of a tensor in published files of weights that a parameter is; see
/// #nn.source, whose parts these are.
struct ParameterSource {
  std::string tensor;
  llvm::SmallVector<int64_t, 2> shape;
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 4> strides;
};

/// Where the files that `transformers` reads and writes for the model's family
/// have its parameters, which listParameters() gave.
std::vector<ParameterSource> listSources(const ModelConfig &config,
                                         llvm::ArrayRef<Parameter> parameters);

/// Number of trainable scalars; a tied head counts once.
int64_t countParameters(const ModelConfig &config);

} // namespace tessera

#endif // TESSERA_IMPORT_MODELCONFIG_H
