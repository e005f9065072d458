//===- PlanTraining.cpp - Applies a plan to a module with a loss ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSharding.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/TypeUtilities.h"
#include "tessera/Training/Passes.h"
#include "tessera/Training/TrainedFunction.h"
#include "tessera/Training/TrainingPlan.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_PLANTRAININGPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The precision of parameters that already are narrow.
static Precision getPrecision(const TrainedFunction &trained) {
  for (BlockArgument parameter : trained.parameters) {
    Type element = getElementTypeOrSelf(parameter.getType());
    if (element.isBF16())
      return Precision::BF16;
    if (element.isF16())
      return Precision::F16;
  }
  return Precision::F32;
}

/// Sizes of the inputs of a forward function.
namespace {
struct BatchSizes {
  /// Sequences, or other elements of the batch; 0 without inputs.
  int64_t batch = 0;
  /// Size of the dimension "seq"; 0 if there is none.
  int64_t seq = 0;
};
} // namespace

static BatchSizes getBatchSizes(const TrainedFunction &trained) {
  BatchSizes sizes;
  func::FuncOp function = trained.function;
  for (auto [input, batchDim] : llvm::zip(trained.inputs, trained.batchDims)) {
    auto type = cast<RankedTensorType>(input.getType());
    if (batchDim < type.getRank())
      sizes.batch = type.getDimSize(batchDim);
    auto dims = function.getArgAttrOfType<ArrayAttr>(input.getArgNumber(),
                                                     nn::NNDialect::kDimsAttr);
    for (auto [i, name] : llvm::enumerate(getDimNames(dims)))
      if (name == "seq")
        sizes.seq = type.getDimSize(i);
  }
  return sizes;
}

/// Takes the batch from the program; fails if the plan differs.
static llvm::Error completeBatch(Plan &plan, const GivenPlan &given,
                                 const BatchSizes &sizes) {
  if (given.has("seq") && sizes.seq && plan.seq != sizes.seq)
    return llvm::createStringError(
        llvm::formatv("seq: expects the {0} tokens of the program's "
                      "sequences but got {1}",
                      sizes.seq, plan.seq));
  if (sizes.seq)
    plan.seq = sizes.seq;
  if (!sizes.batch)
    return llvm::Error::success();
  if (!given.has("global-batch") && !given.has("micro-batch")) {
    plan.microBatch =
        llvm::divideCeil(sizes.batch, plan.microBatches * plan.dp);
    return llvm::Error::success();
  }
  if (plan.globalBatch() == sizes.batch)
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv("global-batch: expects the {0} sequences of the "
                    "program's batch but got {1}",
                    sizes.batch, plan.globalBatch()));
}

namespace {
struct PlanTrainingPass
    : tessera::impl::PlanTrainingPassBase<PlanTrainingPass> {
  using PlanTrainingPassBase::PlanTrainingPassBase;
  explicit PlanTrainingPass(const GivenLayout &layout) : layout(layout) {}

  /// Reads the options of a command line.
  LogicalResult initialize(MLIRContext *context) override {
    auto fail = [&](llvm::Error error) {
      return emitError(UnknownLoc::get(context),
                       llvm::toString(std::move(error)));
    };
    if (llvm::Error error = layout.plan.parse(settings))
      return fail(std::move(error));
    if (llvm::Error error = layout.plan.complete())
      return fail(std::move(error));
    if (!mesh.empty()) {
      llvm::Expected<Mesh> parsed = parseMesh(mesh);
      if (!parsed)
        return fail(parsed.takeError());
      layout.mesh = std::move(*parsed);
    }
    if (strategy.empty())
      return success();
    llvm::Expected<Strategy> parsed = parseStrategy(strategy);
    if (!parsed)
      return fail(parsed.takeError());
    layout.strategy = *parsed;
    return success();
  }

  /// Whether a given field concerns more than devices.
  bool saysTraining() const {
    return llvm::any_of(getFields<Plan>(), [&](const PlanField &field) {
      return !(field.uses & FieldUse::kDevices) && layout.plan.has(field.name);
    });
  }
  bool saysDevices() const {
    return llvm::any_of(getFields<Plan>(), [&](const PlanField &field) {
      return (field.uses & FieldUse::kDevices) && layout.plan.has(field.name);
    });
  }

  /// The mesh of the options, or else of the program.
  Mesh findMesh() {
    if (layout.mesh)
      return *layout.mesh;
    auto meshes = getOperation().getOps<dist::MeshOp>();
    return llvm::hasSingleElement(meshes) ? (*meshes.begin()).getMesh().toMesh()
                                          : Mesh();
  }

  LogicalResult makePlan(const TrainedFunction &trained) {
    ModuleOp module = getOperation();
    Plan plan = layout.plan.plan;
    if (!layout.plan.has("precision"))
      plan.precision = getPrecision(trained);
    if (!saysDevices())
      setLayout(plan, layout.strategy, findMesh());
    llvm::Error error =
        completeBatch(plan, layout.plan, getBatchSizes(trained));
    if (!error)
      error = checkCompiled(plan);
    if (error)
      return module.emitError(llvm::toString(std::move(error)));
    auto attr = dist::PlanAttr::getChecked([&] { return module.emitError(); },
                                           &getContext(), plan);
    if (!attr)
      return failure();
    module->setAttr(dist::DistDialect::kPlanAttr, attr);
    return success();
  }

  /// A forward program needs a plan if it has micro-batches or stages.
  LogicalResult planForward() {
    Plan plan = layout.plan.plan;
    if (!saysDevices())
      setLayout(plan, layout.strategy, findMesh());
    if (plan.pp == 1 && plan.microBatches == 1)
      return success();
    FailureOr<TrainedFunction> forward = findForwardFunction(getOperation());
    return failed(forward) ? failure() : makePlan(*forward);
  }

  LogicalResult plan() {
    ModuleOp module = getOperation();
    if (auto attr = module->getAttrOfType<dist::PlanAttr>(
            dist::DistDialect::kPlanAttr)) {
      if (saysTraining())
        return module.emitError("expects settings of training or a dist.plan "
                                "in the program but got both");
      int64_t zero = layout.strategy.zero, planned = attr.getPlan().zero;
      if (zero != 0 && zero != planned)
        return module.emitError("expects the zero of the program's dist.plan, ")
               << planned << ", but got zero=" << zero;
      return success();
    }
    if (layout.plan.plan.forward)
      return planForward();
    FailureOr<std::optional<TrainedFunction>> trained =
        findTrainedFunction(module);
    if (failed(trained))
      return failure();
    if (*trained)
      return makePlan(**trained);
    if (!saysTraining())
      return success();
    return module.emitError("settings of training expect a function with "
                            "parameters (nn.param) that returns \"loss_sum\" "
                            "or \"loss\" (nn.output) but got none");
  }

  void runOnOperation() override {
    if (failed(plan()))
      signalPassFailure();
  }

  GivenLayout layout;
};
} // namespace

std::unique_ptr<Pass>
tessera::createPlanTrainingPass(const GivenLayout &layout) {
  return std::make_unique<PlanTrainingPass>(layout);
}
