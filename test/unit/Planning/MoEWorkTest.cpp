//===- MoEWorkTest.cpp - The work of a mixture of experts -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/MoEWork.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace tessera;
using namespace tessera::cost;

namespace {

/// The sizes of Mixtral 8x7B (Jiang et al. 2024).
std::string mixtralText() {
  return R"({"model_type": "mixtral", "vocab_size": 32000, "hidden_size": 4096,
    "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336,
    "num_local_experts": 8, "num_experts_per_tok": 2})";
}

/// The sizes of DeepSeek-V3 (2024, section 4.2).
std::string deepSeekText() {
  return R"({"model_type": "deepseek_v3", "vocab_size": 129280,
    "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432,
    "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 8,
    "topk_group": 4, "first_k_dense_replace": 3, "q_lora_rank": 1536,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "num_nextn_predict_layers": 1})";
}

/// The sizes of Qwen3-30B-A3B (Qwen3 technical report, 2025, table 2).
std::string qwenText() {
  return R"({"model_type": "qwen3_moe", "vocab_size": 151936,
    "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144,
    "moe_intermediate_size": 768, "num_experts": 128,
    "num_experts_per_tok": 8, "decoder_sparse_step": 1,
    "mlp_only_layers": []})";
}

MoEConfig parse(const std::string &text) {
  return llvm::cantFail(makeMoEConfig(llvm::cantFail(
      parseModelConfig(text, "model.json", {}, ConfigUse::Price))));
}

cost::ExecutedPlan plan(int64_t dp, int64_t ep, int64_t tp = 1) {
  cost::ExecutedPlan l;
  l.precision = Precision::BF16;
  l.dp = dp;
  l.ep = ep;
  l.tp = tp;
  llvm::cantFail(l.setGlobalBatch(dp));
  l.seq = 4096;
  return l;
}

/// The block with experts.
const LayerWork &block(const ModelWork &work) {
  size_t longest = 0;
  for (size_t i = 0; i < work.layers.size(); ++i)
    if (work.layers[i].count > work.layers[longest].count)
      longest = i;
  return work.kinds[work.layers[longest].kind];
}

double flops(const LayerWork &layer, Pass pass) {
  double sum = 0;
  for (const OpWork &op : layer.ops)
    if (op.pass == pass && op.kind == OpClass::Matmul)
      sum += op.flops;
  return sum;
}

double parameters(const ModelWork &work) {
  double sum = 0;
  for (const ModelWork::Run &run : work.layers)
    sum += run.count * work.kinds[run.kind].parameterElements();
  return sum;
}

TEST(MoEConfig, published_numbers_of_parameters) {
  MoEConfig mixtral = parse(mixtralText());
  EXPECT_NEAR(mixtral.parameters() / 1e9, 46.70, 0.01);
  EXPECT_NEAR(mixtral.activeParameters() / 1e9, 12.88, 0.01);
  MoEConfig deepSeek = parse(deepSeekText());
  EXPECT_NEAR(deepSeek.parameters() / 1e9, 671.0, 0.1);
  EXPECT_NEAR(deepSeek.activeParameters() / 1e9, 37, 1);
  MoEConfig qwen = parse(qwenText());
  EXPECT_NEAR(qwen.parameters() / 1e9, 30.53, 0.01);
  EXPECT_NEAR(qwen.activeParameters() / 1e9, 3.35, 0.01);
}

TEST(MoEConfig, first_layers_may_be_dense) {
  std::string text = qwenText();
  text.replace(text.find("[]"), 2, "[1, 0]");
  EXPECT_EQ(parse(text).denseLayers, 2);
  EXPECT_EQ(parse(qwenText()).denseLayers, 0);
}

TEST(MoEConfig, weights_may_have_8_bits) {
  std::string text = deepSeekText();
  text.insert(1, R"("quantization_config": {"quant_method": "fp8"}, )");
  EXPECT_EQ(parse(text).parameters(), parse(deepSeekText()).parameters());
}

TEST(MoEConfig, groups_of_a_choice_that_ignores_them_are_none) {
  std::string text = R"({"model_type": "deepseek_v2", "vocab_size": 102400,
    "hidden_size": 2048, "num_hidden_layers": 27, "num_attention_heads": 16,
    "intermediate_size": 10944, "num_experts_per_tok": 6, "n_group": 1,
    "topk_group": 1, "topk_method": "greedy"})";
  EXPECT_EQ(parse(text).groupsPerToken, 0);
  EXPECT_EQ(parse(deepSeekText()).groupsPerToken, 4);
}

TEST(MoEConfig, errors) {
  auto qwenError = [](const std::string &from, const std::string &to) {
    std::string text = qwenText();
    text.replace(text.find(from), from.size(), to);
    auto config =
        makeMoEConfig(llvm::cantFail(parseModelConfig(text, "model.json")));
    return config ? "" : llvm::toString(config.takeError());
  };
  EXPECT_EQ(
      qwenError(R"("decoder_sparse_step": 1)", R"("decoder_sparse_step": 2)"),
      "expects a plan's model to have experts in each layer from layer 1, its "
      "first with experts, but got none in layer 2");
  EXPECT_EQ(qwenError("[]", "[3, 7]"),
            "expects a plan's model to have experts in each layer from layer "
            "0, its first with experts, but got none in layer 3");
  EXPECT_EQ(
      qwenError(R"("decoder_sparse_step": 1)", R"("decoder_sparse_step": 99)"),
      "expects fewer than 48 layers without experts but got 48");
}

/// No parameter is lost: with the experts over 8 ranks there are 8 times
/// theirs.
TEST(MoEWork, parameters_are_all_there) {
  MoEConfig mixtral = parse(mixtralText());
  EXPECT_EQ(parameters(makeMoEWork(mixtral, plan(1, 1))), mixtral.parameters());
  double experts = 32.0 * 8 * mixtral.expertParameters();
  EXPECT_EQ(parameters(makeMoEWork(mixtral, plan(8, 8))) + experts * 7 / 8,
            mixtral.parameters());
  MoEConfig deepSeek = parse(deepSeekText());
  deepSeek.extraHeads = 0;
  EXPECT_EQ(parameters(makeMoEWork(deepSeek, plan(1, 1))),
            deepSeek.parameters());
  MoEConfig qwen = parse(qwenText());
  EXPECT_EQ(parameters(makeMoEWork(qwen, plan(1, 1))), qwen.parameters());
}

/// The tokens of all local experts are cast, and so are the gradients of their
/// results.
TEST(MoEWork, casts_of_experts_are_of_all_of_them) {
  cost::ExecutedPlan l = plan(8, 8);
  l.precision = Precision::FP8Current;
  ModelWork work = makeMoEWork(parse(qwenText()), l);
  // 4096 tokens, each at 8 experts, over 8 devices.
  double slots = 4096.0 * 8;
  std::vector<double> forward, backward;
  const std::vector<OpWork> &ops = block(work).ops;
  for (size_t i = 0; i + 1 < ops.size(); ++i)
    if (ops[i].name == "cast" && ops[i + 1].name == "experts")
      (ops[i].pass == Pass::Forward ? forward : backward)
          .push_back(ops[i].bytesWritten);
  // Two 8-bit copies: of inputs and inner results; of the gradients of results,
  // and of gate and up.
  EXPECT_EQ(forward, (std::vector<double>{2 * slots * 2048, 2 * slots * 768}));
  EXPECT_EQ(backward,
            (std::vector<double>{2 * slots * 2048, 2 * slots * 2 * 768}));
}

TEST(MoEWork, experts_are_shared_by_fewer_ranks) {
  ModelWork work = makeMoEWork(parse(mixtralText()), plan(32, 8));
  bool found = false;
  for (const ParameterWork &p : block(work).parameters) {
    EXPECT_EQ(p.expertRanks, p.name == "experts" ? 8 : 1) << p.name;
    found |= p.name == "experts";
  }
  EXPECT_TRUE(found);
}

/// Under ZeRO-3 each layer gathers its parameters for both passes and scatters
/// their gradients; experts do so over the devices that share them.
TEST(MoEWork, zero_3_gathers_parameters) {
  for (const std::string &text : {mixtralText(), deepSeekText()}) {
    cost::ExecutedPlan l = plan(32, 8);
    ModelWork before = makeMoEWork(parse(text), l);
    l.zero = 3;
    ModelWork work = makeMoEWork(parse(text), l);
    for (auto [layer, plain] : llvm::zip_equal(work.kinds, before.kinds)) {
      double gathered = 0, scattered = 0, experts = 0;
      for (const CommWork &comm : layer.comms) {
        if (!comm.parameter)
          continue;
        EXPECT_TRUE(comm.overlappable);
        EXPECT_EQ(comm.ranks, comm.axes.front() == PlanAxis::EDP ? 4 : 32);
        (comm.kind == CollectiveKind::AllGather ? gathered : scattered) +=
            comm.bytes;
        if (comm.axes.front() == PlanAxis::EDP)
          experts += comm.bytes;
      }
      double bytes = 2 * layer.parameterElements(), expertBytes = 0;
      for (const ParameterWork &p : layer.parameters)
        expertBytes += p.expertRanks > 1 ? 2 * p.elements : 0;
      EXPECT_EQ(gathered, 2 * bytes) << layer.name;
      // Gradients are reduced in f32.
      EXPECT_EQ(scattered, 2 * bytes) << layer.name;
      EXPECT_EQ(experts, 4 * expertBytes) << layer.name;
      EXPECT_EQ(layer.ops.size(), plain.ops.size());
    }
  }
}

/// Matmuls of a token: 2 FLOPs for each parameter that it uses.
TEST(MoEWork, matmuls_are_those_of_active_parameters) {
  for (const std::string &text : {mixtralText(), deepSeekText()}) {
    MoEConfig config = parse(text);
    for (int64_t ep : {1, 8}) {
      ModelWork work = makeMoEWork(config, plan(8, ep));
      double used = config.sparseBlockParameters() +
                    config.expertsPerToken * config.expertParameters();
      EXPECT_NEAR(flops(block(work), Pass::Forward) / (2 * 4096 * used), 1,
                  1e-3);
      EXPECT_NEAR(flops(block(work), Pass::BackwardInput) +
                      flops(block(work), Pass::BackwardWeight),
                  2 * flops(block(work), Pass::Forward), 1);
    }
  }
}

TEST(MoEWork, tokens_are_exchanged_over_ep) {
  MoEConfig mixtral = parse(mixtralText());
  EXPECT_TRUE(block(makeMoEWork(mixtral, plan(8, 1))).comms.empty());
  ModelWork work = makeMoEWork(mixtral, plan(8, 8));
  std::vector<std::string> names;
  for (const CommWork &comm : block(work).comms) {
    EXPECT_EQ(comm.kind, CollectiveKind::AllToAll);
    EXPECT_EQ(comm.axes, (std::vector<PlanAxis>{PlanAxis::EP}));
    EXPECT_EQ(comm.bytes, 4096.0 * 2 * (comm.name == "weights" ? 4 : 4096 * 2));
    names.push_back(comm.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"dispatch", "weights", "combine",
                                      "combine", "weights", "dispatch"}));
  // Tokens go to at most four nodes, in 8 bits there and in 16 bits back.
  cost::ExecutedPlan l = plan(64, 64);
  l.precision = Precision::FP8;
  work = makeMoEWork(parse(deepSeekText()), l);
  EXPECT_EQ(block(work).comms[0].bytes, 4096.0 * 4 * 7168);
  EXPECT_EQ(block(work).comms[1].bytes, 4096.0 * 4 * 7168 * 2);
}

TEST(MoEWork, tokens_go_once_to_each_device) {
  cost::ExecutedPlan l = plan(8, 8);
  l.dispatchOnce = l.overlapExperts = true;
  ModelWork work = makeMoEWork(parse(mixtralText()), l);
  EXPECT_EQ(block(work).comms.size(), 4u);
  for (const CommWork &comm : block(work).comms) {
    EXPECT_EQ(comm.bytes, 4096.0 * 4096 * 2);
    EXPECT_EQ(comm.copies, 2);
    EXPECT_TRUE(comm.overlappable);
  }
  // Groups of experts limit it further.
  l = plan(64, 64);
  l.dispatchOnce = true;
  work = makeMoEWork(parse(deepSeekText()), l);
  for (const CommWork &comm : block(work).comms)
    EXPECT_EQ(comm.copies, 0);
}

TEST(MoEWork, experts_apart_are_kernels_of_their_own) {
  cost::ExecutedPlan l = plan(8, 4);
  l.precision = Precision::MXFP8;
  MoEConfig mixtral = parse(mixtralText());
  auto kernels = [&](const char *name, const MoEOptions &options = {}) {
    int64_t count = 0;
    ModelWork work = makeMoEWork(mixtral, l, options);
    for (const OpWork &op : block(work).ops)
      if (op.name == name)
        count += op.kernels;
    return count;
  };
  // Two matmuls and their gradients. The operands and gradients of four matmuls
  // are cast; two of these matmuls are the experts'.
  EXPECT_EQ(kernels("experts"), 6);
  int64_t casts = kernels("cast");
  l.expertsApart = true;
  EXPECT_EQ(kernels("experts"), 2 * 6);
  EXPECT_EQ(kernels("cast"), casts + 4);
  // The host waits for the numbers of tokens, except if slots are fixed.
  EXPECT_TRUE(block(makeMoEWork(mixtral, l)).hostWaits);
  EXPECT_FALSE(block(makeMoEWork(mixtral, l, {1.25, 1})).hostWaits);
  l.expertsApart = false;
  EXPECT_FALSE(block(makeMoEWork(mixtral, l)).hostWaits);
}

TEST(MoEWork, graphs_leave_the_host_what_is_after_the_router) {
  cost::ExecutedPlan l = plan(8, 4);
  l.precision = Precision::MXFP8;
  l.expertsApart = true;
  MoEConfig mixtral = parse(mixtralText());
  auto listIssued = [&](GraphScope graphs) {
    MoEOptions options;
    options.graphs = graphs;
    std::vector<std::string> names;
    ModelWork work = makeMoEWork(mixtral, l, options);
    for (const OpWork &op : block(work).ops)
      if (op.pass == Pass::Forward && !op.isGraphed && op.name != "cast")
        names.push_back(op.name);
    return names;
  };
  std::vector<std::string> rest = {"mlp norm",  "permute", "sort",    "pad",
                                   "experts",   "silu",    "experts", "unpad",
                                   "sort back", "combine", "residual"};
  EXPECT_EQ(listIssued(GraphScope::Attention), rest);
  // Attention has six kernels, the router two.
  EXPECT_EQ(listIssued(GraphScope::Router).size(), rest.size() + 6);
  EXPECT_EQ(listIssued(GraphScope::None).size(), rest.size() + 8);
  // The backward launches the gradients of the same ops.
  MoEOptions options;
  options.graphs = GraphScope::Router;
  for (const OpWork &op : block(makeMoEWork(mixtral, l, options)).ops)
    if (op.name == "router" || op.name == "experts")
      EXPECT_EQ(op.isGraphed, op.name == "router");
  EXPECT_EQ(parseGraphScope("router"), GraphScope::Router);
  EXPECT_EQ(parseGraphScope("mlp"), std::nullopt);
}

TEST(MoEWork, a_plain_all_to_all_sorts_what_it_brings) {
  cost::ExecutedPlan l = plan(8, 4);
  auto count = [&](const char *name) {
    ModelWork work = makeMoEWork(parse(mixtralText()), l);
    return llvm::count_if(block(work).ops, [&](const OpWork &op) {
      return llvm::StringRef(op.name).starts_with(name);
    });
  };
  // In both directions, each with its gradient.
  EXPECT_EQ(count("sort"), 4);
  // A single expert on a device needs no sort.
  l.ep = 8;
  EXPECT_EQ(count("sort"), 0);
  l.ep = 4;
  l.dispatchOnce = true;
  EXPECT_EQ(count("sort"), 0);
}

TEST(MoEWork, rows_of_experts_are_padded_by_copies_below_16_bits) {
  cost::ExecutedPlan l = plan(8, 4);
  l.precision = Precision::MXFP8;
  l.expertsApart = true;
  auto copied = [&](const MoEOptions &options = {}) {
    double bytes = 0;
    ModelWork work = makeMoEWork(parse(mixtralText()), l, options);
    for (const OpWork &op : block(work).ops)
      if (op.name == "pad" || op.name == "unpad")
        bytes += op.bytesRead + op.bytesWritten;
    return bytes;
  };
  // In both directions, each with its gradient: two experts for each token.
  EXPECT_EQ(copied(), 4 * 2 * 4096.0 * 2 * 4096 * 2);
  // Fixed slots are whole blocks.
  EXPECT_EQ(copied({1, 1}), 0);
  // A dispatch that sends tokens once pads them itself, or leaves that to a
  // copy.
  l.dispatchOnce = true;
  EXPECT_EQ(copied(), 0);
  MoEOptions apart;
  apart.padsApart = true;
  EXPECT_EQ(copied(apart), 4 * 2 * 4096.0 * 2 * 4096 * 2);
  l.precision = Precision::BF16;
  EXPECT_EQ(copied(apart), 0);
}

TEST(MoEWork, a_schedule_that_interleaves_passes_issues_each_part) {
  cost::ExecutedPlan l = plan(8, 4);
  l.expertsApart = true;
  auto calls = [&](Pass pass, const MoEOptions &options = {}) {
    ModelWork work = makeMoEWork(parse(mixtralText()), l, options);
    return llvm::count_if(block(work).ops, [&](const OpWork &op) {
      return op.name == "part" && op.pass == pass && op.isBatched &&
             op.kernels == 0;
    });
  };
  EXPECT_EQ(calls(Pass::Forward), 0);
  l.overlapExperts = true;
  EXPECT_EQ(calls(Pass::Forward), 4);
  EXPECT_EQ(calls(Pass::BackwardInput), 4);
  // Fixed slots let the host run ahead.
  EXPECT_EQ(calls(Pass::Forward, {1.25, 1}), 0);
}

TEST(MoEWork, a_pass_that_runs_beside_waits_with_the_other) {
  cost::ExecutedPlan l = plan(8, 4);
  l.expertsApart = true;
  EXPECT_FALSE(block(makeMoEWork(parse(mixtralText()), l)).backwardWaits);
  l.overlapExperts = true;
  EXPECT_TRUE(block(makeMoEWork(parse(mixtralText()), l)).backwardWaits);
  // The host waits for nothing if slots are fixed.
  EXPECT_FALSE(
      block(makeMoEWork(parse(mixtralText()), l, {1.25, 1})).backwardWaits);
}

TEST(MoEWork, capacity_and_imbalance_scale_the_experts) {
  MoEConfig mixtral = parse(mixtralText());
  auto expertFlops = [&](MoEOptions options) {
    double sum = 0;
    ModelWork work = makeMoEWork(mixtral, plan(8, 8), options);
    for (const OpWork &op : block(work).ops)
      if (op.name == "experts" && op.pass == Pass::Forward)
        sum += op.flops;
    return sum;
  };
  double even = expertFlops({});
  EXPECT_EQ(even, 2 * 4096.0 * 2 * mixtral.expertParameters());
  EXPECT_EQ(expertFlops({1.25, 1}), 1.25 * even);
  EXPECT_EQ(expertFlops({0, 1.5}), 1.5 * even);
  // Fixed slots do not depend on the distribution of tokens.
  EXPECT_EQ(expertFlops({1.25, 1.5}), 1.25 * even);
}

TEST(MoEWork, tensor_parallelism_cuts_heads_and_columns) {
  MoEConfig mixtral = parse(mixtralText());
  cost::ExecutedPlan l = plan(1, 1, 4);
  l.sp = true;
  ModelWork one = makeMoEWork(mixtral, plan(1, 1)),
            four = makeMoEWork(mixtral, l);
  double router = 2 * 4096.0 * 4096 * 8;
  EXPECT_NEAR(flops(block(one), Pass::Forward) - router,
              4 * (flops(block(four), Pass::Forward) - router), 1);
  EXPECT_EQ(block(four).outputBytes, block(one).outputBytes / 4);
}

TEST(MoEWork, recomputation_and_8_bits_save_memory) {
  MoEConfig deepSeek = parse(deepSeekText());
  cost::ExecutedPlan l = plan(64, 64);
  auto kept = [&] {
    ModelWork work = makeMoEWork(deepSeek, l);
    double sum = 0;
    for (const SavedTensor &tensor : block(work).saved)
      if (l.recompute == Recompute::None || !tensor.attentionCore)
        sum += tensor.bytes;
    return sum;
  };
  double whole = kept();
  l.precision = Precision::FP8;
  double narrow = kept();
  l.recompute = Recompute::Selective;
  double least = kept();
  EXPECT_LT(narrow, 0.85 * whole);
  EXPECT_LT(least, 0.6 * narrow);
  ModelWork work = makeMoEWork(deepSeek, l);
  EXPECT_GT(flops(block(work), Pass::Recompute), 0);
  EXPECT_LT(flops(block(work), Pass::Recompute),
            0.2 * flops(block(work), Pass::Forward));
}

// Experts over tp, too: with sp a device sends the tokens that it has to all
// devices; without it tokens of its own experts to those of dp. Each device
// has whole experts, fewer of them, and as much work.
TEST(MoEWork, experts_over_tp) {
  MoEConfig mixtral = parse(mixtralText());
  auto bytes = [](const LayerWork &layer, PlanAxis axis, CollectiveKind kind) {
    double sum = 0;
    for (const CommWork &comm : layer.comms)
      if (comm.isOver(axis) && comm.kind == kind && comm.pass == Pass::Forward)
        sum += comm.bytes;
    return sum;
  };
  cost::ExecutedPlan split = plan(4, 4, 2), whole = plan(4, 8, 2);
  split.sp = whole.sp = true;
  whole.etp = false;
  EXPECT_EQ(whole.expertRanks(), 4);
  LayerWork ofSplit = block(makeMoEWork(mixtral, split)),
            ofWhole = block(makeMoEWork(mixtral, whole));
  constexpr CollectiveKind all = CollectiveKind::AllToAll,
                           gather = CollectiveKind::AllGather,
                           reduce = CollectiveKind::AllReduce;
  EXPECT_EQ(bytes(ofWhole, PlanAxis::EP, all),
            bytes(ofSplit, PlanAxis::EP, all) / 2);
  EXPECT_EQ(bytes(ofWhole, PlanAxis::TP, gather),
            bytes(ofSplit, PlanAxis::TP, gather) / 2);
  for (const CommWork &comm : ofWhole.comms)
    if (comm.kind == all)
      EXPECT_EQ(comm.ranks, 8);
  double router = 2 * 4096.0 * 4096 * 8;
  EXPECT_NEAR(flops(ofSplit, Pass::Forward) - router,
              flops(ofWhole, Pass::Forward) - router / 2, 1e-6 * router);
  auto experts = [](const LayerWork &layer) {
    for (const ParameterWork &parameter : layer.parameters)
      if (parameter.name == "experts")
        return parameter;
    return ParameterWork();
  };
  EXPECT_EQ(experts(ofWhole).elements, experts(ofSplit).elements);
  EXPECT_EQ(experts(ofWhole).expertRanks, 4);
  // Sums over tp remain without sp.
  split.sp = whole.sp = false;
  ofSplit = block(makeMoEWork(mixtral, split));
  ofWhole = block(makeMoEWork(mixtral, whole));
  EXPECT_EQ(bytes(ofWhole, PlanAxis::EP, all),
            bytes(ofSplit, PlanAxis::EP, all) / 2);
  EXPECT_EQ(bytes(ofWhole, PlanAxis::TP, reduce),
            bytes(ofSplit, PlanAxis::TP, reduce));
  // Experts over all of tp alone exchange nothing.
  whole = plan(1, 2, 2);
  whole.etp = false;
  ofWhole = block(makeMoEWork(mixtral, whole));
  EXPECT_EQ(bytes(ofWhole, PlanAxis::EP, all), 0);
}

// Latents, 512 + 64 numbers of a token, are gathered in place of 128 heads, and
// keys and values of all ranks are computed on each.
TEST(MoEWork, latents_are_gathered_in_place_of_keys) {
  MoEConfig deepSeek = parse(deepSeekText());
  cost::ExecutedPlan l = plan(1, 1);
  l.cp = 4;
  auto bytes = [](const LayerWork &layer, CollectiveKind kind, Pass pass) {
    double sum = 0;
    for (const CommWork &comm : layer.comms)
      if (comm.isOver(PlanAxis::CP) && comm.kind == kind && comm.pass == pass)
        sum += comm.bytes;
    return sum;
  };
  auto gathered = [&](const LayerWork &layer) {
    return bytes(layer, CollectiveKind::AllGather, Pass::Forward);
  };
  auto scattered = [&](const LayerWork &layer) {
    return bytes(layer, CollectiveKind::ReduceScatter, Pass::BackwardInput);
  };
  LayerWork keys = block(makeMoEWork(deepSeek, l));
  l.cpMethod.kind = ContextMethod::Latent;
  LayerWork latents = block(makeMoEWork(deepSeek, l));
  double tokens = 4096;
  EXPECT_EQ(gathered(keys), 2 * tokens * 128 * 320);
  EXPECT_EQ(gathered(latents), 2 * tokens * 576);
  EXPECT_EQ(scattered(latents), 2 * tokens * 576);
  double up = 2 * tokens / 4 * 512 * 128 * 256;
  EXPECT_NEAR(flops(latents, Pass::Forward) - flops(keys, Pass::Forward),
              3 * up, 1);
  // In 8 bits gradients of keys and values are scattered.
  l.precision = Precision::FP8;
  latents = block(makeMoEWork(deepSeek, l));
  EXPECT_EQ(gathered(latents), 2 * tokens * 576);
  EXPECT_EQ(scattered(latents), 2 * tokens * 128 * 320);
  EXPECT_EQ(llvm::toString(checkMoELayout(deepSeek, l)), "");
  EXPECT_EQ(llvm::toString(checkMoELayout(parse(mixtralText()), l)),
            "cp-method: expects a model whose keys and values are computed "
            "from latents but got latent for one without");
}

TEST(MoEWork, layout_errors) {
  MoEConfig deepSeek = parse(deepSeekText());
  cost::ExecutedPlan l = plan(96, 96);
  EXPECT_EQ(llvm::toString(checkMoELayout(deepSeek, l)),
            "ep: expects a divisor of the 256 experts but got 96");
  l = plan(64, 64);
  EXPECT_EQ(llvm::toString(checkMoELayout(deepSeek, l)), "");
  // Options that need the ops of a graph.
  l.recompute = Recompute::Matmuls;
  l.eager = l.keepGathered = true;
  EXPECT_EQ(llvm::toString(checkMoELayout(deepSeek, l)),
            "recompute: matmuls: expects a model without experts\n"
            "eager: expects a model without experts\n"
            "keep-gathered: expects a model without experts");
}

/// 37e9 active parameters. The technical report's 180 thousand hours for 1e12
/// tokens give 340 model TFLOP/s per device.
TEST(MoEWork, model_flops) {
  MoEConfig deepSeek = parse(deepSeekText());
  double flops = deepSeek.modelFlopsPerToken(4096);
  double norms = 61 * (2 * 7168 + 1536 + 512) + 7168;
  EXPECT_NEAR(flops / 1e9,
              6 * (deepSeek.activeParameters() - 129280.0 * 7168 - norms) /
                      1e9 +
                  6.0 * 61 * 128 * (192 + 128) * 4096 / 1e9,
              1e-6);
  EXPECT_NEAR(6 * deepSeek.activeParameters() * 1e12 / (180e3 * 3600) / 1e12,
              345, 10);
}

} // namespace
