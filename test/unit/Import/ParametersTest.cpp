//===- ParametersTest.cpp - Tests of lists of parameters ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Configs.h"
#include <map>

using namespace tessera;
using llvm::StringRef;

namespace {

std::vector<std::string> namesOf(const ModelConfig &config) {
  std::vector<std::string> names;
  for (const Parameter &parameter : listParameters(config))
    names.push_back(parameter.name);
  return names;
}

Parameter find(const ModelConfig &config, StringRef name) {
  for (const Parameter &parameter : listParameters(config))
    if (parameter.name == name)
      return parameter;
  ADD_FAILURE() << "no parameter " << name.str();
  return {};
}

TEST(Parameters, gpt2_has_these_in_this_order) {
  ModelConfig config = read(gpt2());
  config.layers = 1;
  EXPECT_EQ(namesOf(config), (std::vector<std::string>{"wte",
                                                       "wpe",
                                                       "blocks.0.ln1.gamma",
                                                       "blocks.0.ln1.beta",
                                                       "blocks.0.attn.wq",
                                                       "blocks.0.attn.wk",
                                                       "blocks.0.attn.wv",
                                                       "blocks.0.attn.wo",
                                                       "blocks.0.attn.bq",
                                                       "blocks.0.attn.bk",
                                                       "blocks.0.attn.bv",
                                                       "blocks.0.attn.bo",
                                                       "blocks.0.ln2.gamma",
                                                       "blocks.0.ln2.beta",
                                                       "blocks.0.mlp.w1",
                                                       "blocks.0.mlp.b1",
                                                       "blocks.0.mlp.w2",
                                                       "blocks.0.mlp.b2",
                                                       "ln_f.gamma",
                                                       "ln_f.beta"}));
}

TEST(Parameters, llama_has_these_in_this_order) {
  ModelConfig config = read(llama());
  config.layers = 1;
  EXPECT_EQ(
      namesOf(config),
      (std::vector<std::string>{
          "wte", "blocks.0.ln1.gamma", "blocks.0.attn.wq", "blocks.0.attn.wk",
          "blocks.0.attn.wv", "blocks.0.attn.wo", "blocks.0.ln2.gamma",
          "blocks.0.mlp.w_gate", "blocks.0.mlp.w_up", "blocks.0.mlp.w_down",
          "ln_f.gamma", "lm_head"}));
}

TEST(Parameters, optional_parts_add_exactly_theirs) {
  ModelConfig config = read(llama());
  int64_t base = countParameters(config);
  config.qkvBias = true; // q, k and v of width 16, twice
  EXPECT_EQ(countParameters(config), base + 2 * 3 * 16);
  config.outputBias = true;
  EXPECT_EQ(countParameters(config), base + 2 * 4 * 16);
  config.qkvBias = config.outputBias = false;
  config.headNorms = HeadNorms::Shared; // q and k of width 4, twice
  EXPECT_EQ(countParameters(config), base + 2 * 2 * 4);
  config.headNorms = HeadNorms::None;
  config.mlpBias = true; // gate, up of width 20, down of width 16, twice
  EXPECT_EQ(countParameters(config), base + 2 * (20 + 20 + 16));
  config.mlpBias = false;
  config.tiedHead = true;
  EXPECT_EQ(countParameters(config), base - 11 * 16);

  config = read(gpt2());
  base = countParameters(config);
  config.tiedHead = false;
  EXPECT_EQ(countParameters(config), base + 11 * 6);
}

TEST(Parameters, grouped_queries_have_a_dimension_of_their_own) {
  ModelConfig config =
      read(llama(R"(, "num_key_value_heads": 2, "head_dim": 6)"));
  Parameter wq = find(config, "blocks.1.attn.wq");
  EXPECT_EQ(wq.shape, (llvm::SmallVector<int64_t, 4>{16, 2, 2, 6}));
  EXPECT_EQ(wq.dims, (llvm::SmallVector<StringRef, 4>{"embed", "kv_heads",
                                                      "q_per_kv", "head_dim"}));
  Parameter wk = find(config, "blocks.1.attn.wk");
  EXPECT_EQ(wk.shape, (llvm::SmallVector<int64_t, 4>{16, 2, 6}));
  Parameter wo = find(config, "blocks.1.attn.wo");
  EXPECT_EQ(wo.shape, (llvm::SmallVector<int64_t, 4>{2, 2, 6, 16}));
}

TEST(Parameters, initial_values_follow_the_papers) {
  ModelConfig config = read(gpt2());
  config.layers = 8;
  for (const Parameter &parameter : listParameters(config)) {
    StringRef name = parameter.name;
    if (name.ends_with("gamma")) {
      EXPECT_EQ(parameter.init, ParameterInit::Ones) << parameter.name;
    } else if (parameter.shape.size() == 1 || name.contains("attn.b")) {
      EXPECT_EQ(parameter.init, ParameterInit::Zeros) << parameter.name;
    } else {
      EXPECT_EQ(parameter.init, ParameterInit::Normal) << parameter.name;
      bool residual = name.ends_with("attn.wo") || name.ends_with("mlp.w2");
      // sqrt(2 * 8) = 4.
      EXPECT_DOUBLE_EQ(parameter.stddev, residual ? 0.005 : 0.02)
          << parameter.name;
    }
  }
  ModelConfig other = read(llama(R"(, "initializer_range": 0.3)"));
  EXPECT_EQ(find(other, "blocks.0.mlp.w_down").stddev, 0.3);
  EXPECT_EQ(find(other, "wte").stddev, 0.3);
}

/// Marks the elements of the file's tensors that make up a parameter.
void mark(const Parameter &parameter, const ParameterSource &source,
          std::vector<int> &tensor) {
  for (int64_t i = 0; i < parameter.numElements(); ++i) {
    int64_t index = source.offset, rest = i;
    for (size_t d = parameter.shape.size(); d-- > 0;) {
      index += rest % parameter.shape[d] * source.strides[d];
      rest /= parameter.shape[d];
    }
    ++tensor.at(size_t(index));
  }
}

TEST(Parameters, each_element_of_a_published_tensor_is_in_one_parameter) {
  for (const std::string &text :
       {gpt2(), llama(R"(, "num_key_value_heads": 2)"),
        llama(R"(, "attention_bias": true, "mlp_bias": true)"),
        decoder("qwen2", R"(, "num_key_value_heads": 2)"),
        decoder("qwen3", R"(, "num_key_value_heads": 4)"),
        decoder("mistral", R"(, "num_key_value_heads": 2)"),
        decoder("phi3", R"(, "num_key_value_heads": 2, "pad_token_id": 0)"),
        decoder("gemma2", R"(, "num_key_value_heads": 2)"),
        decoder("gemma3_text", R"(, "num_key_value_heads": 2)"),
        decoder("olmo2", R"(, "num_key_value_heads": 2)"),
        decoder("granite", R"(, "num_key_value_heads": 2)"),
        decoder("cohere", R"(, "num_key_value_heads": 2, "use_qk_norm": true)"),
        decoder("stablelm", R"(, "num_key_value_heads": 2, "use_qkv_bias": true,
                               "partial_rotary_factor": 0.5)"),
        decoder("starcoder2", R"(, "num_key_value_heads": 2)"),
        decoder("glm4", R"(, "num_key_value_heads": 2)")}) {
    ModelConfig config = read(text);
    std::vector<Parameter> parameters = listParameters(config);
    std::vector<ParameterSource> sources = listSources(config, parameters);
    ASSERT_EQ(sources.size(), parameters.size());
    std::map<std::string, std::vector<int>> tensors;
    for (size_t i = 0; i < sources.size(); ++i) {
      int64_t elements = 1;
      for (int64_t size : sources[i].shape)
        elements *= size;
      std::vector<int> &tensor = tensors[sources[i].tensor];
      ASSERT_TRUE(tensor.empty() || int64_t(tensor.size()) == elements);
      tensor.resize(size_t(elements));
      mark(parameters[i], sources[i], tensor);
    }
    for (const auto &[name, tensor] : tensors)
      for (int count : tensor)
        ASSERT_EQ(count, 1) << name;
  }
}

TEST(Parameters, published_tensors_are_fused_and_transposed) {
  ModelConfig config = read(gpt2());
  std::vector<Parameter> parameters = listParameters(config);
  std::vector<ParameterSource> sources = listSources(config, parameters);
  auto of = [&](StringRef name) {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == name)
        return sources[i];
    return ParameterSource();
  };
  // Width 6, three heads of 2: keys are columns 6 to 11 of 18.
  ParameterSource key = of("blocks.1.attn.wk");
  EXPECT_EQ(key.tensor, "transformer.h.1.attn.c_attn.weight");
  EXPECT_EQ(key.shape, (llvm::SmallVector<int64_t, 2>{6, 18}));
  EXPECT_EQ(key.offset, 6);
  EXPECT_EQ(key.strides, (llvm::SmallVector<int64_t, 4>{18, 2, 1}));
  config = read(llama(R"(, "num_key_value_heads": 2)"));
  parameters = listParameters(config);
  sources = listSources(config, parameters);
  // Width 16, two key/value heads of 4 that two queries share: [out, in].
  ParameterSource query = of("blocks.0.attn.wq");
  EXPECT_EQ(query.tensor, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(query.shape, (llvm::SmallVector<int64_t, 2>{16, 16}));
  EXPECT_EQ(query.strides, (llvm::SmallVector<int64_t, 4>{1, 128, 64, 16}));
}

} // namespace
