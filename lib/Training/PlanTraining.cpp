//===- PlanTraining.cpp - Puts a plan on a module with a loss -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "tessera/Training/Passes.h"
#include "tessera/Training/TrainedFunction.h"
#include "tessera/Training/TrainingPlan.h"

namespace tessera {
#define GEN_PASS_DEF_PLANTRAININGPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The precision of parameters that are narrow already.
static StringRef getPrecision(const TrainedFunction &trained) {
  for (BlockArgument parameter : trained.parameters) {
    Type element = getElementTypeOrSelf(parameter.getType());
    if (element.isBF16())
      return "bf16";
    if (element.isF16())
      return "f16";
  }
  return "f32";
}

namespace {
struct PlanTrainingPass
    : tessera::impl::PlanTrainingPassBase<PlanTrainingPass> {
  using PlanTrainingPassBase::PlanTrainingPassBase;

  LogicalResult plan() {
    ModuleOp module = getOperation();
    if (auto given = module->getAttrOfType<dist::PlanAttr>(
            dist::DistDialect::kPlanAttr)) {
      if (!settings.empty())
        return module.emitError("expects settings of training or a dist.plan "
                                "in the program but got both");
      if (zero != 0 && zero != given.getZero())
        return module.emitError("expects the zero of the program's dist.plan, ")
               << given.getZero() << ", but got zero=" << zero.getValue();
      return success();
    }
    FailureOr<std::optional<TrainedFunction>> trained =
        findTrainedFunction(module);
    if (failed(trained))
      return failure();
    if (!*trained) {
      if (settings.empty())
        return success();
      return module.emitError("settings of training expect a function with "
                              "parameters (nn.param) that returns \"loss_sum\" "
                              "or \"loss\" (nn.output) but got none");
    }
    PlanSettings list;
    bool hasPrecision = false;
    SmallVector<StringRef> parts;
    StringRef(settings).split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef part : parts) {
      auto [name, value] = part.split('=');
      list.emplace_back(name.str(), value.str());
      hasPrecision |= name == "precision";
    }
    if (!hasPrecision)
      list.emplace_back("precision", getPrecision(**trained).str());
    std::string error;
    std::optional<dist::PlanAttr> plan =
        parsePlan(&getContext(), list, zero, error);
    if (!plan)
      return module.emitError(error);
    module->setAttr(dist::DistDialect::kPlanAttr, *plan);
    return success();
  }

  void runOnOperation() override {
    if (failed(plan()))
      signalPassFailure();
  }
};
} // namespace
