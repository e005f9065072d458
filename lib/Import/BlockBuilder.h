//===- BlockBuilder.h - Builds the blocks of a model ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Letters of the einsums: b batch, s seq, d embed, g key/value heads, r query
// heads per key/value head, k head_dim, f ffn, v vocab, e experts, q and c the
// latents of queries and of keys and values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_BLOCKBUILDER_H
#define TESSERA_LIB_IMPORT_BLOCKBUILDER_H

#include "TensorBuilder.h"
#include "tessera/Import/ModelBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {

/// Builds blocks on the residual stream [batch, seq, embed]. listParameters
/// alone decides which parameters exist: a bias is added if there is one.
class BlockBuilder : public TensorBuilder {
public:
  BlockBuilder(mlir::MLIRContext &context, const ModelConfig &config,
               const ModelOptions &options, mlir::Type element)
      : TensorBuilder(context, element), config(config), options(options) {}

protected:
  /// Builds the block that `prefix` names, which is of the kind of a layer.
  mlir::Value block(int64_t index, mlir::Value x);

  /// Builds the MLP or the experts of a layer.
  mlir::Value transform(int64_t index, mlir::Value x);

  /// Adds `x`, times the model's factor, to the residual stream.
  mlir::Value addTo(mlir::Value stream, mlir::Value x);

  mlir::Value norm(llvm::StringRef name, mlir::Value x);
  mlir::Value norm(llvm::StringRef name, mlir::Value x, double epsilon);
  mlir::Value latentNorm(llvm::StringRef name, mlir::Value x);

  mlir::Value mlp(mlir::Value x);

  /// Builds a gated linear unit (Shazeer 2020): down(activation(gate(x)) *
  /// up(x)).
  mlir::Value gatedMlp(const std::string &name, mlir::Value x);

  /// Builds a matmul with a weight, plus the bias if the model has one.
  mlir::Value linear(llvm::StringRef spec, mlir::Value x,
                     llvm::StringRef weight, llvm::StringRef bias);

  mlir::RankedTensorType residualType();

  /// Names the dimensions of a value of the residual stream, at which
  /// strategies start their shardings.
  mlir::Value onResidualStream(mlir::Value x);

  /// Returns the parameter with this name in the current block; null if there
  /// is none.
  mlir::Value parameter(llvm::StringRef name);

  /// Assigns the following ops to this part of the current block.
  void locate(llvm::StringRef part);

  const ModelConfig &config;
  const ModelOptions &options;
  /// The positions at which the documents of tokens start; null: there are no
  /// documents.
  mlir::Value starts;
  /// The sum of the losses of the routers so far; null: none.
  mlir::Value routerLosses;
  /// The choices of each expert, of each router with a bias.
  llvm::SmallVector<mlir::Value> loads;
  /// "blocks.3." within block 3.
  std::string prefix;
  /// The parameters by their names.
  llvm::StringMap<mlir::Value> values;

private:
  // AttentionBuilder.cpp.
  mlir::Value attention(int64_t index, mlir::Value x);

  /// Normalizes the heads of q or k as the model does.
  mlir::Value headNorm(llvm::StringRef name, mlir::Value x);
  /// Normalizes each head, with a gamma for each.
  mlir::Value ownNorm(llvm::StringRef name, mlir::Value x);
  /// Normalizes all heads as one row.
  mlir::Value wholeNorm(llvm::StringRef name, mlir::Value x);

  mlir::Value attend(mlir::Value q, mlir::Value k, mlir::Value v,
                     mlir::IntegerAttr window, double scale);

  /// Keys of a head are a matmul of the latent, and elements with positions
  /// that are the same for all heads.
  mlir::Value latentAttention(const LatentAttention &latent, mlir::Value x);

  /// Rotates the last `width` elements by the position in the sequence,
  /// neighbours as a pair: the frequencies of the others are 0.
  mlir::Value rotateLast(mlir::Value x, int64_t width);

  /// Rotates by the position in the sequence, dimension 1.
  mlir::Value rope(mlir::Value x, const RotaryEmbedding &embedding);

  /// Multiplies the rotated elements of heads.
  mlir::Value scaleRotated(mlir::Value x, double factor);

  // ExpertsBuilder.cpp.
  /// Returns the sum of the outputs of each token's experts, weighted by gates.
  mlir::Value experts(mlir::Value x);

  /// Returns the ids of each token's experts.
  mlir::Value choose(const MixtureOfExperts &mixture, mlir::Value scores);

  /// The choices that an expert takes of a sequence.
  int64_t capacityOf(const MixtureOfExperts &mixture) const;

  void addRouterLoss(mlir::Value loss);

  /// Returns the number of each expert's choices of each sequence, in f32.
  mlir::Value countChoices(const MixtureOfExperts &mixture, mlir::Value ids);

  /// Builds the balance loss of all sequences: of each the product of an
  /// expert's choices and its summed probability, summed over experts.
  mlir::Value balanceLoss(const MixtureOfExperts &mixture, mlir::Value scores,
                          mlir::Value ids);

  /// Builds the z loss of all tokens.
  mlir::Value zLoss(mlir::Value logits);
};

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_BLOCKBUILDER_H
