//===- ModelBuilder.h - From a model's config to its graph ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the forward graph of a transformer: phase `input` of the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IMPORT_MODELBUILDER_H
#define TESSERA_IMPORT_MODELBUILDER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tessera/Import/ModelConfig.h"

namespace tessera {

/// Element type of parameters and activations.
enum class ModelDType { F32, BF16, F16 };

/// Settings that the config does not contain.
struct ModelOptions {
  /// Sequences in a batch.
  int64_t batch = 1;
  /// Tokens in a sequence.
  int64_t seq = 1;
  ModelDType dtype = ModelDType::F32;
  /// Replaces the config's number of layers.
  std::optional<int64_t> layers;
  /// Adds labels and returns losses instead of the logits.
  bool train = false;
  /// Id of the token that ends a document. Tokens then see only their own
  /// document, a label in the next document does not count, and positions of a
  /// position table restart with each document.
  std::optional<int64_t> eod;
  /// Factors of the losses of routers that training adds; 0: there is none. The
  /// balance loss of a sequence is E/(k s) times the sum over experts of
  /// choices and summed probabilities (Fedus et al. 2022); the z loss is the
  /// sum over tokens of squared logarithms of the logits' sums of exponentials
  /// (Zoph et al. 2022).
  double auxLoss = 0.0;
  double zLoss = 0.0;
  /// Choices that an expert takes of a sequence, over an even share; others are
  /// dropped. Without it all are taken.
  std::optional<double> capacity;

  /// Weight of the losses of the config's prediction modules, which predict
  /// tokens after the next; 0: the graph has none of them.
  double predictionWeight = 0.0;

  bool hasRouterLosses() const { return auxLoss != 0.0 || zLoss != 0.0; }
  bool hasPrediction() const { return predictionWeight != 0.0; }
  /// Whether training minimizes more than the loss.
  bool hasObjective() const { return hasRouterLosses() || hasPrediction(); }
};

/// `config` with the values that the options replace, and without prediction
/// modules where the options ask for none.
ModelConfig applyOptions(ModelConfig config, const ModelOptions &options);

/// Fails if no graph can be built: sizes below 1, a sequence longer than the
/// position table, a tensor of more than 2^62 elements, rotary frequencies that
/// are not finite, an end-of-document id outside the vocabulary; losses or a
/// capacity of a model without experts, or not above 0; losses without `train`;
/// a weight of prediction modules that the model lacks.
llvm::Error checkOptions(const ModelConfig &config,
                         const ModelOptions &options);

/// Builds `@forward(tokens, [labels, [labels.1, ...]] [starts,]
/// parameters...)`.
///
/// `tokens` and `labels` are i32 [batch, seq]; a label of -100 does not count.
/// `starts`, an argument of the same type if `eod` is given, is the position at
/// which the token's document starts. Returns logits [batch, seq, vocab] of the
/// chosen type, or with `train` three f32 scalars: `loss`, the mean over the
/// labels that count (NaN if none does), `loss_sum` and `tokens`, the sum and
/// the number of these labels; with losses of routers also `aux_sum`, their
/// sum, and with these or prediction modules `objective_sum`, all sums
/// together. The labels of prediction modules 0, 1, ... are `labels.1`,
/// `labels.2`, ...: tokens 2, 3, ... later than the row's. Last with `train` is
/// NAME.load for the bias NAME of each router: the choices of each of its
/// experts, f32. Arguments carry nn.input or nn.param, nn.dims and nn.init; the
/// result nn.output; ops of the residual stream nn.dims. Dropout is not in the
/// graph. Emits an error and returns null if checkOptions fails.
mlir::OwningOpRef<mlir::ModuleOp> buildModel(mlir::MLIRContext &context,
                                             const ModelConfig &config,
                                             const ModelOptions &options);

} // namespace tessera

#endif // TESSERA_IMPORT_MODELBUILDER_H
