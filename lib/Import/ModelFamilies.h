//===- ModelFamilies.h - Keys and defaults of model types -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A family is one value of `model_type`: the keys of its files and their
// defaults. The graph depends only on ModelConfig.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_MODELFAMILIES_H
#define TESSERA_LIB_IMPORT_MODELFAMILIES_H

#include "ConfigReader.h"
#include "tessera/Import/ModelConfig.h"

namespace tessera {

/// Values of "layer_types": attention to all keys, or to a window.
inline constexpr llvm::StringRef kLayerTypes[] = {"full_attention",
                                                  "sliding_attention"};

struct ModelFamily {
  /// The value of `model_type`.
  llvm::StringRef type;
  /// Keys to read: the common ones of its kind of file, and its own.
  llvm::ArrayRef<llvm::StringRef> keys, ownKeys;
  /// Keys that do not change the graph, in addition to kCommonIgnored.
  llvm::ArrayRef<llvm::StringRef> ignored;
  /// Keys for graphs that are not supported, in addition to kMustBeOff.
  llvm::ArrayRef<llvm::StringRef> off;
  /// Returns the defaults, also for values without a key.
  ModelConfig (*makeDefaults)();
  /// Reads the file into a config that has the defaults.
  void (*read)(const ModelFamily &family, ConfigReader &reader,
               ModelConfig &config);
  /// The key of what norms add to a variance, of rotary decoders.
  llvm::StringRef epsKey = "rms_norm_eps";
  /// "attention_bias" gives the projection after attention a bias too.
  bool hasOutputBias = true;
  /// The default of "partial_rotary_factor".
  double rotaryFactor = 1.0;

  /// True if this is one of its own keys.
  bool has(llvm::StringRef key) const;
};

/// Returns all families, in the order in which messages list them.
llvm::ArrayRef<ModelFamily> getModelFamilies();

/// Returns the keys that any Hugging Face config may have and that do not
/// change the graph.
llvm::ArrayRef<llvm::StringRef> getCommonIgnoredKeys();

/// Readers of the two kinds of files: "n_embd" and "hidden_size".
void readGPT2(const ModelFamily &family, ConfigReader &reader,
              ModelConfig &config);
void readDecoder(const ModelFamily &family, ConfigReader &reader,
                 ModelConfig &config);

/// Reads the rotary embeddings of all layers, after all sizes of the model;
/// nothing for a price.
void readRopes(const ModelFamily &family, ConfigReader &reader,
               ModelConfig &config);

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_MODELFAMILIES_H
