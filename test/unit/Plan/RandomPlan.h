//===- RandomPlan.h - Plans drawn at random ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_PLAN_RANDOMPLAN_H
#define TESSERA_TEST_UNIT_PLAN_RANDOMPLAN_H

#include "tessera/Plan/PlanFields.h"
#include <random>

namespace tessera {

/// A plan with random fields, each different from its default.
inline Plan draw(unsigned seed) {
  std::mt19937 random(seed);
  static const std::vector<std::pair<const char *, std::vector<const char *>>>
      kValues = {{"dp", {"2", "8"}},
                 {"tp", {"2", "4"}},
                 {"pp", {"4"}},
                 {"cp", {"2"}},
                 {"ep", {"2"}},
                 {"etp", {"false"}},
                 {"sp", {"true"}},
                 {"zero", {"1", "2", "3"}},
                 {"zero2-reduce", {"round", "last"}},
                 {"shard-ranks", {"2"}},
                 {"seq", {"2048"}},
                 {"micro-batch", {"2", "4"}},
                 {"micro-batches", {"3", "16"}},
                 {"schedule", {"gpipe", "interleaved", "zb-1p"}},
                 {"vpp", {"2"}},
                 {"stage-layers", {"7,8.5,8,6.5", "even"}},
                 {"recompute", {"selective", "full", "matmuls", "auto=100"}},
                 {"checkpoint-every", {"2"}},
                 {"precision", {"bf16", "f16", "fp8"}},
                 {"grad-dtype", {"bf16", "bf16+f32"}},
                 {"f32-parameters", {"true"}},
                 {"weight-bytes", {"1"}},
                 {"optimizer", {"adamw-no-master", "adamw-8bit", "sgd"}},
                 {"offload", {"host", "nvme"}},
                 {"dropout", {"true"}},
                 {"keep-gathered", {"true"}},
                 {"lora-rank", {"16"}},
                 {"overlap", {"false"}},
                 {"overlap-tp", {"true"}},
                 {"lr", {"0.1234567890123456", "3e-05"}},
                 {"warmup", {"10"}},
                 {"total-steps", {"100", "200"}},
                 {"min-lr", {"1e-06"}},
                 {"beta1", {"0.8"}},
                 {"beta2", {"0.999"}},
                 {"eps", {"1e-10"}},
                 {"weight-decay", {"0"}},
                 {"momentum", {"0.9"}},
                 {"clip", {"0"}},
                 {"groups", {"*.gamma:decay=0;w?:lr=0.5:decay=1"}},
                 {"loss-scale", {"1024"}},
                 {"scale-window", {"7"}}};
  GivenPlan given;
  for (const auto &[name, values] : kValues)
    if (random() % 2)
      llvm::cantFail(given.set(name, values[random() % values.size()]));
  if (given.has("total-steps"))
    given.plan.lrSchedule = LearningRateKind::Cosine;
  return given.plan;
}

} // namespace tessera

#endif // TESSERA_TEST_UNIT_PLAN_RANDOMPLAN_H
