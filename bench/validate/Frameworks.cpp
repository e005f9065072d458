//===- Frameworks.cpp - What frameworks fix where rows are silent ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frameworks.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

/// Layers of each stage by cumulative weight: a stage ends with the layer by
/// which it passes its share of all weight. `head` is the weight of what comes
/// after the layers, in layers.
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

/// Even parts; what is left over goes to the last stages.
static std::vector<double> splitRestLast(int64_t layers, int64_t stages) {
  int64_t least = layers / stages;
  std::vector<double> counts(stages, double(least));
  for (int64_t i = 0; i < layers % stages; ++i)
    ++counts[stages - 1 - i];
  return counts;
}

/// Nanotron's scaling benchmark: gathered inputs of matmuls are kept, f32
/// gradients of all parameters and buckets of 16-bit ones for their reduction;
/// stages of equal FLOPs, the head among them; the first device is read.
static void applyNanotron(PlanRow &row) {
  Plan &l = row.plan;
  const ModelConfig &m = row.model;
  l.eager = l.keepGathered = true;
  l.gradCopyBytes = l.dp > 1 ? 2 : 0;
  row.firstStage = true;
  if (l.pp > 1 && m.hidden > 0) {
    double layer = 4.0 * m.hidden * m.hidden + 3.0 * m.ffn * m.hidden;
    l.stageLayers =
        splitByWeight(m.layers, double(m.vocab) * m.hidden / layer, l.pp);
  }
}

void tessera::validate::applyFrameworkModel(const RowFields &f,
                                            ModelConfig &config) {
  // Nanotron's scaling benchmark has Llama-like models of its own, which tie
  // the head below 4e9 parameters.
  if (f.text("framework") == "nanotron")
    config.tiedHead = config.ffn < 10000;
}

void tessera::validate::applyFrameworkLayout(const RowFields &f, PlanRow &row) {
  StringRef framework = f.text("framework");
  Plan &l = row.plan;
  // Megatron-Bridge runs what NeMo ran before it.
  bool nemo = framework.contains("NeMo") || framework == "Megatron-Bridge";
  bool megatron = framework.contains("Megatron") && !nemo;
  bool nanotron = framework == "nanotron";
  bool torchtitan = framework == "torchtitan";
  StringRef attention = f.text("attention");
  // Megatron's GPT layers of that time: unfused attention, dropout.
  bool naive = attention == "naive" || (attention.empty() && megatron);
  l.attention = naive ? AttentionKind::Naive : AttentionKind::Flash;
  l.dropout = megatron && framework != "Megatron-DeepSpeed";
  l.fusedLoss = nemo;
  l.scatterTransfers = framework != "Megatron-DeepSpeed";
  StringRef sp = f.text("sp");
  l.sp = sp == "yes" || f.text("recompute").contains("SP") ||
         (sp.empty() && (nemo || nanotron || torchtitan) && l.tp > 1);
  StringRef overlap = f.text("overlap");
  l.overlap = overlap == "yes" || (overlap.empty() && !megatron);
  // Its configurations for H100 pipeline gathers and scatters with matmuls.
  l.overlapTp = nemo && l.sp;
  // Gradients are reduced in 16 bits unless the row or the framework says f32.
  StringRef grad = f.text("grad_dtype");
  bool wide =
      grad.contains("32") || f.text("precision").contains("fp32 grad") || nemo;
  l.gradDType = wide ? GradDType::F32 : GradDType::BF16;
  // DeepSpeed's bf16 optimizer adds 16-bit gradients up in f32 beside them.
  if (framework == "Megatron-DeepSpeed" &&
      f.text("precision").contains("fp32 grad")) {
    l.gradDType = GradDType::Both;
    // They are flattened into a copy to be reduced.
    l.gradCopyBytes = 4;
  }
  if (framework == "InternEvo") {
    // At the optimizer's step its gradients are flattened, copied to f32 and
    // unscaled, beside the temporaries of an AdamW that is not fused; its own
    // ZeRO-1 keeps four bytes per parameter more of that than FSDP does.
    l.gradCopyBytes = l.zero == 3 ? 14 : 18;
    if (l.pp > 1)
      l.stageLayers = splitRestLast(row.model.layers, l.pp);
  }
  if (nanotron)
    applyNanotron(row);
  if (torchtitan) {
    // FSDP2 with mixed precision shards f32 parameters and casts them where it
    // gathers them. Without torch.compile each op is a kernel.
    l.f32Parameters = l.zero == 3;
    // With stages it gathers once per step and sums whole gradients, which is
    // ZeRO-1's memory.
    if (l.pp > 1 && l.zero == 3) {
      l.zero = 1;
      l.f32Parameters = false;
    }
    l.eager = f.text("note").contains("eager");
    l.overlapTp = f.text("note").contains("AsyncTP");
  }
  // Over tp Megatron pads the vocabulary to whole tiles on each device.
  if ((megatron || nemo) && l.tp > 1)
    row.model.vocab = alignTo(row.model.vocab, 128 * l.tp);
  // Eager Megatron-DeepSpeed with checkpointed layers issues kernels slowly:
  // its layers take no less than 3 ms however small they are.
  if (framework == "Megatron-DeepSpeed")
    row.hostLaunch = 58e-6;
}
