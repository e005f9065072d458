//===- GatherLatents.cpp - Gathers latents in place of keys and values ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a constraint after each latent that the context's axes do not pass, and
// that holds for its gradient. So each device has the latents of all tokens,
// computes keys and values from them, and adds to gradients of all latents,
// which are reduced and scattered. dist-pin-context gives the axes to queries.
// Matmuls in 8 bits are not linear: there gradients of keys and values are
// reduced and scattered before them, and the constraint has no gradient.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Partition/AttentionContext.h"
#include "tessera/Partition/Passes.h"
#include <cmath>

namespace tessera {
#define GEN_PASS_DEF_GATHERLATENTSPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct GatherLatentsPass
    : tessera::impl::GatherLatentsPassBase<GatherLatentsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(dist::DistDialect::kContextAttr))
      return;
    FailureOr<SequenceContext> context = readContext(module);
    if (failed(context))
      return signalPassFailure();
    if (context->method.kind != ContextMethod::Latent)
      return;
    auto plan =
        module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
    bool isLinear = !plan || plan.getPlan().precision != Precision::FP8;
    bool isFound = false;
    for (auto func : module.getOps<FunctionOpInterface>())
      if (!func.isExternal())
        for (auto [latent, dim] : findLatents(func)) {
          gather(latent, dim, *context, isLinear);
          isFound = true;
        }
    if (isFound)
      return;
    module.emitError("strategy 'cp=latent' expects attention whose keys and "
                     "values are computed from latents but got none");
    signalPassFailure();
  }

  void gather(Value latent, unsigned dim, const SequenceContext &context,
              bool withGradient) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(latent);
    auto whole = dist::ConstraintOp::create(
        builder, latent.getLoc(), latent,
        dist::ShardingAttr::get(context.meshSymbol, context.mesh,
                                context.getWholeSequence(latent, dim)),
        withGradient);
    latent.replaceAllUsesExcept(whole, whole);
    remark::analysis(latent.getLoc(),
                     remark::RemarkOpts::name("Latent").category("strategy"))
        << remark::add("keys and values are computed from gathered latents")
        << remark::metric("bytes",
                          std::llround(getTensorBytes(latent.getType())));
  }
};
} // namespace
