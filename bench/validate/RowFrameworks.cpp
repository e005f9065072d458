//===- RowFrameworks.cpp - What frameworks fix where rows are silent ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  Plan &l = row.plan;
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

/// InternEvo runs op by op, with fused attention and loss; autograd accumulates
/// micro-batches. Logits are cast to f32 and back, and two metrics of each
/// micro-batch read them (AccPerplex: 32 bytes, LossWithTypeId: 4). This is
/// about 54 bytes more than a fused loss moves, equal to four metrics of 14. In
/// the optimizer's step gradients are flattened, copied to f32 and unscaled, in
/// addition to the temporaries of an AdamW that is not fused; its own ZeRO-1
/// keeps four bytes per parameter more than FSDP.
static void applyInternEvo(PlanRow &row) {
  Plan &l = row.plan;
  l.eager = true;
  l.sumsApart = true;
  l.lossMetrics = 4;
  l.fusedOptimizer = false;
  l.gradDType = GradDType::BF16;
  l.gradCopyBytes = l.zero == 3 ? 14 : 18;
  if (l.pp > 1)
    l.stageLayers = splitRestLast(row.model.layers, l.pp);
}

/// Megatron-DeepSpeed's bf16 optimizer accumulates 16-bit gradients in separate
/// f32 buffers, which are flattened into a copy for the reduction. vTrain's
/// profiles are of layers and of FusedAdam alone.
static void applyDeepSpeed(const RowFields &f, PlanRow &row) {
  if (row.composed) {
    row.plan.optimizerCopyBytes = 0;
    row.plan.sumsApart = false;
  }
  if (!f.text("precision").contains("fp32 grad"))
    return;
  row.plan.gradDType = GradDType::Both;
  row.plan.gradCopyBytes = 4;
}

/// llm-foundry's tables of precision "bf16" use its mode PURE, which reduces
/// gradients in 16 bits: they are concatenated and divided, not cast.
static void applyFSDP(const RowFields &f, PlanRow &row) {
  if (f.text("precision") != "bf16")
    return;
  row.plan.gradDType = GradDType::BF16;
  row.plan.gatherCopyBytes = 8;
}

/// torchtitan's notes say what is not compiled and what is pipelined. With
/// stages ZeRO-3 gathers once per step and accumulates whole gradients, which
/// needs ZeRO-1's memory.
static void applyTorchtitan(const RowFields &f, PlanRow &row) {
  Plan &l = row.plan;
  if (l.pp > 1 && l.zero == 3)
    l.zero = 1;
  StringRef note = f.text("note");
  l.eager = note.contains("eager") && !note.contains("compile");
  l.overlapTp = note.contains("AsyncTP");
  // The page of a table determines the version: the page of NVFP4 is of August
  // 2026, the page of MXFP8 of December 2025, others are older. The loss is
  // compiled since August 2025, but not by the recipes of NVFP4, and is
  // computed in chunks since April 2026. Before that, over tp, shifted logits,
  // their exponentials and two gradients are separate f32 tensors.
  bool isOfToday = note.contains("nvfp4.md");
  l.lossChunks = isOfToday ? l.lossChunks : 1;
  l.fusedLoss = note.contains("mxfp8.md");
  l.lossCopies = !l.fusedLoss && l.tp > 1 ? 3 : 0;
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
  Plan &l = row.plan;
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

/// Sets how the recipes of Megatron-Bridge's performance summaries
/// (scripts/performance/configs of its releases 0.1 to 0.5) send tokens to
/// experts. Recipes of 2025 first drop tokens, and later exchange them with
/// all-to-all, except on GB200. In 2026 a token is sent once to each device, on
/// H100 at first with DeepEP, concurrently with kernels. Since June, MXFP8 has
/// a step that is one graph with one kernel for all experts.
static void applyExperts(const RowFields &f, PlanRow &row) {
  Plan &l = row.plan;
  int64_t release = releaseOf(f.text("note"));
  if (l.ep == 1 || release == 0)
    return;
  StringRef gpu = f.text("gpu");
  bool isGrace = gpu.starts_with("GB"), isH100 = gpu.starts_with("H100");
  bool isFirst = f.text("note").contains("26.02;");
  if (isH100 && !isFirst && f.text("model") == "qwen3-30b-a3b")
    takeRecipeLayout(release, row);
  // Tokens beyond an expert's even share are dropped.
  if (release <= 2509)
    row.experts.capacityFactor = 1;
  l.dispatchOnce =
      release > 2509 &&
      (isGrace || release > 2602 || (release == 2602 && !(isFirst && !isH100)));
  row.experts.padsApart = isH100 && isFirst;
  l.overlapExperts =
      isH100 && l.pp > 1 && release > 2509 && (release < 2602 || isFirst);
  // Until September 2025 layers with dropped tokens are whole graphs; later the
  // router is a graph, and attention if the recipe says so.
  if (release <= 2509) {
    if (!isH100)
      l.hostLaunchMicros = 0.1;
  } else if (!isH100) {
    bool isMX = l.precision == Precision::MXFP8;
    bool hasAttention =
        isGrace ? !isMX : release > 2602 || (release == 2602 && !isFirst);
    row.experts.graphs =
        hasAttention ? GraphScope::Attention : GraphScope::Router;
  }
  if (release >= 2606 && l.precision == Precision::MXFP8 &&
      (isGrace || release >= 2608)) {
    l.overlapExperts = true;
    l.expertsApart = false;
    l.hostLaunchMicros = 0.1;
  }
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

/// Sets the configuration of NeMo-Framework-Launcher 24.07 (config.yaml,
/// training/*, peft/llama/sft.yaml) and its examples of H100. cuDNN's attention
/// is off (NVTE_FUSED_ATTN), so FlashAttention-2 is used. Only Llama 3 and the
/// smaller Nemotrons fuse the loss; those accumulate gradients in f32, the
/// others in 16 bits. LoRA runs without sequence sharding, and without it
/// collectives of tp are not overlapped.
static void applyNeMo2407(const RowFields &f, PlanRow &row) {
  Plan &l = row.plan;
  StringRef model = f.text("model");
  l.attention = AttentionKind::Flash2;
  bool isNemotron = model.starts_with("nemotron") && model != "nemotron4-340b";
  l.fusedLoss = isNemotron || (model.starts_with("llama3") && !isFineTuning(f));
  if (isNemotron)
    l.gradDType = GradDType::F32;
  if (isFineTuning(f))
    l.documentTokens = kExampleTokens;
  if (l.loraRank > 0)
    l.sp = l.overlapTp = false;
}

/// The table of NeMo's fine-tuning does not give the number of chunks; the
/// recipes with stages (examples/peft) give each layer its own chunk if all
/// parameters are trained.
static void applyNeMo(const RowFields &f, PlanRow &row) {
  Plan &l = row.plan;
  if (f.text("note").contains("container NeMo24.07"))
    applyNeMo2407(f, row);
  if (!f.text("model").ends_with("-sft") || l.pp == 1 || l.vpp > 1)
    return;
  l.schedule = ScheduleKind::Interleaved;
  l.vpp = row.model.layers / l.pp;
}

/// Sets the attention of submissions to MLPerf Training for GPT-3, by round
/// (NVIDIA/benchmarks/gpt3 of its results). Round 3.0 uses the container of
/// April 2023, whose Transformer Engine has the first FlashAttention; round 3.1
/// installs FlashAttention-2, which it prefers; later rounds use cuDNN's.
static void applyMLPerf(StringRef round, PlanRow &row) {
  if (round.starts_with("3.0"))
    row.plan.attention = AttentionKind::Flash1;
  else if (round.starts_with("3.1"))
    row.plan.attention = AttentionKind::Flash2;
}

/// Megatron-Bridge's tables say "FP8" for recipes that scale tensors by their
/// own largest elements; other recipes are named. Among recipes that shard
/// parameters, those for H100 and for bf16 on GB300 register buffers.
static void applyMegatronBridge(const RowFields &f, PlanRow &row) {
  if (f.text("precision").equals_insensitive("fp8"))
    row.plan.precision = Precision::FP8Current;
  StringRef gpu = f.text("gpu");
  row.plan.registeredBuffers =
      row.plan.zero == 3 &&
      (gpu.starts_with("H100") ||
       (gpu.starts_with("GB300") && row.plan.precision == Precision::BF16));
  applyExperts(f, row);
}

/// True for Megatron-LM of 2021: a row without a year on the devices of its
/// papers; on later devices or with 8 bits it is Megatron-Core.
static bool isOldMegatron(const RowFields &f, const GivenPlan &own) {
  StringRef gpu = f.text("gpu");
  return (gpu.contains("A100") || gpu.contains("A800") ||
          gpu.contains("V100")) &&
         !hasNarrowMatmuls(own.plan.precision);
}

/// The preset of a framework as tables name it.
static std::optional<Framework> findFramework(const RowFields &f,
                                              const GivenPlan &own) {
  StringRef name = f.text("framework");
  struct Row {
    StringRef word;
    Framework framework;
  };
  // The first word that the name contains decides.
  static constexpr Row rows[] = {
      {"NeMo", Framework::NeMo},
      {"Megatron-Bridge", Framework::NeMo},
      {"Megatron-Core", Framework::MegatronCore},
      {"Megatron Core", Framework::MegatronCore},
      {"MCore", Framework::MegatronCore},
      {"Megatron-DeepSpeed", Framework::DeepSpeed},
      {"zero-bubble", Framework::Megatron2021},
      {"torchtitan", Framework::Torchtitan},
      {"FSDP", Framework::FSDP},
      {"nanotron", Framework::Nanotron},
      {"Tessera", Framework::Tessera},
      // Its kernels are Megatron-Core's; its stored activations are its own.
      {"InternEvo", Framework::MegatronCore}};
  for (const Row &row : rows)
    if (name.contains_insensitive(row.word))
      return row.framework;
  if (name.contains("Megatron"))
    return isOldMegatron(f, own) ? Framework::Megatron2021
                                 : Framework::MegatronCore;
  return std::nullopt;
}

void tessera::validate::applyFrameworkModel(const RowFields &f,
                                            ModelConfig &config) {
  // Nanotron's scaling benchmark has its own Llama-like models, which tie the
  // head below 4e9 parameters.
  if (f.text("framework") == "nanotron")
    config.tiedHead = config.ffn < 10000;
}

void tessera::validate::applyFrameworkLayout(const RowFields &f,
                                             const GivenPlan &own,
                                             PlanRow &row) {
  std::optional<Framework> framework = findFramework(f, own);
  row.framework = framework ? stringify(*framework).str() : "other";
  if (f.text("framework") == "InternEvo")
    row.framework = "InternEvo";
  GivenPlan given;
  given.plan = row.plan;
  for (const PlanField &field : getPlanFields())
    if (own.has(field.name))
      cantFail(given.set(field.name, field.print(own.plan)));
  applyFramework(framework.value_or(Framework::MegatronCore), own, given);
  row.plan = given.plan;
  switch (framework.value_or(Framework::MegatronCore)) {
  case Framework::DeepSpeed:
    applyDeepSpeed(f, row);
    break;
  case Framework::Torchtitan:
    applyTorchtitan(f, row);
    break;
  case Framework::FSDP:
    applyFSDP(f, row);
    break;
  case Framework::Nanotron:
    applyNanotron(row);
    break;
  case Framework::NeMo:
    applyNeMo(f, row);
    break;
  default:
    break;
  }
  if (f.text("framework") == "InternEvo")
    applyInternEvo(row);
  if (f.text("framework").contains("Megatron-Bridge"))
    applyMegatronBridge(f, row);
  StringRef source = f.text("source");
  if (source.consume_front("MLPerf Training v"))
    applyMLPerf(source, row);
  // Megatron pads the vocabulary to whole tiles on each device; vTrain's
  // profiles leave out the remainder that tp does not divide.
  if (f.text("framework").contains("Megatron") || framework == Framework::NeMo)
    row.model.vocab = row.composed
                          ? row.model.vocab / row.plan.tp * row.plan.tp
                          : alignTo(row.model.vocab, 128 * row.plan.tp);
}
