//===- ParameterSources.cpp - Parameters in files of weights --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names and layouts of the tensors in published weights: one table per
// family. A published weight is a matrix, [out, in] for torch's Linear, [in,
// out] for GPT-2's Conv1D. The parameters here have the input's dimensions
// first, and separate dimensions for heads.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/ModelConfig.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <numeric>

using namespace tessera;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

/// The layout of a file's tensor relative to its parameter.
enum class Layout {
  /// [in, out], or the same dimensions.
  InOut,
  /// [out, in].
  OutIn,
  /// [out, in], where "out" is heads: of each head a row for each parameter.
  HeadsIn,
  /// The same dimensions, of a vector for each head.
  Heads,
};

/// The tensor of a parameter. Several parameters of a block may share one: they
/// are next to each other along "out" or in each head, in the order of
/// listParameters.
struct Row {
  /// The name after "blocks.N.", or the whole name.
  StringRef parameter;
  /// The name after the block's prefix, or the whole name.
  StringRef tensor;
  Layout layout = Layout::InOut;
};

constexpr Row kGPT2[] = {
    {"wte", "transformer.wte.weight"},
    {"wpe", "transformer.wpe.weight"},
    {"ln_f.gamma", "transformer.ln_f.weight"},
    {"ln_f.beta", "transformer.ln_f.bias"},
    {"lm_head", "lm_head.weight"},
    {"ln1.gamma", "ln_1.weight"},
    {"ln1.beta", "ln_1.bias"},
    {"ln2.gamma", "ln_2.weight"},
    {"ln2.beta", "ln_2.bias"},
    {"attn.wq", "attn.c_attn.weight"},
    {"attn.wk", "attn.c_attn.weight"},
    {"attn.wv", "attn.c_attn.weight"},
    {"attn.bq", "attn.c_attn.bias"},
    {"attn.bk", "attn.c_attn.bias"},
    {"attn.bv", "attn.c_attn.bias"},
    {"attn.wo", "attn.c_proj.weight"},
    {"attn.bo", "attn.c_proj.bias"},
    {"mlp.w1", "mlp.c_fc.weight"},
    {"mlp.b1", "mlp.c_fc.bias"},
    {"mlp.w2", "mlp.c_proj.weight"},
    {"mlp.b2", "mlp.c_proj.bias"},
};

/// Llama's tensors, and the ones that its successors add.
constexpr Row kDecoder[] = {
    {"wte", "model.embed_tokens.weight"},
    {"ln_f.gamma", "model.norm.weight"},
    {"lm_head", "lm_head.weight"},
    {"ln1.gamma", "input_layernorm.weight"},
    {"ln2.gamma", "post_attention_layernorm.weight"},
    {"ln_f.beta", "model.norm.bias"},
    {"ln1.beta", "input_layernorm.bias"},
    {"ln2.beta", "post_attention_layernorm.bias"},
    {"attn.wq", "self_attn.q_proj.weight", Layout::OutIn},
    {"attn.wk", "self_attn.k_proj.weight", Layout::OutIn},
    {"attn.wv", "self_attn.v_proj.weight", Layout::OutIn},
    {"attn.wo", "self_attn.o_proj.weight", Layout::OutIn},
    {"attn.bq", "self_attn.q_proj.bias"},
    {"attn.bk", "self_attn.k_proj.bias"},
    {"attn.bv", "self_attn.v_proj.bias"},
    {"attn.bo", "self_attn.o_proj.bias"},
    {"attn.q_norm.gamma", "self_attn.q_norm.weight"},
    {"attn.k_norm.gamma", "self_attn.k_norm.weight"},
    {"mlp.w_gate", "mlp.gate_proj.weight", Layout::OutIn},
    {"mlp.w_up", "mlp.up_proj.weight", Layout::OutIn},
    {"mlp.w_down", "mlp.down_proj.weight", Layout::OutIn},
    {"mlp.b_gate", "mlp.gate_proj.bias"},
    {"mlp.b_up", "mlp.up_proj.bias"},
    {"mlp.b_down", "mlp.down_proj.bias"},
};

/// A file has a tensor for each expert.
constexpr Row kMixtral[] = {
    {"moe.router", "block_sparse_moe.gate.weight", Layout::OutIn},
    {"moe.w_gate", "block_sparse_moe.experts.*.w1.weight", Layout::OutIn},
    {"moe.w_up", "block_sparse_moe.experts.*.w3.weight", Layout::OutIn},
    {"moe.w_down", "block_sparse_moe.experts.*.w2.weight", Layout::OutIn},
};

constexpr Row kQwen3Moe[] = {
    {"moe.router", "mlp.gate.weight", Layout::OutIn},
    {"moe.w_gate", "mlp.experts.*.gate_proj.weight", Layout::OutIn},
    {"moe.w_up", "mlp.experts.*.up_proj.weight", Layout::OutIn},
    {"moe.w_down", "mlp.experts.*.down_proj.weight", Layout::OutIn},
};

constexpr Row kDeepSeek[] = {
    {"attn.wq_a", "self_attn.q_a_proj.weight", Layout::OutIn},
    {"attn.q_a_norm.gamma", "self_attn.q_a_layernorm.weight"},
    {"attn.wq_b", "self_attn.q_b_proj.weight", Layout::OutIn},
    {"attn.wkv_a", "self_attn.kv_a_proj_with_mqa.weight", Layout::OutIn},
    {"attn.kv_a_norm.gamma", "self_attn.kv_a_layernorm.weight"},
    {"attn.wk_rope", "self_attn.kv_a_proj_with_mqa.weight", Layout::OutIn},
    {"attn.wk_b", "self_attn.kv_b_proj.weight", Layout::HeadsIn},
    {"attn.wv_b", "self_attn.kv_b_proj.weight", Layout::HeadsIn},
    {"norm_h.gamma", "hnorm.weight"},
    {"norm_e.gamma", "enorm.weight"},
    {"norm.gamma", "shared_head.norm.weight"},
    {"proj", "eh_proj.weight", Layout::OutIn},
    {"moe.router", "mlp.gate.weight", Layout::OutIn},
    {"moe.bias", "mlp.gate.e_score_correction_bias"},
    {"moe.w_gate", "mlp.experts.*.gate_proj.weight", Layout::OutIn},
    {"moe.w_up", "mlp.experts.*.up_proj.weight", Layout::OutIn},
    {"moe.w_down", "mlp.experts.*.down_proj.weight", Layout::OutIn},
    {"moe.shared.w_gate", "mlp.shared_experts.gate_proj.weight", Layout::OutIn},
    {"moe.shared.w_up", "mlp.shared_experts.up_proj.weight", Layout::OutIn},
    {"moe.shared.w_down", "mlp.shared_experts.down_proj.weight", Layout::OutIn},
};

constexpr Row kPhi3[] = {
    {"attn.wq", "self_attn.qkv_proj.weight", Layout::OutIn},
    {"attn.wk", "self_attn.qkv_proj.weight", Layout::OutIn},
    {"attn.wv", "self_attn.qkv_proj.weight", Layout::OutIn},
    {"mlp.w_gate", "mlp.gate_up_proj.weight", Layout::OutIn},
    {"mlp.w_up", "mlp.gate_up_proj.weight", Layout::OutIn},
};

constexpr Row kGemma[] = {
    {"ln1_post.gamma", "post_attention_layernorm.weight"},
    {"ln2.gamma", "pre_feedforward_layernorm.weight"},
    {"ln2_post.gamma", "post_feedforward_layernorm.weight"},
};

constexpr Row kOlmo2[] = {
    {"ln1_post.gamma", "post_attention_layernorm.weight"},
    {"ln2_post.gamma", "post_feedforward_layernorm.weight"},
};

constexpr Row kCohere[] = {
    {"attn.q_norm.gamma", "self_attn.q_norm.weight", Layout::Heads},
    {"attn.k_norm.gamma", "self_attn.k_norm.weight", Layout::Heads},
};

/// A file has a tensor for each head.
constexpr Row kStableLM[] = {
    {"attn.q_norm.gamma", "self_attn.q_layernorm.norms.*.weight",
     Layout::Heads},
    {"attn.k_norm.gamma", "self_attn.k_layernorm.norms.*.weight",
     Layout::Heads},
};

constexpr Row kStarcoder2[] = {
    {"mlp.w1", "mlp.c_fc.weight", Layout::OutIn},
    {"mlp.b1", "mlp.c_fc.bias"},
    {"mlp.w2", "mlp.c_proj.weight", Layout::OutIn},
    {"mlp.b2", "mlp.c_proj.bias"},
};

constexpr Row kGlm4[] = {
    {"ln1_post.gamma", "post_self_attn_layernorm.weight"},
    {"ln2_post.gamma", "post_mlp_layernorm.weight"},
    {"mlp.w_gate", "mlp.gate_up_proj.weight", Layout::OutIn},
    {"mlp.w_up", "mlp.gate_up_proj.weight", Layout::OutIn},
};

struct Names {
  StringRef family;
  StringRef blocks;
  /// The first row of a parameter counts.
  ArrayRef<Row> own, common;
};

constexpr Names kNames[] = {
    {"gpt2", "transformer.h.", kGPT2, {}},
    {"llama", "model.layers.", {}, kDecoder},
    {"qwen2", "model.layers.", {}, kDecoder},
    {"qwen3", "model.layers.", {}, kDecoder},
    {"mistral", "model.layers.", {}, kDecoder},
    {"phi3", "model.layers.", kPhi3, kDecoder},
    {"gemma2", "model.layers.", kGemma, kDecoder},
    {"gemma3_text", "model.layers.", kGemma, kDecoder},
    {"olmo2", "model.layers.", kOlmo2, kDecoder},
    {"granite", "model.layers.", {}, kDecoder},
    {"cohere", "model.layers.", kCohere, kDecoder},
    {"stablelm", "model.layers.", kStableLM, kDecoder},
    {"starcoder2", "model.layers.", kStarcoder2, kDecoder},
    {"glm4", "model.layers.", kGlm4, kDecoder},
    {"mixtral", "model.layers.", kMixtral, kDecoder},
    {"qwen3_moe", "model.layers.", kQwen3Moe, kDecoder},
    {"deepseek_v2", "model.layers.", kDeepSeek, kDecoder},
    {"deepseek_v3", "model.layers.", kDeepSeek, kDecoder},
};

int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// Returns row-major strides; the last one is `step`.
llvm::SmallVector<int64_t, 4> stridesOf(ArrayRef<int64_t> shape, int64_t step) {
  llvm::SmallVector<int64_t, 4> strides(shape.size());
  for (size_t i = shape.size(); i-- > 0; step *= shape[i])
    strides[i] = step;
  return strides;
}

/// Returns the number of a parameter's dimensions that are a weight's input:
/// the model width, or all other dimensions if the width is last. Returns 0 for
/// a vector, which is added to an output.
size_t countInputs(const Parameter &parameter) {
  bool isVector =
      parameter.shape.size() == 1 || parameter.init != ParameterInit::Normal;
  return isVector                           ? 0
         : parameter.dims.back() == "embed" ? parameter.shape.size() - 1
                                            : 1;
}

class SourceList {
public:
  SourceList(const ModelConfig &config, ArrayRef<Parameter> parameters)
      : names(*llvm::find_if(
            kNames,
            [&](const Names &row) { return row.family == config.family; })),
        parameters(parameters), firstPrediction(config.predictionLayer) {
    assert(&names != std::end(kNames) && "expects names for each family");
  }

  std::vector<ParameterSource> build() {
    std::vector<ParameterSource> sources;
    for (const Parameter &parameter : parameters)
      sources.push_back(place(parameter));
    for (auto [source, parameter] : llvm::zip_equal(sources, parameters))
      shape(source, parameter);
    return sources;
  }

private:
  const Row &rowOf(StringRef name) const {
    for (ArrayRef<Row> rows : {names.own, names.common})
      for (const Row &row : rows)
        if (row.parameter == name)
          return row;
    llvm_unreachable("expects a row for each parameter");
  }
  /// Returns the row of a parameter, and the prefix of its block in files.
  std::pair<const Row *, std::string> find(const Parameter &parameter) const {
    StringRef rest = parameter.name;
    bool isPrediction = rest.consume_front("mtp.");
    if (!isPrediction && !rest.consume_front("blocks."))
      return {&rowOf(rest), ""};
    auto [number, name] = rest.split('.');
    int64_t layer = 0;
    number.getAsInteger(10, layer);
    if (isPrediction) {
      layer += firstPrediction;
      name.consume_front("block.");
    }
    return {&rowOf(name), names.blocks.str() + std::to_string(layer) + "."};
  }
  /// True if a file has a tensor for each index of the first dimension.
  static bool isSpread(const Row &row) { return row.tensor.contains('*'); }
  /// Returns the part of a parameter that is in one tensor.
  Parameter partOf(const Parameter &parameter) const {
    Parameter part = parameter;
    if (!isSpread(*find(parameter).first))
      return part;
    part.shape.erase(part.shape.begin());
    part.dims.erase(part.dims.begin());
    return part;
  }
  static int64_t countOut(const Parameter &parameter) {
    return product(
        ArrayRef(parameter.shape).drop_front(countInputs(parameter)));
  }

  /// Returns the tensor's name, and the number of its outputs before this
  /// parameter's.
  ParameterSource place(const Parameter &parameter) {
    auto [row, prefix] = find(parameter);
    ParameterSource source;
    source.tensor = prefix + row->tensor.str();
    int64_t &out = outs[source.tensor];
    source.offset = out;
    out += countOut(partOf(parameter));
    return source;
  }

  void shape(ParameterSource &source, const Parameter &whole) const {
    Parameter parameter = partOf(whole);
    ArrayRef<int64_t> dims = parameter.shape;
    size_t inputs = countInputs(parameter);
    int64_t in = product(dims.take_front(inputs));
    int64_t out = outs.lookup(source.tensor);
    const Row &row = *find(parameter).first;
    if (inputs == 0) {
      source.shape.assign(1, out);
      if (row.layout == Layout::Heads)
        source.shape.assign(dims.begin(), dims.end());
      source.strides.assign(isSpread(row), 0);
      llvm::append_range(source.strides, stridesOf(dims, 1));
      return;
    }
    bool isOutIn = row.layout != Layout::InOut;
    source.shape = {isOutIn ? out : in, isOutIn ? in : out};
    source.offset *= isOutIn ? in : 1;
    source.strides.assign(isSpread(row), 0);
    llvm::append_range(source.strides,
                       stridesOf(dims.take_front(inputs), isOutIn ? 1 : out));
    auto outputs = stridesOf(dims.drop_front(inputs), isOutIn ? in : 1);
    if (row.layout == Layout::HeadsIn) {
      int64_t heads = dims[inputs];
      outputs.front() = out / heads * in;
      source.offset /= heads;
    }
    llvm::append_range(source.strides, outputs);
  }

  const Names &names;
  ArrayRef<Parameter> parameters;
  /// The layer in files of the first prediction module.
  int64_t firstPrediction;
  /// The number of outputs of each tensor.
  llvm::StringMap<int64_t> outs;
};

} // namespace

std::vector<ParameterSource>
tessera::listSources(const ModelConfig &config,
                     ArrayRef<Parameter> parameters) {
  return SourceList(config, parameters).build();
}
