//===- CheckProgram.cpp - What is asked of a program ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckProgram.h"

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tessera;

bool tessera::isLocal(mlir::ModuleOp module) {
  return llvm::any_of(module.getOps<mlir::func::FuncOp>(),
                      [](mlir::func::FuncOp func) {
                        return func->hasAttr(dist::DistDialect::kLocalAttr);
                      });
}

bool tessera::isScheduled(mlir::ModuleOp module) {
  return llvm::any_of(module.getOps<mlir::func::FuncOp>(),
                      [](mlir::func::FuncOp func) {
                        return func->hasAttr(rt::RTDialect::kArenaBytesAttr);
                      });
}

void tessera::warnIfCopied(mlir::ModuleOp module,
                           const PipelineOptions &phases) {
  if (!phases.layout.mesh || phases.layout.mesh->numDevices() < 2 ||
      !phases.layout.strategy.isNone() || phases.shardings || isLocal(module))
    return;
  mlir::WalkResult found = module.walk([](mlir::Operation *op) {
    bool says = mlir::isa<dist::ConstraintOp, dist::ReshardOp>(op);
    op->getAttrDictionary().walk([&](dist::ShardingAttr) { says = true; });
    return says ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  if (!found.wasInterrupted())
    llvm::errs() << llvm::formatv(
        "tessera compile: warning: --mesh without --strategy, and no shardings "
        "in the program: each of {0} devices computes all of it; expects "
        "--strategy dp, or auto\n",
        phases.layout.mesh->numDevices());
}

llvm::Error tessera::checkShardings(mlir::ModuleOp module,
                                    const PipelineOptions &phases,
                                    std::optional<Phase> last) {
  if (!phases.shardings && !phases.shardingsOut)
    return llvm::Error::success();
  llvm::StringRef option = phases.shardings ? "--shardings" : "--shardings-out";
  if (isLocal(module))
    return llvm::createStringError(
        option + " expects a program that is not partitioned");
  if (!phases.shardingsOut)
    return llvm::Error::success();
  if (last && *last < Phase::Propagate)
    return llvm::createStringError(
        "--shardings-out expects phase propagate or a later one but got "
        "--compile-to=" +
        stringifyPhase(*last));
  if (module.getOps<dist::MeshOp>().empty() && !phases.layout.mesh &&
      phases.layout.strategy.isNone())
    return llvm::createStringError("--shardings-out expects a mesh");
  return llvm::Error::success();
}
