//===- KeepReference.cpp - The program before it is partitioned -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A proof needs the original program. Passes of one run share a copy of it. In
// a file, the original functions stay next to the functions made from them,
// private and named by dist.reference.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Proof/Passes.h"
#include "tessera/Proof/VerifyPartition.h"

namespace tessera {
#define GEN_PASS_DEF_DROPREFERENCESPASS
#include "tessera/Proof/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using dist::DistDialect;

namespace {

class KeepReferencePass
    : public PassWrapper<KeepReferencePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepReferencePass)

  explicit KeepReferencePass(std::shared_ptr<ReferenceProgram> reference)
      : reference(std::move(reference)) {}
  StringRef getName() const override { return "KeepReferencePass"; }

  void runOnOperation() override {
    reference->module = getOperation().clone();
    markAllAnalysesPreserved();
  }

private:
  std::shared_ptr<ReferenceProgram> reference;
};

class AddReferencePass
    : public PassWrapper<AddReferencePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddReferencePass)

  explicit AddReferencePass(std::shared_ptr<ReferenceProgram> reference)
      : reference(std::move(reference)) {}
  StringRef getName() const override { return "AddReferencePass"; }

  void runOnOperation() override {
    std::shared_ptr<ReferenceProgram> program = std::move(reference);
    ModuleOp module = getOperation(), kept = *program->module;
    SymbolTable symbols(module), keptSymbols(kept);
    // Chooses names that are free in both modules, and renames callees along.
    SmallVector<func::FuncOp> locals(module.getOps<func::FuncOp>());
    for (func::FuncOp local : locals) {
      if (!local->hasAttr(DistDialect::kLocalAttr))
        continue;
      auto function = keptSymbols.lookup<func::FuncOp>(local.getName());
      if (!function || function.isExternal())
        continue;
      FailureOr<StringAttr> name = keptSymbols.renameToUnique(
          function, SmallVector<SymbolTable *>{&symbols});
      if (failed(name))
        return signalPassFailure();
      local->setAttr(DistDialect::kReferenceAttr,
                     FlatSymbolRefAttr::get(*name));
    }
    for (func::FuncOp local : locals) {
      auto name =
          local->getAttrOfType<FlatSymbolRefAttr>(DistDialect::kReferenceAttr);
      if (!name)
        continue;
      auto function = keptSymbols.lookup<func::FuncOp>(name.getValue());
      if (!function)
        continue;
      func::FuncOp copy = function.clone();
      copy.setPrivate();
      // Drops shardings of values inside: they are not part of the computation.
      copy->walk([](Operation *op) {
        op->removeDiscardableAttr(DistDialect::kShardingsAttr);
        op->removeDiscardableAttr(DistDialect::kWhyAttr);
      });
      symbols.insert(copy);
    }
  }

private:
  std::shared_ptr<ReferenceProgram> reference;
};

struct DropReferencesPass
    : tessera::impl::DropReferencesPassBase<DropReferencesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SetVector<Operation *> dropped;
    for (auto local : module.getOps<FunctionOpInterface>()) {
      auto name =
          local->getAttrOfType<FlatSymbolRefAttr>(DistDialect::kReferenceAttr);
      if (!name || !local->hasAttr(DistDialect::kLocalAttr))
        continue;
      local->removeAttr(DistDialect::kReferenceAttr);
      auto function = symbols.lookup<FunctionOpInterface>(name.getValue());
      if (function && function.isPrivate())
        dropped.insert(function);
    }
    // Drops functions that still call one another together.
    for (Operation *function : dropped)
      function->dropAllReferences();
    for (Operation *function : dropped)
      symbols.erase(function);
  }
};

} // namespace

std::unique_ptr<Pass>
tessera::createKeepReferencePass(std::shared_ptr<ReferenceProgram> reference) {
  return std::make_unique<KeepReferencePass>(std::move(reference));
}

std::unique_ptr<Pass>
tessera::createAddReferencePass(std::shared_ptr<ReferenceProgram> reference) {
  return std::make_unique<AddReferencePass>(std::move(reference));
}
