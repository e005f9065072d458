//===- ApplyStrategy.cpp - Writes the seed shardings of a strategy --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateSharding.h"
#include "StrategySeeds.h"
#include "dialects/Dist/Dist.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Training/Passes.h"
#include "tessera/Training/Strategy.h"

namespace tessera {
#define GEN_PASS_DEF_APPLYSTRATEGYPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The module's mesh, or a new one with these axes.
static FailureOr<dist::MeshOp> getOrCreateMesh(ModuleOp module,
                                               const Mesh &mesh) {
  auto attr = dist::MeshAttr::get(module.getContext(), mesh);
  auto meshes = module.getOps<dist::MeshOp>();
  if (!meshes.empty()) {
    dist::MeshOp existing = *meshes.begin();
    if (existing.getMesh() == attr)
      return existing;
    return existing->emitError() << "expects the mesh of the strategy, " << attr
                                 << ", but got " << existing.getMesh();
  }
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  return dist::MeshOp::create(builder, module.getLoc(), "mesh", attr);
}

namespace {

struct ApplyStrategyPass
    : tessera::impl::ApplyStrategyPassBase<ApplyStrategyPass> {
  using ApplyStrategyPassBase::ApplyStrategyPassBase;
  explicit ApplyStrategyPass(const GivenLayout &layout)
      : givenMesh(layout.mesh), givenStrategy(layout.strategy) {}

  /// Reads the options of a command line if the constructor got none.
  LogicalResult readOptions() {
    auto fail = [&](llvm::Error error) {
      return getOperation().emitError(llvm::toString(std::move(error)));
    };
    if (!givenStrategy) {
      llvm::Expected<Strategy> parsed = parseStrategy(strategy);
      if (!parsed)
        return fail(parsed.takeError());
      givenStrategy = *parsed;
    }
    if (mesh.empty())
      return success();
    llvm::Expected<Mesh> parsed = parseMesh(mesh);
    if (!parsed)
      return fail(parsed.takeError());
    givenMesh = std::move(*parsed);
    return success();
  }

  LogicalResult apply() {
    ModuleOp module = getOperation();
    if (failed(readOptions()))
      return failure();
    const Strategy &plan = *givenStrategy;
    if (!plan.isNone() && !plan.isSearched &&
        module->hasAttr(dist::DistDialect::kDecisionsAttr))
      return module.emitError("expects a strategy or the program's "
                              "dist.decisions but got both");
    if (!givenMesh && module.getOps<dist::MeshOp>().empty())
      return module.emitError() << "strategy '" << print(plan)
                                << "' expects a mesh, given as mesh=dp=2,tp=2 "
                                   "or as a dist.mesh in the program";
    if (givenMesh && plan.pp)
      givenMesh->stageAxis = givenMesh->find("pp");
    FailureOr<dist::MeshOp> meshOp = givenMesh
                                         ? getOrCreateMesh(module, *givenMesh)
                                         : dist::getOnlyMesh(module);
    if (failed(meshOp))
      return failure();
    Mesh plain = meshOp->getMesh().toMesh();
    if (llvm::Error error = checkStrategy(plan, plain))
      return module.emitError(llvm::toString(std::move(error)));
    if (plan.pp && !plain.stageAxis)
      return module.emitError("strategy 'pp' expects a mesh with stage \"pp\" "
                              "but got ")
             << meshOp->getMesh();
    if (plan.isUnseeded() && (plan.isSearched || !plan.pp))
      return success();

    auto attr =
        module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
    bool isTrained = attr && !attr.getPlan().forward;
    if (plan.pp && !attr)
      return module.emitError(
          "strategy 'pp' expects a program of micro-batches "
          "but got one without dist.plan");
    SeedWriter writer(plan, plain,
                      FlatSymbolRefAttr::get(meshOp->getSymNameAttr()),
                      isTrained);
    for (auto func : module.getOps<FunctionOpInterface>())
      if (!func.isExternal())
        writer.seedFunction(func);
    if (llvm::Error error = writer.checkFound())
      return module.emitError(llvm::toString(std::move(error)));
    if (DictionaryAttr context = writer.getContext())
      module->setAttr(dist::DistDialect::kContextAttr, context);
    if (DictionaryAttr experts = writer.getExperts())
      module->setAttr(dist::DistDialect::kExpertsAttr, experts);
    if (isTrained && plan.zero > 0 && plan.hasOwnAxes())
      module->setAttr(
          dist::DistDialect::kStateAxesAttr,
          dist::AxesAttr::get(&getContext(), plain, getStateAxes(plan, plain)));
    if (plan.pp && plain.sizes[*plain.stageAxis] == 1)
      remark::analysis(
          module.getLoc(),
          remark::RemarkOpts::name("OneStage").category("strategy"))
          << remark::add("pp splits nothing: its axis has size 1");
    if (!isTrained && (plan.zero == 1 || plan.zero == 2))
      remark::analysis(
          module.getLoc(),
          remark::RemarkOpts::name("NothingToSeed").category("strategy"))
          << remark::add("zero={0} shards training state, of which a forward "
                         "program has none: it seeds nothing",
                         plan.zero);
    return success();
  }

  void runOnOperation() override {
    if (failed(apply()))
      signalPassFailure();
  }

  std::optional<Mesh> givenMesh;
  std::optional<Strategy> givenStrategy;
};

} // namespace

std::unique_ptr<Pass>
tessera::createApplyStrategyPass(const GivenLayout &layout) {
  return std::make_unique<ApplyStrategyPass>(layout);
}
