//===- VerifyPartition.cpp - Proves that local functions are right --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Proof/VerifyPartition.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Proof/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYPARTITIONPASS
#include "tessera/Proof/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using dist::DistDialect;

/// The function `name` of a module, if it has global types.
static FunctionOpInterface findGlobal(ModuleOp module, StringRef name) {
  auto func = module.lookupSymbol<FunctionOpInterface>(name);
  bool isGlobal =
      func && !func.isExternal() && !func->hasAttr(DistDialect::kLocalAttr);
  return isGlobal ? func : FunctionOpInterface();
}

namespace {

struct VerifyPartitionPass
    : tessera::impl::VerifyPartitionPassBase<VerifyPartitionPass> {
  VerifyPartitionPass() = default;
  explicit VerifyPartitionPass(std::shared_ptr<ReferenceProgram> kept)
      : kept(std::move(kept)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Takes the kept program: this is its last use.
    std::shared_ptr<ReferenceProgram> program = std::move(kept);
    for (auto func : module.getOps<FunctionOpInterface>())
      if (func->hasAttr(DistDialect::kLocalAttr) && !func.isExternal() &&
          failed(verifyFunction(func, program.get())))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verifyFunction(FunctionOpInterface func,
                               ReferenceProgram *program) {
    // The functions of pp ranks are proven together, in the pipelines right
    // after this pass.
    if (func->hasAttr(DistDialect::kPPRankAttr)) {
      if (!program)
        func.emitWarning("not proven here, as a function of one pp rank: "
                         "dist-check-pipelines proves those of all");
      return success();
    }
    FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(getOperation());
    if (failed(mesh))
      return failure();
    FunctionOpInterface reference;
    if (program && program->module)
      reference = findGlobal(*program->module, func.getName());
    if (auto name =
            func->getAttrOfType<FlatSymbolRefAttr>(DistDialect::kReferenceAttr);
        name && !reference) {
      reference = findGlobal(getOperation(), name.getValue());
      if (!reference)
        return func.emitError("expects ")
               << DistDialect::kReferenceAttr
               << " to name a function on global types but got " << name;
    }
    if (failed(verifyPartition(func, mesh->getMesh().toMesh(), reference)
                   .report()))
      return failure();
    if (std::string trust = describeTrust(reference ? reference : func);
        !trust.empty())
      remark::analysis(
          func.getLoc(),
          remark::RemarkOpts::name("TrustedRules").category("proof"))
          << remark::add("@{0} is proven{1}", func.getName().str(), trust);
    return success();
  }

  std::shared_ptr<ReferenceProgram> kept;
};

} // namespace

std::unique_ptr<Pass> tessera::createVerifyPartitionPass(
    std::shared_ptr<ReferenceProgram> reference) {
  return std::make_unique<VerifyPartitionPass>(std::move(reference));
}
