//===- PlanRow.cpp - What a row of measurements says ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "RowFrameworks.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

/// True if a note has words that exclude the row from every score.
static bool isExcluded(StringRef note) {
  return note.contains("EXCLUDE") || note.contains("does not match") ||
         note.contains("inconsistent") || note.contains("ambig");
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

/// The vocabulary of a row that does not give it: 32,000 or 131,072 if the
/// number of parameters allows it (its rounding is at most 2 %), else the
/// parameters that the blocks do not have.
static int64_t inferVocab(const RowFields &f, const ModelConfig &config) {
  std::optional<double> billions = f.num("params_b");
  if (!billions)
    return 0;
  double blocks = double(config.layers) * config.hidden *
                  (2.0 * config.hidden + 2.0 * config.kvHeads * config.headDim +
                   (config.gatedMlp ? 3.0 : 2.0) * config.ffn);
  double tables = config.tiedHead ? 1 : 2;
  double left = (*billions * 1e9 - blocks) / config.hidden / tables;
  for (int64_t usual : {32000, 131072})
    if (std::fabs(left - double(usual)) * config.hidden * tables <
        0.02 * *billions * 1e9)
      return usual;
  return std::max<int64_t>(0, std::lround(left / 64) * 64);
}

/// True for layers like Llama's: gated MLP, rotary positions, no bias.
static bool isGated(StringRef model) {
  return model.contains("llama") || model.contains("internlm") ||
         model.contains("mistral") || model.contains("qwen");
}

static ModelConfig readModel(const RowFields &f) {
  StringRef name = f.text("model");
  bool gated = isGated(name);
  ModelConfig config = getFamilyDefaults(gated ? "llama" : "gpt2");
  config.name = name.str();
  config.layers = f.integer("layers", 0);
  config.hidden = f.integer("hidden", 0);
  config.heads = f.integer("heads", 0);
  config.kvHeads = f.integer("kv_heads", config.heads);
  config.headDim = config.heads ? config.hidden / config.heads : 0;
  config.ffn = f.integer("ffn", 0);
  config.maxPositions = f.integer("seq", 0);
  // Nemotron and Llama have an untied head; GPT and MPT tie it.
  config.tiedHead = !gated && !name.contains("nemotron");
  config.qkvBias = config.outputBias = config.mlpBias =
      !gated && !name.contains("mpt") && !name.contains("nemotron");
  applyFrameworkModel(f, config);
  config.vocab = f.integer("vocab", 0);
  if (config.vocab == 0)
    config.vocab = inferVocab(f, config);
  return config;
}

/// Reads the config of a model with experts from the file of share/models that
/// has the model's name, since no column has the number and width of experts.
/// Returns the reason if there is none, or the column that contradicts the
/// file.
static std::string readExperts(const RowFields &f, PlanRow &row) {
  std::string file = f.text("model").lower() + ".json";
  std::string path = TESSERA_MODELS "/" + file;
  if (!sys::fs::exists(path))
    return "the number of experts is not given";
  Expected<Subject> subject = Subject::readFile(path);
  if (!subject)
    return toString(subject.takeError());
  const std::optional<MoEConfig> &config = subject->sparse;
  if (!config)
    return formatv("{0} has no experts", file);
  const std::pair<const char *, int64_t> sizes[] = {
      {"layers", config->layers}, {"hidden", config->hidden},
      {"heads", config->heads},   {"kv_heads", config->kvHeads},
      {"ffn", config->denseFfn},  {"vocab", config->vocab}};
  for (auto [column, size] : sizes)
    if (f.integer(column, size) != size)
      return formatv("{0} {1} where {2} has {3}", column, f.text(column), file,
                     size);
  row.sparse = *config;
  return "";
}

Subject PlanRow::subject() const {
  Subject subject;
  if (sparse) {
    subject.sparse = sparse;
    subject.experts = experts;
  } else {
    subject.dense = model;
  }
  return subject;
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// A field's value in a plan's spelling. `known` is false if the text has no
/// meaning here.
struct Spelled {
  std::string value;
  bool known = true;
};

/// Parses "full", "selective+SP", "selective-op", "none (per paper text)".
static Spelled readRecompute(StringRef text) {
  text = text.take_until([](char c) { return c == '+' || c == ' '; });
  if (text == "none")
    return {"none"};
  if (text == "selective-op")
    return {"matmuls"};
  return {text.str(), text == "full" || text == "selective"};
}

/// Parses "bf16(fp32 grad accum)", "amp_bf16", "fp16?", "FP8-CS",
/// "mxfp8_cublas". If a table does not name one of the two block scalings, it
/// is the one that the device has units for.
static Spelled readPrecision(StringRef given, bool hasBlockUnits) {
  std::string lower = given.lower();
  StringRef text = lower;
  text.consume_front("amp_");
  StringRef type = text.take_until([](char c) { return c == '(' || c == '?'; });
  if (type.contains("nvfp4"))
    return {"nvfp4"};
  if (type.contains("mxfp8") || type == "fp8-mx")
    return {"mxfp8"};
  if (type == "fp8-mx-or-blockwise")
    return {hasBlockUnits ? "mxfp8" : "fp8-block"};
  static const std::pair<StringRef, StringRef> names[] = {
      {"", "bf16"},
      {"bf16", "bf16"},
      {"fp16", "f16"},
      {"f16", "f16"},
      {"fp32", "f32"},
      {"f32", "f32"},
      {"tf32", "f32"},
      {"fp8", "fp8"},
      {"fp8-ds", "fp8"},
      {"fp8-cs", "fp8-current"},
      {"fp8-tensorwise", "fp8-current"},
      {"fp8-rowwise", "fp8-row"},
      {"fp8-block", "fp8-block"},
      {"fp8-sc", "fp8-block"}};
  for (auto [name, value] : names)
    if (type == name)
      return {value.str()};
  return {"", false};
}

/// Parses "1", "1(all)", "1(8-way)": the stage, and the devices that it shards
/// over.
static bool readZero(StringRef text, Plan &plan) {
  StringRef stage = text.take_until([](char c) { return c == '('; });
  StringRef ranks = text.drop_front(stage.size());
  if (stage.empty())
    return text.empty();
  if (stage.getAsInteger(10, plan.zero) || plan.zero < 0 || plan.zero > 3)
    return false;
  if (ranks.empty() || ranks == "(all)")
    return true;
  return ranks.consume_front("(") && ranks.consume_back("-way)") &&
         !ranks.getAsInteger(10, plan.shardRanks);
}

/// Reads the axes and the batch, and the row's kernels and number formats into
/// `own`, whose fields override the framework's. Returns the name of a column
/// with an unknown value, or nothing.
static std::string readPlan(const RowFields &f, cost::ExecutedPlan &l,
                            cost::GivenExecutedPlan &own) {
  l.tp = f.integer("tp", 1);
  l.pp = f.integer("pp", 1);
  l.vpp = f.integer("vpp", 1);
  l.dp = f.integer("dp", 1);
  l.cp = f.integer("cp", 1);
  l.ep = f.integer("ep", 1);
  l.microBatch = f.integer("micro_batch", 1);
  l.seq = f.integer("seq", 0);
  // The tables do not give these; they are the recipes' own values.
  if (f.text("model").contains("lora")) {
    l.loraRank = 32;
    l.loraTargets = LoraTargets::QKV;
  }
  auto unknown = [&](StringRef column) {
    return (column + " '" + f.text(column) + "'").str();
  };
  if (!readZero(f.text("zero_stage"), l))
    return unknown("zero_stage");
  StringRef schedule = f.text("schedule");
  if (auto kind = parseName<ScheduleKind>(schedule))
    l.schedule = *kind;
  else if (!schedule.empty())
    return "schedule " + schedule.str();
  if (l.vpp > 1 && l.pp > 1)
    l.schedule = ScheduleKind::Interleaved;
  else if (l.schedule == ScheduleKind::Interleaved)
    l.schedule = ScheduleKind::OneFOneB;

  auto set = [&](StringRef column, StringRef field, const Spelled &spelled) {
    return spelled.known && !errorToBool(own.set(field, spelled.value));
  };
  StringRef gpu = f.text("gpu");
  bool hasBlockUnits = gpu.contains("B200") || gpu.contains("B300") ||
                       gpu.contains_insensitive("Blackwell");
  // A value that the source does not give is the framework's default.
  StringRef recompute = f.text("recompute");
  if (!recompute.empty() && recompute != "unspecified" &&
      !set("recompute", "recompute", readRecompute(recompute)))
    return unknown("recompute");
  if (!set("precision", "precision",
           readPrecision(f.text("precision"), hasBlockUnits)))
    return unknown("precision");
  for (StringRef column : {"sp", "overlap"}) {
    StringRef text = f.text(column);
    if (!text.empty() &&
        !set(column, column,
             {text == "yes" ? "true" : "false", text == "yes" || text == "no"}))
      return unknown(column);
  }
  if (recompute.contains("SP"))
    set("sp", "sp", {"true"});
  StringRef attention = f.text("attention");
  if (attention == "naive" || attention == "cudnn")
    set("attention", "attention", {attention == "naive" ? "naive" : "flash"});
  else if (!attention.empty() && attention != "flash")
    return unknown("attention");
  StringRef grad = f.text("grad_dtype");
  if (grad.contains("32") || f.text("precision").contains("fp32 grad"))
    set("grad_dtype", "grad-dtype", {"f32"});
  else if (grad.contains("16"))
    set("grad_dtype", "grad-dtype", {"bf16"});
  else if (!grad.empty())
    return unknown("grad_dtype");
  return "";
}

//===----------------------------------------------------------------------===//
// Metric
//===----------------------------------------------------------------------===//

/// Reads the measurement. Returns the reason why it is not scored, or nothing.
static std::string readMetric(const RowFields &f, PlanRow &row) {
  StringRef name = f.text("metric_name");
  std::optional<double> value = f.num("metric_value");
  if (!value)
    return "no value";
  const Plan &l = row.plan;
  if (name == "iter_time_ms" || name == "iter_time_s") {
    row.measured = *value * (name.ends_with("_ms") ? 1e-3 : 1);
  } else if (name == "tokens_per_s_per_gpu") {
    row.measured =
        double(row.globalBatch) * double(l.seq) / (*value * row.devices);
  } else if (name == "samples_per_s_per_gpu") {
    row.measured = double(row.globalBatch) / (*value * row.devices);
  } else if (name == "layer_fwd_ms" || name == "layer_bwd_ms") {
    row.metric =
        name == "layer_fwd_ms" ? Metric::LayerForward : Metric::LayerBackward;
    row.measured = *value * 1e-3;
  } else if (name.starts_with("peak_mem")) {
    row.metric = Metric::PeakMemory;
    // "GB" in printed output is 2^30 bytes: torch.cuda and the tables made from
    // it use it so. nvidia-smi prints MiB, which people divide by a thousand
    // for GB.
    row.includesContext = f.text("mem_kind") == "nvidia-smi";
    row.measured =
        *value * (row.includesContext ? 1000.0 * (1 << 20) : double(1 << 30));
    row.reserved = f.text("mem_kind") != "allocated";
    // Operands are cast to 8 bits for each matmul, but stored activations are
    // not. With 4 bits fewer activations are stored.
    if (hasNarrowMatmuls(row.plan.precision) &&
        row.plan.precision != Precision::NVFP4)
      row.plan.precision = Precision::BF16;
  } else if (name == "oom") {
    row.metric = Metric::OutOfMemory;
    row.measured = *value;
  } else if (name == "bubble_rate_computed_from_profile") {
    row.metric = Metric::BubbleRate;
    row.measured = *value;
  } else if (name.starts_with("profiled_")) {
    row.metric = Metric::Profile;
    row.measured = *value * 1e-3;
  } else if (name.contains("mfu") || name.contains("tflops")) {
    return "printed MFU or TFLOP/s";
  } else {
    return "metric " + name.str();
  }
  return "";
}

static std::string findMissing(const RowFields &f, const PlanRow &row) {
  for (const char *column : {"layers", "hidden", "heads", "ffn", "seq",
                             "n_gpus", "micro_batch", "global_batch"})
    if (!f.num(column))
      return std::string("no ") + column;
  if (row.model.vocab <= 0)
    return "no vocab";
  // The memory of a device does not depend on its power.
  bool isMemory =
      row.metric == Metric::PeakMemory || row.metric == Metric::OutOfMemory;
  if (!isMemory && hasUnknownPower(f.text("gpu")))
    return "no power limit";
  return "";
}

/// Devices of a node that NVLink joins if PCIe joins them with the others. Jean
/// Zay's nodes of eight A100s are taken to have two meshes of four: their
/// specification has four links between devices, while a switch has twelve.
static int64_t meshDevicesOf(const RowFields &f) {
  bool isJeanZay = f.text("cluster") == "Jean-Zay" &&
                   f.text("gpu").starts_with("A100") &&
                   f.integer("gpus_per_node", 0) == 8;
  return isJeanZay ? 4 : 0;
}

RowResult tessera::validate::readRow(const Table &table, size_t index) {
  RowResult result;
  RowFields f{table, index};
  PlanRow &row = result.row;
  row.index = index;
  cost::GivenExecutedPlan own;
  std::string unknown = readPlan(f, row.plan, own);
  row.devices = f.integer("n_gpus", 0);
  row.globalBatch = f.integer("global_batch", 1);
  if (row.plan.dp > 0 && row.plan.microBatch > 0)
    // checkRow() reports a batch that does not divide.
    llvm::consumeError(row.plan.setGlobalBatch(row.globalBatch));
  row.model = readModel(f);
  row.composed = f.text("note").contains("composed from per-layer profiles");
  std::string experts = row.plan.ep > 1 ? readExperts(f, row) : "";
  applyFrameworkLayout(f, own, row);
  std::string metric = readMetric(f, row);

  std::string missing = findMissing(f, row);
  result.complete = missing.empty() && f.num("metric_value");
  if (isExcluded(f.text("note")))
    result.skipped = "note";
  else if (!metric.empty())
    result.skipped = metric;
  else if (!missing.empty())
    result.skipped = missing;
  else if (!experts.empty())
    result.skipped = experts;
  else if (!unknown.empty())
    result.skipped = unknown;
  if (!result.skipped.empty())
    return result;

  row.cluster = presetOf(f.text("gpu"));
  if (row.cluster.empty())
    result.skipped = ("device '" + f.text("gpu") + "'").str();
  row.devicesPerNode = f.integer("gpus_per_node", 0);
  row.meshDevices = meshDevicesOf(f);
  row.outerBandwidth = f.num("nic_gbit_per_gpu").value_or(0) * 1e9 / 8;
  const Plan &l = row.plan;
  row.group =
      formatv("{0} {1} {2} {3}", row.model.hidden, l.tp, l.pp, l.microBatch);
  for (StringRef column : {"tp", "pp", "vpp", "dp", "cp", "ep", "zero_stage",
                           "micro_batch", "recompute", "schedule", "sp"})
    row.layout += (f.text(column) + " ").str();
  row.sweep =
      formatv("{0} {1} {2} {3} {4} {5}", f.text("source"), row.model.name,
              row.devices, l.seq, row.globalBatch, stringify(l.precision));
  return result;
}
