//===- plan_speed.cpp - Seconds to price layouts of llama3-405b -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices 10,000 layouts on 16,384 devices one after the other, on one core, as
// a search does: once from scratch, once with all layers priced. Prints one
// JSON line for each.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanPricer.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <chrono>

using namespace tessera;
using namespace tessera::cost;

/// All layouts of 16,384 devices that pass their own checks, up to `most`.
static std::vector<cost::ExecutedPlan> makeLayouts(const ModelConfig &config,
                                                   size_t most) {
  std::vector<cost::ExecutedPlan> layouts;
  cost::ExecutedPlan l;
  l.precision = Precision::BF16;
  l.seq = 8192;
  struct Pipeline {
    ScheduleKind schedule;
    int64_t vpp;
  };
  constexpr Pipeline kPipelines[] = {
      {ScheduleKind::OneFOneB, 1},     {ScheduleKind::Interleaved, 2},
      {ScheduleKind::Interleaved, 4},  {ScheduleKind::ZeroBubbleH1, 1},
      {ScheduleKind::ZeroBubbleH2, 1}, {ScheduleKind::Interleaved, 8},
      {ScheduleKind::GPipe, 1}};
  for (int64_t tp : {1, 2, 4, 8, 16})
    for (int64_t cp : {1, 2, 4})
      for (int64_t pp : {1, 2, 4, 8, 16, 32, 64})
        for (int64_t mb : {1, 2})
          for (int zero : {0, 1, 2, 3})
            for (Recompute recompute : {Recompute::None, Recompute::Full})
              for (bool sp : {false, true})
                for (const Pipeline &pipeline : kPipelines) {
                  l.tp = tp;
                  l.cp = cp;
                  l.cpMethod = {ContextMethod::AllGather, 0};
                  l.pp = pp;
                  l.dp = 16384 / (tp * cp * pp);
                  l.microBatch = mb;
                  l.zero = zero;
                  l.recompute = recompute;
                  l.sp = sp;
                  l.schedule = pipeline.schedule;
                  l.vpp = pipeline.vpp;
                  bool repeats =
                      (sp && tp == 1) ||
                      (pp == 1 && l.schedule != ScheduleKind::OneFOneB);
                  if (repeats || errorToBool(l.setGlobalBatch(2048)) ||
                      errorToBool(l.check()) ||
                      errorToBool(l.checkModel(config.heads, config.kvHeads,
                                               config.ffn, config.layers)))
                    continue;
                  layouts.push_back(l);
                  if (layouts.size() == most)
                    return layouts;
                }
  return layouts;
}

/// Prices all layouts; prints the figures.
static bool measure(PlanPricer &pricer,
                    const std::vector<cost::ExecutedPlan> &layouts,
                    const char *state) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> micros;
  size_t fitting = 0;
  auto start = Clock::now();
  for (const cost::ExecutedPlan &plan : layouts) {
    auto before = Clock::now();
    llvm::Expected<PlanPrice> price = pricer.price(plan);
    if (!price) {
      llvm::errs() << "plan_speed: " << llvm::toString(price.takeError())
                   << "\n";
      return false;
    }
    fitting += price->fits;
    micros.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - before)
            .count());
  }
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::sort(micros.begin(), micros.end());
  llvm::outs() << llvm::formatv(
      R"({{"bench": "plan_speed", "model": "llama3-405b", "gpus": 16384, )"
      R"("state": "{0}", "layouts": {1}, "fitting": {2}, "seconds": {3:f3}, )"
      R"("median_us": {4:f1}, "p99_us": {5:f1}, "priced_models": {6}})",
      state, layouts.size(), fitting, seconds, micros[micros.size() / 2],
      micros[micros.size() * 99 / 100], pricer.numPricedModels());
  llvm::outs() << "\n";
  return true;
}

int main() {
  llvm::Expected<ModelConfig> config =
      readModelConfig(TESSERA_SHARE "/models/llama3-405b.json");
  llvm::Expected<ClusterSpec> cluster =
      readClusterSpec(TESSERA_SHARE "/clusters/h100-sxm-ib.json");
  if (!config || !cluster) {
    if (!config)
      llvm::errs() << llvm::toString(config.takeError()) << "\n";
    if (!cluster)
      llvm::errs() << llvm::toString(cluster.takeError()) << "\n";
    return 1;
  }
  std::vector<cost::ExecutedPlan> layouts = makeLayouts(*config, 10000);
  PlanPricer pricer(*config, *cluster);
  return measure(pricer, layouts, "cold") && measure(pricer, layouts, "warm")
             ? 0
             : 1;
}
