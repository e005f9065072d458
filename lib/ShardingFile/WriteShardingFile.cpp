//===- WriteShardingFile.cpp - The pass that writes a sharding file -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileTensors.h"
#include "Modules.h"
#include "TensorView.h"
#include "dialects/Dist/Dist.h"
#include "tessera/ShardingFile/Passes.h"
#include "tessera/Training/TrainingPlan.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// The content
//===----------------------------------------------------------------------===//

/// Gives a tensor the axes that all of its views agree on, if they do.
static void joinViews(ShardedTensor &tensor) {
  for (const ShardedView &view : tensor.views) {
    std::optional<DimAxes> axes = getTensorAxes(view, tensor.shape);
    bool isFirst = &view == &tensor.views.front();
    if (!axes || (!isFirst && (*axes != tensor.axes ||
                               view.isPropagated != tensor.isPropagated))) {
      tensor.axes = std::nullopt;
      return;
    }
    tensor.axes = axes;
    tensor.isPropagated = view.isPropagated;
  }
}

/// Takes the plan of a training step, or the layout of a forward program.
static GivenPlan getPlan(ModuleOp module, const ShardingRecord &record,
                         const Mesh &mesh) {
  Plan plan;
  if (auto attr =
          module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr))
    plan = attr.getPlan();
  else if (record.strategy)
    setLayout(plan, *record.strategy, mesh);
  GivenPlan given;
  setLayoutFields(given, plan);
  return given;
}

/// The ZeRO level of a training step or, without a plan, of the strategy.
static int64_t getZero(ModuleOp module, const ShardingRecord &record) {
  if (auto plan =
          module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr))
    return plan.getPlan().zero;
  return record.strategy ? record.strategy->zero : 0;
}

static FailureOr<ShardingFile> makeFile(ModuleOp module,
                                        const ShardingRecord &record) {
  FailureOr<dist::MeshOp> meshOp = dist::getOnlyMesh(module);
  FailureOr<std::vector<FileArgument>> arguments = listFileArguments(module);
  if (failed(meshOp) || failed(arguments))
    return failure();
  ShardingFile file;
  file.mesh = meshOp->getMesh().toMesh();
  file.strategy = record.strategy;
  if (file.strategy && file.strategy->isNone())
    file.strategy = std::nullopt;
  file.plan = getPlan(module, record, file.mesh);
  file.decisions = record.decisions;
  bool isGathered = getZero(module, record) == 3;
  for (FileArgument &argument : *arguments) {
    DimAxes axes = getAxesInUse(argument, file.mesh, isGathered);
    if (!argument.isParameter) {
      bool isPropagated = !record.seeded.contains(argument.key);
      file.inputs[argument.key] = {argument.shape, axes, isPropagated};
      continue;
    }
    argument.view.axes = axes;
    argument.view.isPropagated = !record.seeded.contains(argument.view.name);
    ShardedTensor &tensor = file.tensors[argument.key];
    tensor.shape = argument.shape;
    tensor.views.push_back(argument.view);
  }
  for (auto &entry : file.tensors)
    joinViews(entry.second);
  file.modules = findModules(module, file.mesh);
  return file;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

class KeepStrategyPass
    : public PassWrapper<KeepStrategyPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepStrategyPass)

  KeepStrategyPass(std::shared_ptr<ShardingRecord> record,
                   const Strategy &strategy)
      : record(std::move(record)), strategy(strategy) {}
  StringRef getName() const override { return "KeepStrategyPass"; }
  void runOnOperation() override {
    record->strategy = strategy;
    markAllAnalysesPreserved();
  }

private:
  std::shared_ptr<ShardingRecord> record;
  Strategy strategy;
};

class KeepSeedsPass
    : public PassWrapper<KeepSeedsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepSeedsPass)

  explicit KeepSeedsPass(std::shared_ptr<ShardingRecord> record)
      : record(std::move(record)) {}
  StringRef getName() const override { return "KeepSeedsPass"; }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto decisions = getOperation()->getAttrOfType<StringAttr>(
        dist::DistDialect::kDecisionsAttr);
    record->decisions = decisions ? decisions.getValue().str() : "";
    FailureOr<std::vector<FileArgument>> arguments =
        listFileArguments(getOperation());
    if (failed(arguments))
      return signalPassFailure();
    record->seeded.clear();
    for (const FileArgument &argument : *arguments)
      if (decisions || dist::getSharding(argument.argument))
        record->seeded.insert(argument.isParameter ? argument.view.name
                                                   : argument.key);
  }

private:
  std::shared_ptr<ShardingRecord> record;
};

class WriteShardingFilePass
    : public PassWrapper<WriteShardingFilePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WriteShardingFilePass)

  explicit WriteShardingFilePass(std::shared_ptr<ShardingRecord> record)
      : record(std::move(record)) {}
  StringRef getName() const override { return "WriteShardingFilePass"; }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<ShardingFile> file = makeFile(getOperation(), *record);
    if (failed(file))
      return signalPassFailure();
    std::error_code code;
    llvm::raw_fd_ostream os(record->path, code);
    if (code) {
      getOperation().emitError("shardings: cannot write ")
          << record->path << ": " << code.message();
      return signalPassFailure();
    }
    printShardingFile(*file, os);
  }

private:
  std::shared_ptr<ShardingRecord> record;
};

} // namespace

std::unique_ptr<Pass>
tessera::createKeepStrategyPass(std::shared_ptr<ShardingRecord> record,
                                const Strategy &strategy) {
  return std::make_unique<KeepStrategyPass>(std::move(record), strategy);
}

std::unique_ptr<Pass>
tessera::createKeepSeedsPass(std::shared_ptr<ShardingRecord> record) {
  return std::make_unique<KeepSeedsPass>(std::move(record));
}

std::unique_ptr<Pass>
tessera::createWriteShardingFilePass(std::shared_ptr<ShardingRecord> record) {
  return std::make_unique<WriteShardingFilePass>(std::move(record));
}
