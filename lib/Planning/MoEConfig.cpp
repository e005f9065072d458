//===- MoEConfig.cpp - Reads the config of a mixture of experts -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads only the fields that a price depends on. ModelConfig.h is strict about
// every key because a graph depends on them.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/MoEWork.h"
#include "tessera/Support/Json.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace tessera;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

/// Reads integers and remembers the first error.
class Fields {
public:
  Fields(const json::Object &object, StringRef file)
      : object(object), file(file) {}

  int64_t need(StringRef key) { return read(key, std::nullopt); }
  int64_t get(StringRef key, int64_t byDefault) { return read(key, byDefault); }
  bool flag(StringRef key, bool byDefault) {
    return object.getBoolean(key).value_or(byDefault);
  }
  void expect(bool holds, const llvm::Twine &what) {
    if (!holds && error.empty())
      error = (file + ": expects " + what).str();
  }

  std::string error;

private:
  int64_t read(StringRef key, std::optional<int64_t> byDefault) {
    const json::Value *value = object.get(key);
    if (!value || value->getAsNull()) {
      expect(byDefault.has_value(), "a key '" + key + "'");
      return byDefault.value_or(1);
    }
    std::optional<int64_t> number = value->getAsInteger();
    if (!number || *number < 0 || *number > INT32_MAX) {
      expect(false, key + " to be an integer from 0 to 2147483647 but got " +
                        llvm::formatv("{0}", *value).str());
      return 1;
    }
    return *number;
  }

  const json::Object &object;
  StringRef file;
};

} // namespace

static void readSizes(Fields &fields, MoEConfig &config) {
  config.vocab = fields.need("vocab_size");
  config.hidden = fields.need("hidden_size");
  config.layers = fields.need("num_hidden_layers");
  config.heads = fields.need("num_attention_heads");
  config.kvHeads = fields.get("num_key_value_heads", config.heads);
  config.denseFfn = fields.need("intermediate_size");
  config.maxPositions = fields.get("max_position_embeddings", 4096);
  for (auto [name, size] : {std::pair("vocab_size", config.vocab),
                            std::pair("hidden_size", config.hidden),
                            std::pair("num_hidden_layers", config.layers),
                            std::pair("num_attention_heads", config.heads),
                            std::pair("intermediate_size", config.denseFfn)})
    fields.expect(size >= 1, llvm::Twine(name) + " of at least 1 but got 0");
}

static void readMixtral(Fields &fields, MoEConfig &config) {
  config.headDim = fields.get("head_dim", config.hidden / config.heads);
  config.experts = fields.need("num_local_experts");
  config.expertsPerToken = fields.need("num_experts_per_tok");
  config.expertFfn = config.denseFfn;
}

/// The first layers may be dense, all others have experts; heads of queries and
/// keys are normalized.
static void readQwen(const json::Object &object, Fields &fields,
                     MoEConfig &config) {
  config.headDim = fields.get("head_dim", 128);
  config.headNorms = true;
  config.experts = fields.need("num_experts");
  config.expertsPerToken = fields.need("num_experts_per_tok");
  config.expertFfn = fields.need("moe_intermediate_size");
  int64_t step = fields.get("decoder_sparse_step", 1);
  fields.expect(step == 1,
                llvm::formatv("decoder_sparse_step 1 but got {0}", step));
  const json::Array *given = object.getArray("mlp_only_layers");
  std::set<int64_t> dense;
  for (const json::Value &layer : given ? *given : json::Array())
    dense.insert(layer.getAsInteger().value_or(-1));
  config.denseLayers = static_cast<int64_t>(dense.size());
  bool isFirst = dense.empty() || (*dense.begin() == 0 &&
                                   *dense.rbegin() == config.denseLayers - 1);
  fields.expect(isFirst,
                llvm::formatv("the first layers alone in mlp_only_layers but "
                              "got {0:$[, ]}",
                              llvm::make_range(dense.begin(), dense.end())));
}

static void readDeepSeek(Fields &fields, MoEConfig &config) {
  config.queryRank = fields.get("q_lora_rank", 0);
  config.kvRank = fields.need("kv_lora_rank");
  config.nopeDim = fields.need("qk_nope_head_dim");
  config.ropeDim = fields.need("qk_rope_head_dim");
  config.valueDim = fields.need("v_head_dim");
  config.experts = fields.need("n_routed_experts");
  config.expertsPerToken = fields.need("num_experts_per_tok");
  config.expertFfn = fields.need("moe_intermediate_size");
  config.sharedFfn = config.expertFfn * fields.get("n_shared_experts", 0);
  config.denseLayers = fields.get("first_k_dense_replace", 0);
  config.groups = fields.get("n_group", 0);
  config.groupsPerToken = fields.get("topk_group", 0);
  config.extraHeads = fields.get("num_nextn_predict_layers", 0);
}

bool tessera::isMoEConfig(StringRef text) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const json::Object *object = value->getAsObject();
  StringRef type =
      object ? object->getString("model_type").value_or("") : StringRef();
  return type == "mixtral" || type == "qwen3_moe" || type == "deepseek_v2" ||
         type == "deepseek_v3";
}

llvm::Expected<MoEConfig> tessera::parseMoEConfig(StringRef text,
                                                  StringRef fileName) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return llvm::createStringError(fileName + ": " +
                                   llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError(fileName + ": expects a JSON object");
  Fields fields(*object, fileName);
  MoEConfig config;
  config.name = llvm::sys::path::stem(fileName).str();
  readSizes(fields, config);
  if (fields.error.empty()) {
    StringRef type = object->getString("model_type").value_or("");
    if (type == "mixtral")
      readMixtral(fields, config);
    else if (type == "qwen3_moe")
      readQwen(*object, fields, config);
    else
      readDeepSeek(fields, config);
  }
  config.tiedHead = fields.flag("tie_word_embeddings", false);
  fields.expect(config.experts >= 1 &&
                    config.expertsPerToken <= config.experts &&
                    config.expertsPerToken >= 1,
                llvm::formatv("from 1 to {0} experts per token but got {1}",
                              config.experts, config.expertsPerToken));
  fields.expect(config.denseLayers < config.layers,
                llvm::formatv("fewer than {0} dense layers but got {1}",
                              config.layers, config.denseLayers));
  if (!fields.error.empty())
    return llvm::createStringError(fields.error);
  return config;
}

double MoEConfig::attentionParameters() const {
  double h = hidden;
  if (!isLatent())
    return h * headDim * (2.0 * heads + 2.0 * kvHeads) +
           (headNorms ? 2.0 * headDim : 0.0);
  double queries = double(heads) * keyDim();
  double query =
      queryRank ? h * queryRank + queryRank + queryRank * queries : h * queries;
  return query + h * (kvRank + ropeDim) + kvRank +
         double(kvRank) * heads * (nopeDim + valueDim) +
         double(heads) * valueDim * h;
}

double MoEConfig::sparseBlockParameters() const {
  return attentionParameters() + 2.0 * hidden + double(hidden) * experts +
         3.0 * hidden * sharedFfn;
}

double MoEConfig::denseBlockParameters() const {
  return attentionParameters() + 2.0 * hidden + 3.0 * hidden * denseFfn;
}

static double parametersWith(const MoEConfig &c, double expertsUsed) {
  double tables = (c.tiedHead ? 1.0 : 2.0) * c.vocab * c.hidden + c.hidden;
  double sparse =
      double(c.layers - c.denseLayers) *
      (c.sparseBlockParameters() + expertsUsed * c.expertParameters());
  return tables + double(c.denseLayers) * c.denseBlockParameters() + sparse;
}

double MoEConfig::parameters() const {
  return parametersWith(*this, double(experts));
}

double MoEConfig::activeParameters() const {
  return parametersWith(*this, double(expertsPerToken));
}

double MoEConfig::modelFlopsPerToken(int64_t seq) const {
  double values = isLatent() ? valueDim : headDim;
  double lookedUp = tiedHead ? 0.0 : double(vocab) * double(hidden);
  double ofLatents = isLatent() ? double(queryRank) + double(kvRank) : 0.0;
  double ofHeads = headNorms ? 2.0 * headDim : 0.0;
  double norms = double(layers) * (2.0 * hidden + ofLatents + ofHeads) + hidden;
  return 6 * (activeParameters() - lookedUp - norms) +
         6.0 * double(layers) * double(heads) * (double(keyDim()) + values) *
             double(seq);
}
