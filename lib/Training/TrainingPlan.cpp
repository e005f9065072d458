//===- TrainingPlan.cpp - Plans that can be compiled ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/TrainingPlan.h"
#include "tessera/Plan/PlanFields.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tessera;

std::optional<Mesh> tessera::getMesh(const Layout &layout) {
  Mesh mesh;
  const std::pair<const char *, int64_t> axes[] = {{"pp", layout.pp},
                                                   {"dp", layout.dp},
                                                   {"cp", layout.cp},
                                                   {"tp", layout.tp}};
  for (auto [name, size] : axes)
    if (size > 1) {
      mesh.names.push_back(name);
      mesh.sizes.push_back(size);
    }
  if (mesh.names.empty())
    return std::nullopt;
  return mesh;
}

Strategy tessera::getStrategy(const Layout &layout) {
  Strategy strategy;
  strategy.pp = layout.pp > 1;
  strategy.dp = layout.dp > 1;
  strategy.cp = layout.cp > 1;
  strategy.context = layout.cpMethod;
  strategy.tp = layout.tp > 1;
  strategy.sp = layout.sp && layout.tp > 1;
  strategy.ep = layout.ep;
  strategy.etp = layout.etp && layout.ep > 1 && layout.tp > 1;
  strategy.zero = layout.dp * layout.cp > 1 ? layout.zero : 0;
  return strategy;
}

void tessera::setLayout(Layout &layout, const Strategy &strategy,
                        const Mesh &mesh) {
  auto size = [&](const AxisNames &names) {
    return numShards(getAxes(names, mesh));
  };
  layout.pp = strategy.pp ? size({"pp"}) : 1;
  layout.dp = strategy.dp ? size(strategy.dpAxes) : 1;
  layout.cp = strategy.cp ? size(strategy.cpAxes) : 1;
  layout.cpMethod = strategy.context;
  layout.tp = strategy.tp ? size(strategy.tpAxes) : 1;
  layout.sp = strategy.tp && strategy.sp;
  layout.ep = strategy.ep;
  layout.etp = strategy.etp || strategy.ep == 1 || layout.tp == 1;
  // A plan has no experts over a part of tp.
  if (!layout.etp && layout.ep % layout.tp != 0) {
    layout.ep = 1;
    layout.etp = true;
  }
  layout.zero = strategy.zero;
}

llvm::Error tessera::checkCompiled(const Plan &plan) {
  auto expects = [](llvm::StringRef name, const llvm::Twine &what,
                    llvm::StringRef got) {
    return llvm::createStringError(name + ": expects " + what +
                                   " to be compiled but got " + got);
  };
  for (const PlanField &field : getFields<Plan>())
    if ((field.uses & FieldUse::kOnlyPriced) && !field.isDefault(plan))
      return expects(field.name, field.print(Plan()), field.print(plan));
  if (plan.moeRoom > 0 && plan.moeRoom < 1)
    return expects("moe-room", "a number of at least 1",
                   llvm::formatv("{0}", plan.moeRoom).str());
  if (plan.scatter == Scatter::Round)
    return expects("zero2-reduce", "each or last", stringify(plan.scatter));
  if (plan.precision > Precision::FP8)
    return expects("precision", "f32, bf16, f16 or fp8",
                   stringify(plan.precision));
  if (plan.recompute == Recompute::Matmuls)
    return expects("recompute", "none, selective, full or auto=BYTES",
                   stringify(plan.recompute));
  if (plan.gradDType == GradDType::Both)
    return expects("grad-dtype", "f32 or bf16", stringify(plan.gradDType));
  if (plan.optimizer != OptimizerKind::AdamW &&
      plan.optimizer != OptimizerKind::SGD)
    return expects("optimizer", "adamw or sgd", stringify(plan.optimizer));
  return llvm::Error::success();
}
