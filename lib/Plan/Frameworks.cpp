//===- Frameworks.cpp - How frameworks run a plan -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of settings. The rows of a framework are contiguous; a later row
// for the same field overrides earlier ones.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/Frameworks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tessera;

namespace tessera {
template <> ArrayRef<StringRef> getNames<Framework>() {
  static constexpr StringRef names[] = {
      "megatron-core", "megatron-2021", "nemo",     "torchtitan",
      "fsdp",          "deepspeed",     "nanotron", "tessera"};
  return names;
}
} // namespace tessera

namespace {

/// One setting, for all plans or for some.
struct Setting {
  StringRef field, value;
  bool (*when)(const Plan &plan) = nullptr;
};

} // namespace

static bool hasTensorAxis(const Plan &plan) { return plan.tp > 1; }
static bool hasData(const Plan &plan) { return plan.dp * plan.cp > 1; }
static bool shardsState(const Plan &plan) {
  return hasData(plan) && plan.zero > 0;
}
static bool shardsParameters(const Plan &plan) { return plan.zero == 3; }
static bool scalesLoss(const Plan &plan) {
  return plan.precision == Precision::F16 && plan.zero == 0;
}
static bool hasStages(const Plan &plan) { return plan.pp > 1; }
static bool hasExpertAxis(const Plan &plan) { return plan.ep > 1; }

/// Transformer Engine's kernels, one kernel per expert, a fused loss, gradients
/// in f32, sequence sharding wherever there is tp.
static constexpr Setting kMegatronCore[] = {
    {"attention", "flash"},
    {"dropout", "false"},
    {"eager", "false"},
    {"fused-loss", "true"},
    {"grad-dtype", "f32"},
    {"overlap", "true"},
    {"overlap-tp", "false"},
    {"stage-layers", "even"},
    {"sp", "true", hasTensorAxis},
    {"experts-apart", "true", hasExpertAxis}};
/// Its performance recipes sum and reduce gradients in 16 bits, and send tokens
/// to experts with HybridEP.
static constexpr Setting kNeMo[] = {{"overlap-tp", "true", hasTensorAxis},
                                    {"grad-dtype", "bf16"},
                                    {"dispatch-once", "true", hasExpertAxis}};
/// Narayanan et al. 2021, Korthikanti et al. 2022.
static constexpr Setting kMegatron2021[] = {
    {"attention", "naive"}, {"dropout", "true"},     {"fused-loss", "false"},
    {"grad-dtype", "bf16"}, {"overlap", "false"},    {"overlap-tp", "false"},
    {"pxn", "false"},       {"stage-layers", "even"}};
/// Megatron-DeepSpeed of 2022. Its pipeline engine does transfers one after the
/// other. The host needs 62 us per kernel, so that layers take at least 3 ms,
/// however small they are (vTrain's profiles). Its FP16_Optimizer flattens,
/// divides and unflattens gradients (12 bytes per parameter), casts and sums
/// them to find infinities (10), casts and flattens them to f32 (14), scales
/// them (8), reads them in f32 for the norm and the update (4 more) and copies
/// the master parameters (4). Autograd adds up micro-batches.
static constexpr Setting kDeepSpeed[] = {
    {"dropout", "false"},
    {"batch-transfers", "false"},
    {"host-launch-us", "62"},
    {"sums-apart", "true", scalesLoss},
    {"optimizer-copy-bytes", "52", scalesLoss}};
/// FSDP2 with mixed precision shards f32 parameters and casts them where it
/// gathers them. With stages it gathers once per step, so that parameters are
/// whole and in 16 bits. Recomputation is its default. Its loss is compiled
/// since August 2025, and runs in eight chunks since April 2026.
static constexpr Setting kTorchtitan[] = {
    {"attention", "flash2"},
    {"recompute", "matmuls"},
    {"fused-loss", "true"},
    {"loss-chunks", "8"},
    {"grad-dtype", "f32"},
    {"overlap", "true"},
    {"stage-layers", "even"},
    {"sp", "true", hasTensorAxis},
    {"f32-parameters", "true", shardsParameters},
    {"gather-copy-bytes", "14", shardsParameters},
    {"f32-parameters", "false", hasStages}};
/// llm-foundry of 2023 on Composer. Its loss is flash-attn's kernel. It logs
/// cross entropy and perplexity, each from the logits, and has its own AdamW,
/// op by op. The gradients of a flat parameter's views are concatenated (4
/// bytes per parameter), cast to f32 (6) for the reduction, and divided by a
/// share of the ranks (8).
static constexpr Setting kFSDP[] = {
    {"attention", "flash1"},
    {"eager", "true"},
    {"fused-loss", "true"},
    {"loss-metrics", "2"},
    {"grad-dtype", "f32"},
    {"overlap", "true"},
    {"stage-layers", "even"},
    {"fused-optimizer", "false"},
    {"gather-copy-bytes", "18", shardsParameters}};
/// Settings of its scaling benchmark: buckets of 16-bit gradients in addition
/// to f32 sums, or copies of the sums, one per rank that they are scattered to
/// (reduce_scatter_coalesced).
static constexpr Setting kNanotron[] = {{"attention", "flash2"},
                                        {"eager", "true"},
                                        {"keep-gathered", "true"},
                                        {"fused-loss", "false"},
                                        {"grad-dtype", "f32"},
                                        {"sums-apart", "true"},
                                        {"grad-copy-bytes", "2", hasData},
                                        {"grad-copy-bytes", "4", shardsState},
                                        {"overlap", "true"},
                                        {"stage-layers", "even"},
                                        {"sp", "true", hasTensorAxis}};
/// From the kernels that the compiler makes: attention and loss are one kernel
/// each, and matmuls have epilogues. Its memory plan reuses the memory of
/// activations for gradients. A step is recorded as a graph, so that the host
/// issues nothing between its kernels; it launches the graph and reads the
/// loss.
static constexpr Setting kTessera[] = {{"attention", "flash"},
                                       {"dropout", "false"},
                                       {"eager", "false"},
                                       {"fused-loss", "true"},
                                       {"grad-dtype", "f32"},
                                       {"overlap", "true"},
                                       {"overlap-tp", "false"},
                                       {"stage-layers", "time"},
                                       {"fused-epilogues", "true"},
                                       {"grad-buffers", "false"},
                                       {"keep-gathered", "true", hasTensorAxis},
                                       {"pad-to-multiple-of", "64"},
                                       {"host-launch-us", "0.1"},
                                       {"step-floor-us", "100"}};

static SmallVector<Setting> settingsOf(Framework framework) {
  SmallVector<Setting> all;
  auto add = [&](ArrayRef<Setting> rows) { append_range(all, rows); };
  switch (framework) {
  case Framework::MegatronCore:
    add(kMegatronCore);
    break;
  case Framework::NeMo:
    add(kMegatronCore);
    add(kNeMo);
    break;
  case Framework::Megatron2021:
    add(kMegatron2021);
    break;
  case Framework::DeepSpeed:
    add(kMegatron2021);
    add(kDeepSpeed);
    break;
  case Framework::Torchtitan:
    add(kTorchtitan);
    break;
  case Framework::FSDP:
    add(kFSDP);
    break;
  case Framework::Nanotron:
    add(kNanotron);
    break;
  case Framework::Tessera:
    add(kTessera);
    break;
  }
  return all;
}

void tessera::applyFramework(Framework framework, const GivenPlan &own,
                             GivenPlan &given) {
  for (const Setting &setting : settingsOf(framework))
    if (!own.has(setting.field) && (!setting.when || setting.when(given.plan)))
      cantFail(given.set(setting.field, setting.value));
}

std::string tessera::describeSettings(const Plan &plan) {
  static constexpr StringRef fields[] = {"attention",
                                         "dropout",
                                         "eager",
                                         "fused-epilogues",
                                         "fused-loss",
                                         "loss-copies",
                                         "loss-metrics",
                                         "loss-chunks",
                                         "dispatch-once",
                                         "experts-apart",
                                         "overlap-ep",
                                         "keep-gathered",
                                         "pad-to-multiple-of",
                                         "grad-dtype",
                                         "overlap",
                                         "overlap-tp",
                                         "registered-buffers",
                                         "grad-copy-bytes",
                                         "sp",
                                         "f32-parameters",
                                         "stage-layers",
                                         "host-launch-us",
                                         "step-floor-us",
                                         "gather-copy-bytes",
                                         "sums-apart",
                                         "optimizer-copy-bytes"};
  std::string text;
  ListSeparator comma;
  for (StringRef name : fields) {
    const PlanField *field = findPlanField(name);
    std::string value = field->print(plan);
    if (value == "false" || value == "0" ||
        (name == "loss-chunks" && value == "1"))
      continue;
    text += StringRef(comma).str() + name.str();
    if (value != "true")
      text += " " + value;
  }
  const std::pair<bool, StringRef> usual[] = {
      {plan.batchTransfers, "no-batch-transfers"},
      {plan.gradBuffers, "no-grad-buffers"},
      {plan.fusedOptimizer, "no-fused-optimizer"},
      {plan.pxn, "no-pxn"}};
  for (auto [isUsual, name] : usual)
    if (!isUsual)
      text += (StringRef(comma) + name).str();
  return text;
}
