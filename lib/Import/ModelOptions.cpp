//===- ModelOptions.cpp - Checks settings of a graph ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies and checks the settings that a config does not contain.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/ModelBuilder.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

ModelConfig tessera::applyOptions(ModelConfig config,
                                  const ModelOptions &options) {
  config.layers = options.layers.value_or(config.layers);
  if (!options.hasPrediction())
    config.predictionModules = 0;
  return config;
}

/// Checks the options of layers with experts.
static llvm::Error checkRouting(const ModelConfig &config,
                                const ModelOptions &options) {
  struct Setting {
    StringRef name;
    std::optional<double> number;
    bool mayBeZero;
  } settings[] = {{"aux-loss", options.auxLoss, true},
                  {"z-loss", options.zLoss, true},
                  {"capacity", options.capacity, false}};
  int64_t layers = options.layers.value_or(config.layers);
  bool hasExperts = llvm::any_of(llvm::seq(layers), [&](int64_t layer) {
    return config.hasExperts(layer);
  });
  for (auto [name, number, mayBeZero] : settings) {
    if (!number || (mayBeZero && *number == 0.0))
      continue;
    if (!std::isfinite(*number) || *number <= 0.0)
      return llvm::createStringError(
          name + " expects " +
          (mayBeZero ? "a number of at least 0" : "a number above 0") +
          " but got " + llvm::formatv("{0}", *number).str());
    if (!hasExperts)
      return llvm::createStringError(name +
                                     " expects a layer with experts but got "
                                     "none");
  }
  if (options.hasRouterLosses() && !options.train)
    return llvm::createStringError(
        "aux-loss and z-loss expect a graph with train");
  return llvm::Error::success();
}

/// Checks the weight of prediction modules.
static llvm::Error checkPrediction(const ModelConfig &config,
                                   const ModelOptions &options) {
  if (!std::isfinite(options.predictionWeight) ||
      options.predictionWeight < 0.0)
    return llvm::createStringError(
        "mtp-weight expects a number of at least 0 but got " +
        llvm::formatv("{0}", options.predictionWeight).str());
  if (options.hasPrediction() && config.predictionModules == 0)
    return llvm::createStringError(
        "mtp-weight expects a model with prediction modules but got none");
  if (options.hasPrediction() && !options.train)
    return llvm::createStringError("mtp-weight expects a graph with train");
  return llvm::Error::success();
}

/// Checks the frequencies and factors that follow from the config's keys.
static llvm::Error checkRope(const ModelConfig &config,
                             const RotaryEmbedding &rope, int64_t positions) {
  if (!rope.needsList())
    return llvm::Error::success();
  int64_t width =
      config.latent ? config.latent->rotaryWidth : config.rotatedElements();
  std::vector<double> numbers = rope.listFrequencies(width, positions);
  numbers.push_back(rope.rotatedFactor());
  for (double number : numbers)
    if (!std::isfinite(number))
      return llvm::createStringError(
          "rotary embeddings expect finite frequencies and factors for seq = " +
          Twine(positions) +
          " but got another; change rope_theta, rope_scaling or "
          "rope_parameters");
  return llvm::Error::success();
}

llvm::Error tessera::checkOptions(const ModelConfig &config,
                                  const ModelOptions &options) {
  auto error = [&](const Twine &text) {
    return llvm::createStringError("model " + config.name + ": " + text);
  };
  std::pair<StringRef, int64_t> sizes[] = {
      {"batch", options.batch},
      {"seq", options.seq},
      {"layers", options.layers.value_or(config.layers)}};
  for (auto [name, size] : sizes)
    if (size < 1)
      return error(name + " expects a positive integer but got " + Twine(size));
  if (config.positionTable && options.seq > config.maxPositions)
    return error("seq expects at most n_positions = " +
                 Twine(config.maxPositions) + " but got " + Twine(options.seq));
  if (options.eod && (*options.eod < 0 || *options.eod >= config.vocab))
    return error("eod expects an id below " + Twine(config.vocab) +
                 ", the vocabulary, but got " + Twine(*options.eod));
  if (llvm::Error fault = checkRouting(config, options))
    return error(llvm::toString(std::move(fault)));
  if (llvm::Error fault = checkPrediction(config, options))
    return error(llvm::toString(std::move(fault)));
  for (const RotaryEmbedding &rope :
       {config.rope, config.windowRope.value_or(RotaryEmbedding())})
    if (llvm::Error fault = checkRope(config, rope, options.seq))
      return error(llvm::toString(std::move(fault)));
  double largest =
      std::max({config.vocab, config.ffn, config.heads * config.headDim});
  if (double(options.batch) * double(options.seq) * largest > 0x1p62)
    return error("batch x seq = " + Twine(options.batch) + " x " +
                 Twine(options.seq) +
                 " expects tensors of at most 2^62 elements");
  return llvm::Error::success();
}
