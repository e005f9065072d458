//===- ModelConfigTest.cpp - Tests of the config reader -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the fields that are read, the errors, and the resulting parameters. The
// counts of the published models are in test/Import.
//
//===----------------------------------------------------------------------===//

#include "Configs.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tessera;
using llvm::StringRef;

namespace {

TEST(ModelConfig, gpt2_defaults_are_those_of_the_published_class) {
  ModelConfig expected;
  expected.name = "m";
  expected.family = "gpt2";
  expected.vocab = 11;
  expected.maxPositions = 7;
  expected.hidden = 6;
  expected.layers = 2;
  expected.heads = expected.kvHeads = 3;
  expected.headDim = 2;
  expected.ffn = 24;
  expected.normEps = 1e-5;
  expected.activation = Activation::GeluTanh;
  EXPECT_EQ(read(gpt2()), expected);
  // A null means the default.
  EXPECT_EQ(read(gpt2(R"(, "n_inner": null, "layer_norm_epsilon": null)")),
            expected);
}

TEST(ModelConfig, gpt2_keys_are_read) {
  ModelConfig config = read(gpt2(
      R"(, "n_inner": 10, "layer_norm_epsilon": 1e-3, "initializer_range": 0.5,
         "activation_function": "gelu", "tie_word_embeddings": false,
         "scale_attn_weights": false,
         "scale_attn_by_inverse_layer_idx": true)"));
  EXPECT_EQ(config.ffn, 10);
  EXPECT_EQ(config.normEps, 1e-3);
  EXPECT_EQ(config.initializerRange, 0.5);
  EXPECT_EQ(config.activation, Activation::GeluErf);
  EXPECT_FALSE(config.tiedHead);
  EXPECT_EQ(config.attentionScale(), 1.0);
  EXPECT_TRUE(config.scaleByInverseLayer);
}

TEST(ModelConfig, llama_defaults_are_those_of_the_published_class) {
  ModelConfig config = read(llama());
  EXPECT_EQ(config.kvHeads, 4);
  EXPECT_EQ(config.headDim, 4);
  EXPECT_EQ(config.normEps, 1e-6);
  EXPECT_EQ(config.rope.theta, 10000.0);
  EXPECT_EQ(config.rope.scaling, std::nullopt);
  EXPECT_EQ(config.activation, Activation::Silu);
  EXPECT_FALSE(config.tiedHead);
  EXPECT_FALSE(config.qkvBias);
  EXPECT_FALSE(config.outputBias);
  EXPECT_FALSE(config.mlpBias);
}

TEST(ModelConfig, llama_keys_are_read) {
  ModelConfig config = read(llama(
      R"(, "num_key_value_heads": 2, "head_dim": 6, "rms_norm_eps": 1e-5,
         "rope_theta": 5e5, "tie_word_embeddings": true,
         "attention_bias": true, "mlp_bias": true, "initializer_range": 0.1,
         "max_position_embeddings": 99)"));
  EXPECT_EQ(config.kvHeads, 2);
  EXPECT_EQ(config.headsPerGroup(), 2);
  EXPECT_EQ(config.headDim, 6);
  EXPECT_EQ(config.normEps, 1e-5);
  EXPECT_EQ(config.rope.theta, 5e5);
  EXPECT_EQ(config.initializerRange, 0.1);
  EXPECT_EQ(config.maxPositions, 99);
  EXPECT_TRUE(config.tiedHead);
  EXPECT_TRUE(config.qkvBias);
  EXPECT_TRUE(config.outputBias);
  EXPECT_TRUE(config.mlpBias);
}

TEST(ModelConfig, rope_scaling_is_read_in_every_published_spelling) {
  const char *factors = R"("factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192)";
  RopeScaling expected{8.0, 1.0, 4.0, 8192};
  for (const char *type : {"rope_type", "type"})
    EXPECT_EQ(
        read(llama(llvm::formatv(R"(, "rope_scaling": {{"{0}": "llama3", {1}})",
                                 type, factors)
                       .str()))
            .rope.scaling,
        expected);
  // Newer files have one object for all of these keys.
  ModelConfig config = read(llama(
      llvm::formatv(
          R"(, "rope_parameters": {{"rope_theta": 7.0, "rope_type": "llama3",)"
          " {0}}",
          factors)
          .str()));
  EXPECT_EQ(config.rope.theta, 7.0);
  EXPECT_EQ(config.rope.scaling, expected);
  config = read(llama(
      R"(, "rope_parameters": {"rope_theta": 7.0, "rope_type": "default"})"));
  EXPECT_EQ(config.rope.theta, 7.0);
  EXPECT_EQ(config.rope.scaling, std::nullopt);
}

TEST(ModelConfig, older_and_newer_keys_of_rope_say_one_thing) {
  const char *linear = R"(, "rope_scaling": {"type": "linear", "factor": 4.0})";
  auto newer = [](std::string fields) {
    return R"(, "rope_parameters": {"rope_type": )" + fields + "}";
  };
  ModelConfig both =
      read(llama(linear + newer(R"("linear", "factor": 4, "rope_theta": 7)")));
  EXPECT_EQ(both.rope.scaling->factor, 4.0);
  EXPECT_EQ(both.rope.theta, 7.0);
  EXPECT_EQ(read(llama(R"(, "rope_theta": 7)" +
                       newer(R"("default", "rope_theta": 7)")))
                .rope.theta,
            7.0);
  EXPECT_EQ(errorOf(llama(linear + newer(R"("linear", "factor": 8.0)"))),
            "m.json: key 'rope_parameters.rope_type': expects what "
            "rope_scaling says, or only one of both, but they differ");
  EXPECT_NE(errorOf(llama(linear + newer(R"("default")"))), "");
  EXPECT_EQ(errorOf(llama(R"(, "rope_theta": 8)" +
                          newer(R"("default", "rope_theta": 7)"))),
            "m.json: key 'rope_parameters.rope_theta': expects what "
            "rope_theta says, or only one of both, but they differ");
  EXPECT_EQ(errorOf(gemma(R"(, "rope_local_base_freq": 8, "rope_parameters":
      {"sliding_attention": {"rope_type": "default", "rope_theta": 7}})")),
            "m.json: key 'rope_parameters.sliding_attention.rope_theta': "
            "expects what rope_local_base_freq says, or only one of both, but "
            "they differ");
  EXPECT_EQ(errorOf(decoder("phi3", R"(, "partial_rotary_factor": 0.5,
      "rope_parameters": {"rope_type": "default",
                          "partial_rotary_factor": 1.0})")),
            "m.json: key 'rope_parameters.partial_rotary_factor': expects what "
            "another partial_rotary_factor says, or only one of both, but they "
            "differ");
}

// Embeddings have the padding_idx of the published classes.
TEST(ModelConfig, the_row_of_padding_is_that_of_the_published_class) {
  EXPECT_EQ(read(llama()).paddingToken, std::nullopt);
  EXPECT_EQ(read(llama(R"(, "pad_token_id": 3)")).paddingToken, 3);
  EXPECT_EQ(read(llama(R"(, "pad_token_id": -1)")).paddingToken, 10);
  EXPECT_EQ(read(gemma()).paddingToken, 0);
  EXPECT_EQ(read(gemma(R"(, "pad_token_id": null)")).paddingToken,
            std::nullopt);
  // The default is 32000, which is not in this vocabulary.
  EXPECT_EQ(read(decoder("phi3")).paddingToken, std::nullopt);
  EXPECT_EQ(read(gpt2(R"(, "pad_token_id": 3)")).paddingToken, std::nullopt);
  EXPECT_EQ(errorOf(llama(R"(, "pad_token_id": 11)")),
            "m.json: key 'pad_token_id': expects an integer of at most 10 but "
            "got 11");
}

TEST(ModelConfig, qwen2_is_a_llama_with_biases_of_q_k_and_v) {
  ModelConfig config = read(decoder("qwen2", R"(, "num_key_value_heads": 2,
      "use_sliding_window": false, "sliding_window": 7,
      "max_window_layers": 1, "use_mrope": false)"));
  ModelConfig expected = read(llama(R"(, "num_key_value_heads": 2)"));
  expected.family = "qwen2";
  expected.maxPositions = 32768;
  expected.qkvBias = true;
  EXPECT_EQ(config, expected);
}

TEST(ModelConfig, qwen3_is_a_llama_with_norms_of_heads) {
  ModelConfig config =
      read(decoder("qwen3", R"(, "num_key_value_heads": null)"));
  ModelConfig expected = read(llama(R"(, "head_dim": 128)"));
  expected.family = "qwen3";
  expected.maxPositions = 32768;
  expected.headNorms = HeadNorms::Shared;
  EXPECT_EQ(config, expected);
  EXPECT_TRUE(read(decoder("qwen3", R"(, "num_key_value_heads": 2,
      "attention_bias": true)"))
                  .outputBias);
  // The class has 32 key/value heads if the key is missing.
  EXPECT_EQ(errorOf(decoder("qwen3")),
            "m.json: key 'num_attention_heads': expects a multiple of "
            "num_key_value_heads = 32 but got 4");
}

TEST(ModelConfig, windows_are_of_the_layers_that_files_say) {
  // Mistral: all layers; the class's window without a key, none with a null.
  auto windows = [](const ModelConfig &config) {
    std::string text;
    for (int64_t i = 0; i < 2; ++i)
      text += std::to_string(config.windowOf(i).value_or(0)) + " ";
    return text;
  };
  std::string heads = R"(, "num_key_value_heads": 2)";
  EXPECT_EQ(windows(read(decoder("mistral", heads))), "4096 4096 ");
  EXPECT_EQ(
      windows(read(decoder("mistral", heads + R"(, "sliding_window": 7)"))),
      "7 7 ");
  EXPECT_EQ(
      windows(read(decoder("mistral", heads + R"(, "sliding_window": null)"))),
      "0 0 ");
  EXPECT_EQ(windows(read(decoder("phi3"))), "0 0 ");
  EXPECT_EQ(windows(read(decoder("phi3", R"(, "sliding_window": 7)"))), "7 7 ");
  EXPECT_EQ(windows(read(llama())), "0 0 ");
  // Qwen: from a certain layer on, and only if the file enables it.
  std::string qwen = heads + R"(, "sliding_window": 7, "max_window_layers": )";
  EXPECT_EQ(windows(read(decoder("qwen2", qwen + "1"))), "0 0 ");
  qwen = R"(, "use_sliding_window": true)" + qwen;
  EXPECT_EQ(windows(read(decoder("qwen2", qwen + "0"))), "7 7 ");
  EXPECT_EQ(windows(read(decoder("qwen2", qwen + "1"))), "0 7 ");
  EXPECT_EQ(windows(read(decoder("qwen3", qwen + "2"))), "0 0 ");
  // The types of layers have priority over that.
  EXPECT_EQ(windows(read(decoder(
                "qwen3", qwen + R"(2, "layer_types": ["sliding_attention",
                                               "full_attention"])"))),
            "7 0 ");
  // Gemma: all layers but every sixth, or every n-th.
  EXPECT_EQ(windows(read(gemma())), "4096 4096 ");
  EXPECT_EQ(windows(read(gemma(R"(, "sliding_window_pattern": 2)"))),
            "4096 0 ");
  // Layers beyond the file's list repeat its pattern.
  ModelConfig config = read(gemma(R"(, "sliding_window_pattern": 2)"));
  EXPECT_EQ(config.windowOf(2), 4096);
  EXPECT_EQ(config.windowOf(3), std::nullopt);
}

TEST(ModelConfig, phi3_turns_a_part_of_each_head) {
  ModelConfig config = read(decoder("phi3"));
  EXPECT_EQ(config.rotaryWidth, 0);
  EXPECT_EQ(config.normEps, 1e-5);
  EXPECT_EQ(
      read(decoder("phi3", R"(, "partial_rotary_factor": 0.5)")).rotaryWidth,
      2);
  EXPECT_EQ(read(decoder("phi3", R"(, "rope_parameters": {
      "rope_type": "default", "partial_rotary_factor": 0.5})"))
                .rotaryWidth,
            2);
  EXPECT_EQ(read(decoder("phi3", R"(, "partial_rotary_factor": 1.0)")), config);
}

TEST(ModelConfig, gemma3_defaults_are_those_of_the_published_class) {
  ModelConfig config = read(gemma());
  EXPECT_EQ(config.norm, NormKind::RMSPlusOne);
  EXPECT_EQ(config.activation, Activation::GeluTanh);
  EXPECT_EQ(config.headNorms, HeadNorms::Shared);
  EXPECT_TRUE(config.postNorms && config.scaledEmbeddings);
  EXPECT_TRUE(config.tiedHead);
  EXPECT_EQ(config.attentionScale(), 1.0 / 16);
  EXPECT_EQ(config.rope.theta, 1e6);
  EXPECT_EQ(config.windowRope->theta, 1e4);
  EXPECT_EQ(read(gemma(R"(, "query_pre_attn_scalar": 64)")).attentionScale(),
            1.0 / 8);
}

TEST(ModelConfig, gemma3_has_rotary_embeddings_by_type_of_layer) {
  // The formats of transformers 4 and 5.
  ModelConfig config = read(gemma(R"(, "rope_theta": 5.0,
      "rope_local_base_freq": 3.0,
      "rope_scaling": {"rope_type": "linear", "factor": 8.0})"));
  EXPECT_EQ(config.rope.theta, 5.0);
  EXPECT_EQ(config.rope.scaling->factor, 8.0);
  EXPECT_EQ(config.rope.scaling->originalContext, 0);
  EXPECT_EQ(config.windowRope->theta, 3.0);
  EXPECT_EQ(config.windowRope->scaling, std::nullopt);
  EXPECT_EQ(read(gemma(R"(, "rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8.0,
                         "rope_theta": 5.0},
      "sliding_attention": {"rope_type": "default", "rope_theta": 3.0}})")),
            config);
}

TEST(ModelConfig, activations_have_the_names_of_transformers) {
  std::pair<StringRef, Activation> names[] = {
      {"gelu", Activation::GeluErf},
      {"gelu_new", Activation::GeluTanh},
      {"gelu_fast", Activation::GeluTanh},
      {"quick_gelu", Activation::QuickGelu},
      {"relu", Activation::Relu},
      {"relu2", Activation::Relu2},
      {"swish", Activation::Silu}};
  for (auto [name, activation] : names) {
    EXPECT_EQ(
        read(llama((R"(, "hidden_act": ")" + name + "\"").str())).activation,
        activation);
    EXPECT_EQ(read(gpt2((R"(, "activation_function": ")" + name + "\"").str()))
                  .activation,
              activation);
  }
}

TEST(ModelConfig, yarn_keys_are_read) {
  // The original context is by default the file's.
  YarnScaling yarn = *read(llama(R"(, "max_position_embeddings": 64,
      "rope_scaling": {"rope_type": "yarn", "factor": 4.0})"))
                          .rope.yarn;
  EXPECT_EQ(yarn.originalContext, 64);
  EXPECT_EQ(yarn.betaFast, 32.0);
  EXPECT_TRUE(yarn.truncated);
  EXPECT_DOUBLE_EQ(yarn.rotatedFactor, 0.1 * std::log(4.0) + 1.0);
  // A null factor is the quotient of the contexts.
  ModelConfig config = read(llama(R"(, "max_position_embeddings": 64,
      "rope_scaling": {"type": "yarn", "factor": null, "truncate": false,
      "original_max_position_embeddings": 8, "attention_factor": 2.0,
      "mscale_all_dim": 1.0, "beta_slow": 0.5})"));
  EXPECT_EQ(config.rope.yarn->factor, 8.0);
  EXPECT_EQ(config.rope.yarn->betaSlow, 0.5);
  EXPECT_FALSE(config.rope.yarn->truncated);
  EXPECT_EQ(config.rope.rotatedFactor(), 2.0);
  // Scores have no factor but DeepSeek's.
  EXPECT_EQ(config.attentionScale(), 0.5);
}

TEST(ModelConfig, frequencies_depend_on_the_length_of_sequences) {
  RotaryEmbedding rope = read(llama(R"(, "max_position_embeddings": 64,
      "rope_scaling": {"type": "longrope", "short_factor": [1.0, 2.0],
      "long_factor": [4.0, 8.0], "original_max_position_embeddings": 16})"))
                             .rope;
  EXPECT_EQ(rope.listFrequencies(4, 16), (std::vector<double>{1.0, 0.005}));
  EXPECT_EQ(rope.listFrequencies(4, 17), (std::vector<double>{0.25, 0.00125}));
  EXPECT_DOUBLE_EQ(rope.rotatedFactor(),
                   std::sqrt(1 + std::log(4.0) / std::log(16.0)));
  rope = read(llama(R"(, "max_position_embeddings": 16, "rope_theta": 100.0,
      "rope_scaling": {"type": "dynamic", "factor": 3.0})"))
             .rope;
  EXPECT_EQ(rope.rotatedFactor(), 1.0);
  EXPECT_EQ(rope.listFrequencies(4, 16), (std::vector<double>{1.0, 0.1}));
  // Theta grows by (3 * 32 / 16 - 2)^(4 / 2).
  EXPECT_DOUBLE_EQ(rope.listFrequencies(4, 32)[1], 0.1 / 4);
}

TEST(ModelConfig, phi3_has_the_original_context_at_the_top_level) {
  for (StringRef type : {"longrope", "su", "yarn"}) {
    ModelConfig config = read(decoder(
        "phi3", (R"(, "original_max_position_embeddings": 8, "rope_scaling": {
            "short_factor": [1, 1], "long_factor": [2, 2], "type": ")" +
                 type + "\"}")
                    .str()));
    ASSERT_TRUE(config.rope.longScaling);
    EXPECT_EQ(config.rope.longScaling->originalContext, 8);
  }
}

TEST(ModelConfig, a_price_takes_any_rope) {
  std::string text = llama(R"(, "rope_theta": "?", "rope_scaling": {
      "rope_type": "flux", "waves": 3}, "rope_parameters": [])");
  EXPECT_NE(errorOf(text), "");
  llvm::Expected<ModelConfig> config =
      parseModelConfig(text, "m.json", {}, ConfigUse::Price);
  ASSERT_TRUE(bool(config)) << llvm::toString(config.takeError());
  EXPECT_EQ(*config, read(llama()));
}

TEST(ModelConfig, gemma2_limits_scores_and_logits) {
  std::string sizes = R"(, "num_key_value_heads": 2, "head_dim": 4)";
  ModelConfig config = read(decoder("gemma2", sizes));
  EXPECT_EQ(config.scoreCap, 50.0);
  EXPECT_EQ(config.logitsCap, 30.0);
  EXPECT_EQ(config.windowOf(0), 4096);
  EXPECT_EQ(config.windowOf(1), std::nullopt);
  config = read(decoder("gemma2", sizes + R"(, "attn_logit_softcapping": null,
      "final_logit_softcapping": 5.0)"));
  EXPECT_EQ(config.scoreCap, 0.0);
  EXPECT_EQ(config.logitsCap, 5.0);
  EXPECT_EQ(read(gemma(R"(, "final_logit_softcapping": 5.0)")).logitsCap, 5.0);
}

TEST(ModelConfig, granite_has_factors) {
  ModelConfig config = read(decoder("granite"));
  EXPECT_EQ(config.attentionScale(), 1.0);
  config = read(decoder("granite", R"(, "attention_multiplier": 0.3,
      "embedding_multiplier": 12, "residual_multiplier": 0.5,
      "logits_scaling": 8.0)"));
  EXPECT_EQ(config.attentionScale(), 0.3);
  EXPECT_EQ(config.embeddingFactor, 12.0);
  EXPECT_EQ(config.residualFactor, 0.5);
  EXPECT_EQ(config.logitsFactor, 0.125);
}

TEST(ModelConfig, biases_are_those_of_the_published_classes) {
  auto biases = [](const ModelConfig &config) {
    return std::string(config.qkvBias ? "q" : "") +
           (config.outputBias ? "o" : "") + (config.mlpBias ? "m" : "");
  };
  std::string sizes = R"(, "num_key_value_heads": 2)";
  EXPECT_EQ(biases(read(decoder("glm4", sizes))), "q");
  EXPECT_EQ(
      biases(read(decoder("glm4", sizes + R"(, "attention_bias": true)"))),
      "q");
  EXPECT_EQ(biases(read(decoder("starcoder2", sizes))), "qom");
  EXPECT_EQ(
      biases(read(decoder("starcoder2", sizes + R"(, "use_bias": false)"))),
      "");
  EXPECT_EQ(biases(read(decoder("stablelm", sizes + R"(, "use_qkv_bias": true,
      "partial_rotary_factor": 0.5)"))),
            "q");
  EXPECT_EQ(biases(read(decoder("olmo2", R"(, "attention_bias": true)"))),
            "qo");
}

TEST(ModelConfig, the_name_is_the_files_or_its_folders) {
  EXPECT_EQ(read(gpt2(), "share/models/tiny.json").name, "tiny");
  EXPECT_EQ(read(gpt2(), "hub/my-model/config.json").name, "my-model");
  EXPECT_EQ(read(gpt2(), "config.json").name, "config");
  EXPECT_EQ(read(gpt2(), "./config.json").name, "config");
}

TEST(ModelConfig, an_unknown_family_is_an_error_with_the_nearest_one) {
  StringRef bert = R"({"model_type": "bert"})",
            qwen = R"({"model_type": "qwen"})";
  EXPECT_TRUE(
      StringRef(errorOf(bert)).ends_with("\"deepseek_v3\" but got \"bert\""));
  EXPECT_TRUE(StringRef(errorOf(qwen))
                  .ends_with("but got \"qwen\"; did you mean 'qwen2'?"));
}

TEST(ModelConfig, errors_name_file_key_expected_and_got) {
  struct Case {
    std::string text, error;
  } cases[] = {
      {"[1]", "m.json: expects a JSON object but got [1]"},
      {"{}", "m.json: key 'model_type': expects \"gpt2\", \"llama\", "
             "\"qwen2\", \"qwen3\", \"mistral\", \"phi3\", \"gemma2\", "
             "\"gemma3_text\", \"olmo2\", \"granite\", \"cohere\", "
             "\"stablelm\", \"starcoder2\", \"glm4\", \"mixtral\", "
             "\"qwen3_moe\", \"deepseek_v2\" or \"deepseek_v3\" but got "
             "nothing: it is missing"},
      {gpt2(R"(, "n_embed": 3)"), "m.json: key 'n_embed': unknown key of "
                                  "model_type gpt2; did you mean 'n_embd'?"},
      {decoder("qwen2", R"(, "mlp_bias": false)"),
       "m.json: key 'mlp_bias': unknown key of model_type qwen2; --ignore-key "
       "mlp_bias ignores it"},
      {decoder("qwen2", R"(, "use_mrope": true)"),
       "m.json: key 'use_mrope': expects null, false or nothing (it is not "
       "supported) but got true"},
      {llama(R"(, "flux": 3)"),
       "m.json: key 'flux': unknown key of model_type llama; --ignore-key flux "
       "ignores it"},
      {gpt2(R"(, "a\nb": 3)"), // one line, whatever the key
       "m.json: key 'a\\0Ab': unknown key of model_type gpt2; --ignore-key "
       "a\\0Ab ignores it"},
      {R"({"model_type": "gpt2", "vocab_size": 11})",
       "m.json: key 'n_positions': expects a positive integer but got nothing: "
       "it is missing"},
      {gpt2(R"(, "n_inner": "24")"),
       "m.json: key 'n_inner': expects a positive integer but got \"24\""},
      {gpt2(R"(, "n_inner": 24.5)"),
       "m.json: key 'n_inner': expects a positive integer but got 24.5"},
      {gpt2(R"(, "n_inner": 0)"),
       "m.json: key 'n_inner': expects a positive integer but got 0"},
      {gpt2(R"(, "n_inner": 4294967296)"),
       "m.json: key 'n_inner': expects an integer of at most 2147483647 but "
       "got "
       "4294967296"},
      {gpt2(R"(, "layer_norm_epsilon": -1)"),
       "m.json: key 'layer_norm_epsilon': expects a positive number but got "
       "-1"},
      {gpt2(R"(, "tie_word_embeddings": 1)"),
       "m.json: key 'tie_word_embeddings': expects true or false but got 1"},
      {gpt2(R"(, "activation_function": "mish")"),
       "m.json: key 'activation_function': expects \"gelu\", \"gelu_new\", "
       "\"gelu_fast\", \"gelu_pytorch_tanh\", \"quick_gelu\", \"relu\", "
       "\"relu2\", \"silu\" or \"swish\" but got \"mish\""},
      {gpt2(R"(, "add_cross_attention": true)"),
       "m.json: key 'add_cross_attention': expects null, false or nothing (it "
       "is not supported) but got true"},
      {decoder("mixtral",
               R"(, "hidden_act": "relu", "num_key_value_heads": 4)"),
       "m.json: key 'hidden_act': expects a GELU or \"silu\" for experts but "
       "got "
       "\"relu\""},
      {llama(R"(, "num_key_value_heads": 3)"),
       "m.json: key 'num_attention_heads': expects a multiple of "
       "num_key_value_heads = 3 but got 4"},
      {llama(R"(, "head_dim": 5)"),
       "m.json: key 'head_dim': expects an even number but got 5"},
      {llama(R"(, "rope_scaling": 2.0)"),
       "m.json: key 'rope_scaling': expects an object or null but got 2"},
      {llama(R"(, "rope_scaling": {"type": "linear"})"),
       "m.json: key 'rope_scaling.factor': expects a positive number but got "
       "nothing: it is missing"},
      {decoder("phi3", R"(, "rope_scaling": {"type": "longrope",
                          "long_factor": [1.0], "short_factor": [1.0]})"),
       "m.json: key 'rope_scaling.short_factor': expects a list of 2 positive "
       "numbers but got [1]"},
      {decoder("phi3", R"(, "rope_scaling": {"type": "linear", "factor": 2})"),
       "m.json: key 'rope_scaling.type': expects \"default\", \"longrope\", "
       "\"su\" or \"yarn\" but got \"linear\""},
      {llama(R"(, "rope_scaling": {"type": "dynamic", "factor": 2.0},
                  "head_dim": 2)"),
       "m.json: key 'rope_scaling.rope_type': expects more than 2 rotated "
       "elements of a head for \"dynamic\" but got 2"},
      {llama(R"(, "rope_scaling": {"type": "longrope", "short_factor": [1, -1],
                  "long_factor": [1, 1]})"),
       "m.json: key 'rope_scaling.short_factor': expects a list of 2 positive "
       "numbers but got [1,-1]"},
      {gemma(R"(, "rope_scaling": {"type": "yarn", "factor": 2.0,
                  "truncate": false})"),
       "m.json: key 'rope_scaling.truncate': expects true of rotary embeddings "
       "by layer_types but got false"},
      {decoder("stablelm", R"(, "num_key_value_heads": 4, "head_dim": 4,
                  "partial_rotary_factor": 0.5)"),
       "m.json: key 'head_dim': expects null, false or nothing (it is not "
       "supported) but got 4"},
      {decoder("stablelm", R"(, "num_key_value_heads": 4)"),
       "m.json: key 'partial_rotary_factor': expects at most 1, and an even "
       "number of a head's 4 elements, but got 0.25"},
      {decoder("cohere", R"(, "rms_norm_eps": 1e-6)"),
       "m.json: key 'rms_norm_eps': unknown key of model_type cohere; "
       "--ignore-key rms_norm_eps ignores it"},
      {decoder("phi3", R"(, "partial_rotary_factor": 0.25)"),
       "m.json: key 'partial_rotary_factor': expects at most 1, and an even "
       "number of a head's 4 elements, but got 0.25"},
      {decoder("phi3", R"(, "partial_rotary_factor": 1.5)"),
       "m.json: key 'partial_rotary_factor': expects at most 1, and an even "
       "number of a head's 4 elements, but got 1.5"},
      {decoder("phi3", R"(, "attention_bias": true)"),
       "m.json: key 'attention_bias': expects null, false or nothing (it is "
       "not "
       "supported) but got true"},
      {decoder("mistral", R"(, "num_key_value_heads": 4, "sliding_window": 0)"),
       "m.json: key 'sliding_window': expects a positive integer but got 0"},
      {decoder("mistral", R"(, "quantization_config": {"bits": 4})"),
       "m.json: key 'quantization_config': expects null, false or nothing (it "
       "is not supported) but got {\"bits\":4}"},
      {gemma(R"(, "attn_logit_softcapping": 50.0)"),
       "m.json: key 'attn_logit_softcapping': expects null, false or nothing "
       "(it is not supported) but got 50"},
      {gemma(R"(, "use_bidirectional_attention": true)"),
       "m.json: key 'use_bidirectional_attention': expects null, false or "
       "nothing (it is not supported) but got true"},
      {gemma(R"(, "sliding_window": null)"),
       "m.json: key 'sliding_window': expects a window for layers of "
       "sliding_attention but got none"},
      {gemma(R"(, "layer_types": ["full_attention"])"),
       "m.json: key 'layer_types': expects a list of 2 of \"full_attention\" "
       "or "
       "\"sliding_attention\" but got [\"full_attention\"]"},
      {gemma(R"(, "layer_types": ["full_attention", "chunked_attention"])"),
       "m.json: key 'layer_types': expects a list of 2 of \"full_attention\" "
       "or "
       "\"sliding_attention\" but got "
       "[\"full_attention\",\"chunked_attention\"]"},
      {gemma(R"(, "rope_parameters": {"rope_theta": 1.0})"),
       "m.json: key 'rope_parameters.rope_theta': unknown key of rotary "
       "embeddings by layer_types; --ignore-key rope_parameters.rope_theta "
       "ignores it"},
      {llama(R"(, "rope_scaling": {"rope_type": "llama3", "factor": 2.0})"),
       "m.json: key 'rope_scaling.low_freq_factor': expects a positive number "
       "but got nothing: it is missing"},
      {llama(R"(, "rope_scaling": {"rope_type": "llama3", "beta_fast": 2.0})"),
       "m.json: key 'rope_scaling.beta_fast': unknown key of rotary "
       "embeddings; --ignore-key rope_scaling.beta_fast ignores it"},
      {llama(R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8,
                  "low_freq_factor": 4, "high_freq_factor": 4,
                  "original_max_position_embeddings": 64})"),
       "m.json: key 'rope_scaling.high_freq_factor': expects more than "
       "low_freq_factor = 4 but got 4"},
  };
  for (const Case &c : cases)
    EXPECT_EQ(errorOf(c.text), c.error) << c.text;
}

TEST(ModelConfig, sizes_that_do_not_divide_are_errors) {
  EXPECT_EQ(
      errorOf(R"({"model_type": "gpt2", "vocab_size": 1, "n_positions": 1,
                  "n_embd": 10, "n_layer": 1, "n_head": 3})"),
      "m.json: key 'n_embd': expects a multiple of n_head = 3 but got 10");
  std::string uneven = R"({"model_type": "llama", "vocab_size": 1,
      "hidden_size": 10, "intermediate_size": 1, "num_hidden_layers": 1,
      "num_attention_heads": 3)";
  EXPECT_EQ(errorOf(uneven + "}"),
            "m.json: key 'hidden_size': expects a multiple of "
            "2 num_attention_heads = 6 but got 10");
  // A separate head_dim makes the two independent.
  EXPECT_EQ(errorOf(uneven + R"(, "head_dim": 8})"), "");
}

TEST(ModelConfig, bad_json_is_an_error_with_its_place) {
  std::string error = errorOf("{\"model_type\": \n oops}");
  EXPECT_TRUE(StringRef(error).starts_with("m.json: is not JSON: [2:"))
      << error;
}

TEST(ModelConfig, deep_nesting_is_an_error_and_no_crash) {
  std::string deep = "{\"model_type\": " + std::string(1000000, '[');
  EXPECT_EQ(errorOf(deep),
            "m.json: expects JSON of at most 100 levels but got more");
}

TEST(ModelConfig, absurd_sizes_overflow_nothing) {
  EXPECT_EQ(errorOf(R"({"model_type": "llama", "vocab_size": 2147483647,
                "hidden_size": 2147483647, "intermediate_size": 2147483647,
                "num_hidden_layers": 3, "num_attention_heads": 1,
                "head_dim": 2})"),
            "m.json: expects fewer than 2^63 parameters but got more");
}

TEST(ModelConfig, keys_without_influence_are_accepted) {
  EXPECT_EQ(read(gpt2(R"(, "architectures": ["GPT2LMHeadModel"],
      "torch_dtype": "float32", "transformers_version": "4.0",
      "bos_token_id": 1, "eos_token_id": [1, 2], "attn_pdrop": 0.1,
      "task_specific_params": {"text-generation": {"do_sample": true}},
      "id2label": {"0": "LABEL_0"}, "quantization_config": null,
      "is_encoder_decoder": false, "pruned_heads": {}, "n_ctx": 7)")),
            read(gpt2()));
  EXPECT_EQ(read(llama(R"(, "pretraining_tp": 1, "attention_dropout": 0.0,
      "_name_or_path": "x", "use_cache": true, "pad_token_id": null)")),
            read(llama()));
}

} // namespace
