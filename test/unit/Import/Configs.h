//===- Configs.h - Configs of small models ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_IMPORT_CONFIGS_H
#define TESSERA_TEST_UNIT_IMPORT_CONFIGS_H

#include "tessera/Import/ModelConfig.h"
#include "gtest/gtest.h"

namespace tessera {

/// A small model of each family with `extra` (", \"key\": value") added.
inline std::string gpt2(llvm::StringRef extra = "") {
  return (R"({"model_type": "gpt2", "vocab_size": 11, "n_positions": 7,)"
          R"( "n_embd": 6, "n_layer": 2, "n_head": 3)" +
          extra + "}")
      .str();
}
inline std::string llama(llvm::StringRef extra = "") {
  return (R"({"model_type": "llama", "vocab_size": 11, "hidden_size": 16,)"
          R"( "intermediate_size": 20, "num_hidden_layers": 2,)"
          R"( "num_attention_heads": 4)" +
          extra + "}")
      .str();
}

/// The keys of llama with another model_type.
inline std::string decoder(llvm::StringRef type, llvm::StringRef extra = "") {
  std::string text = llama(extra);
  return text.replace(text.find("llama"), 5, type.str());
}

inline std::string gemma(llvm::StringRef extra = "") {
  return decoder(
      "gemma3_text",
      (R"(, "num_key_value_heads": 2, "head_dim": 4)" + extra).str());
}

inline ModelConfig read(llvm::StringRef text, llvm::StringRef file = "m.json") {
  llvm::Expected<ModelConfig> config = parseModelConfig(text, file);
  if (config)
    return *config;
  ADD_FAILURE() << llvm::toString(config.takeError());
  return {};
}

/// The error, or "" if there is none.
inline std::string errorOf(llvm::StringRef text) {
  llvm::Expected<ModelConfig> config = parseModelConfig(text, "m.json");
  return config ? "" : llvm::toString(config.takeError());
}

} // namespace tessera

#endif // TESSERA_TEST_UNIT_IMPORT_CONFIGS_H
