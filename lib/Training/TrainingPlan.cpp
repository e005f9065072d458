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

std::optional<Mesh> tessera::getMesh(const Plan &plan) {
  Mesh mesh;
  const std::pair<const char *, int64_t> axes[] = {
      {"pp", plan.pp}, {"dp", plan.dp}, {"cp", plan.cp}, {"tp", plan.tp}};
  for (auto [name, size] : axes)
    if (size > 1) {
      mesh.names.push_back(name);
      mesh.sizes.push_back(size);
    }
  if (mesh.names.empty())
    return std::nullopt;
  return mesh;
}

Strategy tessera::getStrategy(const Plan &plan) {
  Strategy strategy;
  strategy.pp = plan.pp > 1;
  strategy.dp = plan.dp > 1;
  strategy.cp = plan.cp > 1;
  strategy.context = plan.cpMethod;
  strategy.tp = plan.tp > 1;
  strategy.sp = plan.sp && plan.tp > 1;
  strategy.zero = plan.dp * plan.cp > 1 ? plan.zero : 0;
  return strategy;
}

void tessera::setLayout(Plan &plan, const Strategy &strategy,
                        const Mesh &mesh) {
  auto size = [&](const AxisNames &names) {
    return numShards(getAxes(names, mesh));
  };
  plan.pp = strategy.pp ? size({"pp"}) : 1;
  plan.dp = strategy.dp ? size(strategy.dpAxes) : 1;
  plan.cp = strategy.cp ? size(strategy.cpAxes) : 1;
  plan.cpMethod = strategy.context;
  plan.tp = strategy.tp ? size(strategy.tpAxes) : 1;
  plan.sp = strategy.tp && strategy.sp;
  plan.zero = strategy.zero;
}

llvm::Error tessera::checkCompiled(const Plan &plan) {
  auto expects = [](llvm::StringRef name, llvm::StringRef what,
                    llvm::StringRef got) {
    return llvm::createStringError(name + ": expects " + what +
                                   " to be compiled but got " + got);
  };
  for (const PlanField &field : getPlanFields())
    if ((field.uses & PlanField::kOnlyPriced) && !field.isDefault(plan))
      return expects(field.name, field.print(Plan()), field.print(plan));
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
