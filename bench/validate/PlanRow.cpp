//===- PlanRow.cpp - What a row of measurements says ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frameworks.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

/// Words in a note that take a row out of every score.
static bool isExcluded(StringRef note) {
  return note.contains("EXCLUDE") || note.contains("does not match") ||
         note.contains("inconsistent") || note.contains("ambig");
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

/// The vocabulary where a row has none: 32,000 or 131,072 if the stated number
/// of parameters allows it (it is rounded to 2 % at worst), else what the
/// parameters leave besides the blocks.
static int64_t inferVocab(const RowFields &f, const ModelConfig &config) {
  std::optional<double> billions = f.num("params_b");
  if (!billions)
    return 0;
  double blocks =
      double(config.layers) * config.hidden *
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

/// Layers of Llama's kind: gated MLP, rotary positions, no bias.
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
  // Nemotron and Llama have a head of their own; GPT and MPT tie it.
  config.tiedHead = !gated && !name.contains("nemotron");
  config.qkvBias = config.outputBias = config.mlpBias =
      !gated && !name.contains("mpt") && !name.contains("nemotron");
  applyFrameworkModel(f, config);
  config.vocab = f.integer("vocab", 0);
  if (config.vocab == 0)
    config.vocab = inferVocab(f, config);
  return config;
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

static Recompute readRecompute(StringRef text) {
  if (text.starts_with("full"))
    return Recompute::Full;
  if (text == "selective-op")
    return Recompute::Matmuls;
  return text.starts_with("selective") ? Recompute::Selective : Recompute::None;
}

static Precision readPrecision(StringRef text) {
  if (text.contains_insensitive("fp8"))
    return Precision::FP8;
  if (text.starts_with_insensitive("fp16") ||
      text.starts_with_insensitive("f16"))
    return Precision::F16;
  return text.contains_insensitive("32") && !text.contains("16")
             ? Precision::F32
             : Precision::BF16;
}

static Plan readPlan(const RowFields &f) {
  Plan l;
  // As the frameworks do it.
  l.evenStages = true;
  l.tp = f.integer("tp", 1);
  l.pp = f.integer("pp", 1);
  l.vpp = f.integer("vpp", 1);
  l.dp = f.integer("dp", 1);
  l.cp = f.integer("cp", 1);
  l.ep = f.integer("ep", 1);
  StringRef zero = f.text("zero_stage");
  l.zero = zero.empty() ? 0 : zero[0] - '0';
  l.microBatch = f.integer("micro_batch", 1);
  l.seq = f.integer("seq", 0);
  l.recompute = readRecompute(f.text("recompute"));
  l.precision = readPrecision(f.text("precision"));
  if (auto schedule = parseName<ScheduleKind>(f.text("schedule")))
    l.schedule = *schedule;
  if (l.vpp > 1 && l.pp > 1)
    l.schedule = ScheduleKind::Interleaved;
  else if (l.schedule == ScheduleKind::Interleaved)
    l.schedule = ScheduleKind::OneFOneB;
  l.frozen = f.text("model").contains("lora");
  return l;
}

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

/// The preset for a GPU's name; empty if there is none.
static std::string presetOf(StringRef gpu) {
  if (gpu.contains("A100") && gpu.contains("40GB"))
    return "a100-40-sxm-ib";
  if (gpu.contains("A100") || gpu.contains("A800"))
    return "a100-80-sxm-ib";
  if (gpu.contains("H100-96GB"))
    return "h100-96-500w-roce";
  if (gpu.contains("GB200"))
    return "gb200-nvl72-ib";
  if (gpu.contains("H800"))
    return "h800-sxm-ib";
  if (gpu.contains("H200"))
    return "h200-sxm-ib";
  if (gpu.contains("H100"))
    return "h100-sxm-ib";
  if (gpu.contains("B200"))
    return "b200-sxm-ib";
  return "";
}

//===----------------------------------------------------------------------===//
// Metric
//===----------------------------------------------------------------------===//

/// Reads what was measured. Returns why it is not scored, or nothing.
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
    // "GB" on a screen is 2^30 bytes: torch.cuda and the tables made from it
    // print it so. nvidia-smi prints MiB, of which people make GB by a
    // thousand.
    row.includesContext = f.text("mem_kind") == "nvidia-smi";
    row.measured =
        *value * (row.includesContext ? 1000.0 * (1 << 20) : double(1 << 30));
    row.reserved = f.text("mem_kind") != "allocated";
    // Operands are cast to 8 bits for each matmul; what is kept is not.
    if (row.plan.precision == Precision::FP8)
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
  return "";
}

RowResult tessera::validate::readRow(const Table &table, size_t index) {
  RowResult result;
  RowFields f{table, index};
  PlanRow &row = result.row;
  row.index = index;
  row.plan = readPlan(f);
  row.devices = f.integer("n_gpus", 0);
  row.globalBatch = f.integer("global_batch", 1);
  if (row.plan.dp > 0 && row.plan.microBatch > 0)
    // What does not divide is an error of checkRow().
    llvm::consumeError(row.plan.setGlobalBatch(row.globalBatch));
  row.model = readModel(f);
  std::string metric = readMetric(f, row);
  applyFrameworkLayout(f, row);

  std::string missing = findMissing(f, row);
  result.complete = missing.empty() && f.num("metric_value");
  if (isExcluded(f.text("note")))
    result.skipped = "note";
  else if (!metric.empty())
    result.skipped = metric;
  else if (!missing.empty())
    result.skipped = missing;
  else if (f.integer("ep", 1) > 1)
    result.skipped = "experts";
  else if (StringRef schedule = f.text("schedule");
           !schedule.empty() && !parseName<ScheduleKind>(schedule))
    result.skipped = "schedule " + schedule.str();
  if (!result.skipped.empty())
    return result;

  row.cluster = presetOf(f.text("gpu"));
  if (row.cluster.empty())
    result.skipped = "unknown device";
  row.devicesPerNode = f.integer("gpus_per_node", 0);
  row.outerBandwidth = f.num("nic_gbit_per_gpu").value_or(0) * 1e9 / 8;
  row.composed = f.text("note").contains("composed from per-layer profiles");
  const Plan &l = row.plan;
  row.group =
      formatv("{0} {1} {2} {3}", row.model.hidden, l.tp, l.pp, l.microBatch);
  row.sweep =
      formatv("{0} {1} {2} {3} {4} {5}", f.text("source"), row.model.name,
              row.devices, l.seq, row.globalBatch, stringify(l.precision));
  return result;
}
