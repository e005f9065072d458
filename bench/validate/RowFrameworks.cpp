//===- RowFrameworks.cpp - What frameworks fix where rows are silent ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the file of share/frameworks that a row's framework, version and mode
// have, and sets what no file says: stages by a formula, layouts and experts of
// recipes, the vocabulary.
//
//===----------------------------------------------------------------------===//

#include "RowFrameworks.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

/// Layers of each stage by cumulative weight: a stage ends with the layer that
/// reaches the stage's share of the total weight. `head` is the weight of
/// everything after the layers, in layers.
static std::vector<double> splitByWeight(int64_t layers, double head,
                                         int64_t stages) {
  std::vector<double> counts(stages, 0);
  double share = (double(layers) + head) / double(stages);
  int64_t stage = 0;
  for (int64_t layer = 1; layer <= layers; ++layer) {
    ++counts[stage];
    if (double(layer) > share * double(stage + 1) && stage + 1 < stages)
      ++stage;
  }
  return counts;
}

/// Splits layers evenly; the last stages get the remainder.
static std::vector<double> splitRestLast(int64_t layers, int64_t stages) {
  int64_t least = layers / stages;
  std::vector<double> counts(stages, double(least));
  for (int64_t i = 0; i < layers % stages; ++i)
    ++counts[stages - 1 - i];
  return counts;
}

/// Nanotron's scaling benchmark: stages of equal FLOPs, including the head;
/// memory is read on the first device.
static void applyNanotron(PlanRow &row) {
  cost::ExecutedPlan &l = row.plan;
  const ModelConfig &m = row.model;
  row.firstStage = true;
  // A row without sizes is not priced.
  if (m.hidden == 0 || m.heads == 0)
    return;
  // Copies for a reduce-scatter are a buffer for each rank. Buffers that are
  // smaller than the largest activation reuse its memory after it is freed.
  double parameters = double(countParameters(m)) / double(l.tp * l.pp);
  double gateAndUp =
      2.0 * double(l.microBatch * l.seq) * (2.0 * double(m.ffn) / double(l.tp));
  if (l.zero == 1 && 4 * parameters / double(l.dp) < gateAndUp)
    l.gradCopyBytes = 2;
  if (l.pp > 1) {
    double layer = 4.0 * m.hidden * m.hidden + 3.0 * m.ffn * m.hidden;
    l.stageLayers =
        splitByWeight(m.layers, double(m.vocab) * m.hidden / layer, l.pp);
  }
}

/// InternEvo's last stages get the remainder.
static void applyInternEvo(PlanRow &row) {
  if (row.plan.pp > 1)
    row.plan.stageLayers = splitRestLast(row.model.layers, row.plan.pp);
}

/// vTrain's profiles are of layers and of FusedAdam alone.
static void applyDeepSpeed(PlanRow &row) {
  if (!row.composed)
    return;
  row.plan.optimizerCopyBytes = 0;
  row.plan.sumsApart = false;
}

/// torchtitan's notes say what is not compiled and what is pipelined. With
/// stages ZeRO-3 gathers once per step and accumulates whole gradients, which
/// needs ZeRO-1's memory.
static void applyTorchtitan(const RowFields &f, PlanRow &row) {
  cost::ExecutedPlan &l = row.plan;
  if (l.pp > 1 && l.zero == 3)
    l.zero = 1;
  StringRef note = f.text("note");
  l.eager = note.contains("eager") && !note.contains("compile");
  l.overlapTp = note.contains("AsyncTP");
}

/// The page of a table determines the version of torchtitan: the page of NVFP4
/// is of August 2026, the page of MXFP8 of December 2025, others are older.
static std::string findTorchtitan(StringRef note) {
  if (note.contains("nvfp4.md"))
    return "torchtitan-nvfp4";
  return note.contains("mxfp8.md") ? "torchtitan-2025.12"
                                   : "torchtitan-2025.07";
}

/// Year and month of the container of a release, as 2604; 0: not given.
static int64_t releaseOf(StringRef note) {
  StringRef text = note.split("container ").second;
  int64_t year = 0, month = 0;
  if (text.consumeInteger(10, year) || !text.consume_front(".") ||
      text.consumeInteger(10, month))
    return 0;
  return 100 * year + month;
}

/// Two rows of Qwen3 on H100 have the layout of the previous release's table,
/// while the recipe of their own release has another. The recipe's layout is
/// taken, since it gives the speed of rows with that layout in the next release
/// (5,275 and 5,113 tokens/s per device, 9,058 and 8,901).
static void takeRecipeLayout(int64_t release, PlanRow &row) {
  cost::ExecutedPlan &l = row.plan;
  if (release == 2511 && l.vpp == 24) {
    l.vpp = 12;
    l.microBatch = 1;
  } else if (release == 2602 && l.pp == 2) {
    l.dp *= l.pp;
    l.ep *= l.pp;
    l.pp = l.vpp = 1;
    l.schedule = ScheduleKind::OneFOneB;
  }
  // checkRow() reports a batch that does not divide.
  consumeError(l.setGlobalBatch(row.globalBatch));
}

/// True for the first container of February 2026, which has no third number.
static bool isFirstOf2602(StringRef note) { return note.contains("26.02;"); }

/// The recipes of Megatron-Bridge's performance summaries, by release.
static std::string findMegatronBridge(StringRef note) {
  int64_t release = releaseOf(note);
  if (release == 0)
    return "megatron-bridge-26.04";
  if (release <= 2509)
    return "megatron-bridge-25.09";
  if (release < 2602)
    return "megatron-bridge-25.11";
  if (isFirstOf2602(note))
    return "megatron-bridge-26.02";
  if (release < 2606)
    return "megatron-bridge-26.04";
  return release < 2608 ? "megatron-bridge-26.06" : "megatron-bridge";
}

/// Sets the layout of rows of Megatron-Bridge whose recipe has another one.
static void takeRecipeLayouts(const RowFields &f, PlanRow &row) {
  StringRef note = f.text("note");
  if (row.plan.ep > 1 && f.text("gpu").starts_with("H100") &&
      !isFirstOf2602(note) && f.text("model") == "qwen3-30b-a3b")
    takeRecipeLayout(releaseOf(note), row);
}

/// Sets how the recipes of Megatron-Bridge's performance summaries
/// (scripts/performance/configs of its releases 0.1 to 0.5) send tokens to
/// experts, as far as it is not a field of a plan.
static void applyExperts(const RowFields &f, PlanRow &row) {
  int64_t release = releaseOf(f.text("note"));
  if (row.plan.ep == 1 || release == 0)
    return;
  StringRef gpu = f.text("gpu");
  bool isGrace = gpu.starts_with("GB"), isH100 = gpu.starts_with("H100");
  bool isFirst = isFirstOf2602(f.text("note"));
  // Tokens beyond an expert's even share are dropped.
  if (release <= 2509)
    row.experts.capacityFactor = 1;
  row.experts.padsApart = isH100 && isFirst;
  // After September 2025 the router is a graph, and attention if the recipe
  // says so.
  if (release <= 2509 || isH100)
    return;
  bool isMX = row.plan.precision == Precision::MXFP8;
  bool hasAttention =
      isGrace ? !isMX : release > 2602 || (release == 2602 && !isFirst);
  row.experts.graphs =
      hasAttention ? GraphScope::Attention : GraphScope::Router;
}

/// Tokens of an example of SQuAD 1.1; fine-tuning packs many into a sequence
/// (examples/README.md of NeMo-Framework-Launcher 24.07): about 135 words and a
/// prompt.
static constexpr int64_t kExampleTokens = 200;

/// True if a row fine-tunes all parameters, or a few added ones.
static bool isFineTuning(const RowFields &f) {
  StringRef model = f.text("model");
  return model.ends_with("-sft") || model.ends_with("-lora");
}

/// The table of NeMo's fine-tuning does not give the number of chunks; the
/// recipes with stages (examples/peft) give each layer its own chunk if all
/// parameters are trained.
static void applyNeMo(const RowFields &f, PlanRow &row) {
  cost::ExecutedPlan &l = row.plan;
  if (!f.text("model").ends_with("-sft") || l.pp == 1 || l.vpp > 1)
    return;
  l.schedule = ScheduleKind::Interleaved;
  l.vpp = row.model.layers / l.pp;
}

/// Megatron-Bridge's tables say "FP8" for recipes that scale tensors by their
/// own largest elements; other recipes are named.
static void applyMegatronBridge(const RowFields &f, PlanRow &row) {
  if (f.text("precision").equals_insensitive("fp8"))
    row.plan.precision = Precision::FP8Current;
  applyExperts(f, row);
}

/// True for Megatron-LM of 2021: a row without a year on the devices of its
/// papers; on later devices or with 8 bits it is Megatron-Core.
static bool isOldMegatron(const RowFields &f,
                          const cost::GivenExecutedPlan &own) {
  StringRef gpu = f.text("gpu");
  return (gpu.contains("A100") || gpu.contains("A800") ||
          gpu.contains("V100")) &&
         !hasNarrowMatmuls(own.plan.precision);
}

/// The name in reports of a framework as tables name it; "other" if it is not
/// known.
static StringRef findFamily(const RowFields &f,
                            const cost::GivenExecutedPlan &own) {
  StringRef name = f.text("framework");
  // The first word that the name contains decides.
  static constexpr std::pair<StringRef, StringRef> rows[] = {
      {"NeMo", "nemo"},
      {"Megatron-Bridge", "nemo"},
      {"Megatron-Core", "megatron-core"},
      {"Megatron Core", "megatron-core"},
      {"MCore", "megatron-core"},
      {"Megatron-DeepSpeed", "deepspeed"},
      {"zero-bubble", "megatron-2021"},
      {"torchtitan", "torchtitan"},
      {"FSDP", "fsdp"},
      {"nanotron", "nanotron"},
      {"Tessera", "tessera"},
      {"InternEvo", "InternEvo"}};
  for (auto [word, family] : rows)
    if (name.contains_insensitive(word))
      return family;
  if (name.contains("Megatron"))
    return isOldMegatron(f, own) ? "megatron-2021" : "megatron-core";
  return "other";
}

/// The file of share/frameworks with the version and mode that a row is of.
static std::string findFile(const RowFields &f, StringRef family) {
  StringRef note = f.text("note"), precision = f.text("precision");
  StringRef source = f.text("source");
  if (source.starts_with("MLPerf Training v3.0"))
    return "mlperf-3.0";
  if (source.starts_with("MLPerf Training v3.1"))
    return "mlperf-3.1";
  if (f.text("framework").contains("Megatron-Bridge"))
    return findMegatronBridge(note);
  if (family == "nemo" && note.contains("container NeMo24.07"))
    return "nemo-24.07";
  if (family == "torchtitan")
    return findTorchtitan(note);
  if (family == "deepspeed" && precision.contains("fp32 grad"))
    return "deepspeed-bf16";
  // llm-foundry's tables of precision "bf16" use its mode PURE.
  if (family == "fsdp" && precision == "bf16")
    return "fsdp-pure";
  return family == "other" ? "megatron-core" : family.lower();
}

/// Sets the fields that the file of a framework has and `own` does not give.
static void applyFile(StringRef file, const RowFields &f,
                      const cost::GivenExecutedPlan &own, PlanRow &row) {
  cost::GivenExecutedPlan given;
  given.plan = row.plan;
  given.set(own);
  cost::applyFramework(cantFail(cost::readFramework(file)), own,
                       {f.text("model"), f.text("gpu")}, given);
  row.plan = given.plan;
}

void tessera::validate::applyFrameworkModel(const RowFields &f,
                                            ModelConfig &config) {
  // Nanotron's scaling benchmark has its own Llama-like models, which tie the
  // head below 4e9 parameters.
  if (f.text("framework") == "nanotron")
    config.tiedHead = config.ffn < 10000;
}

void tessera::validate::applyFrameworkLayout(const RowFields &f,
                                             const cost::GivenExecutedPlan &own,
                                             PlanRow &row) {
  StringRef family = findFamily(f, own);
  row.framework = family.str();
  std::string file = findFile(f, family);
  bool isBridge = f.text("framework").contains("Megatron-Bridge");
  if (isBridge)
    takeRecipeLayouts(f, row);
  if (file == "nemo-24.07" && isFineTuning(f))
    row.plan.documentTokens = kExampleTokens;
  // "bf16, fp32 grad" of DeepSpeed's rows means that its optimizer has both.
  cost::GivenExecutedPlan fixed = own;
  if (file == "deepspeed-bf16")
    fixed.forget("grad-dtype");
  applyFile(file, f, fixed, row);
  if (family == "deepspeed")
    applyDeepSpeed(row);
  else if (family == "torchtitan")
    applyTorchtitan(f, row);
  else if (family == "nanotron")
    applyNanotron(row);
  else if (family == "InternEvo")
    applyInternEvo(row);
  else if (family == "nemo")
    applyNeMo(f, row);
  if (isBridge)
    applyMegatronBridge(f, row);
  // Megatron pads the vocabulary to whole tiles on each device; vTrain's
  // profiles leave out the remainder that tp does not divide.
  if (f.text("framework").contains("Megatron") || family == "nemo")
    row.model.vocab = row.composed
                          ? row.model.vocab / row.plan.tp * row.plan.tp
                          : alignTo(row.model.vocab, 128 * row.plan.tp);
}
