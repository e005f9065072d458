//===- FitRecompute.cpp - Recomputation within an arena -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program keeps for its backward is a size of one micro-batch; what a
// user has is the memory of a device. Only a planned arena says how the two
// hang together, so each trial runs the phases up to it:
//
//     keep 6 MB --> kernels --> schedule --> arena 41 MB   of 40: keep less
//     keep 5 MB --> kernels --> schedule --> arena 39 MB   of 40: keep more
//
//===----------------------------------------------------------------------===//

#include "FitRecompute.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Recompute/Passes.h"
#include "tessera/Recompute/Recompute.h"

using namespace mlir;
using namespace tessera;

namespace {

class FitRecomputePass
    : public PassWrapper<FitRecomputePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FitRecomputePass)

  explicit FitRecomputePass(std::function<void(OpPassManager &)> plansArena)
      : plansArena(std::move(plansArena)) {}

  StringRef getName() const override { return "FitRecomputePass"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName());
    pm.addPass(createSelectRecomputePass());
    plansArena(pm);
    pm.getDependentDialects(registry);
  }
  void runOnOperation() override;

private:
  FailureOr<int64_t> getArenaBytes(int64_t keptBytes);
  FailureOr<int64_t> findKeptBytes(int64_t limit);

  std::function<void(OpPassManager &)> plansArena;
};

} // namespace

/// The policy that keeps at most so many bytes of a micro-batch.
static SelectRecomputePassOptions keepWithin(int64_t keptBytes) {
  SelectRecomputePassOptions options;
  options.policy = "auto=" + std::to_string(keptBytes);
  return options;
}

/// Bytes of the largest arena of the module's functions if a micro-batch keeps
/// `keptBytes`.
FailureOr<int64_t> FitRecomputePass::getArenaBytes(int64_t keptBytes) {
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  PassManager pm(&getContext());
  pm.addPass(createSelectRecomputePass(keepWithin(keptBytes)));
  plansArena(pm);
  if (failed(pm.run(*copy)))
    return failure();
  int64_t bytes = 0;
  for (auto func : copy->getOps<func::FuncOp>())
    if (auto arena =
            func->getAttrOfType<IntegerAttr>(rt::RTDialect::kArenaBytesAttr))
      bytes = std::max(bytes, arena.getInt());
  return bytes;
}

/// Bytes of a micro-batch to keep, so that the arena takes at most `limit`.
FailureOr<int64_t> FitRecomputePass::findKeptBytes(int64_t limit) {
  auto [least, most] = getKeptRange(getOperation());
  if (most == 0)
    return 0;
  int64_t needed = 0;
  bool failedOnce = false;
  auto measure = [&](int64_t keptBytes) -> int64_t {
    FailureOr<int64_t> bytes = getArenaBytes(keptBytes);
    failedOnce |= failed(bytes);
    return failed(bytes) ? 0 : *bytes;
  };
  std::optional<int64_t> kept =
      fitKeptBytes(least, most, limit, measure, needed);
  if (failedOnce)
    return failure();
  if (kept)
    return *kept;
  return getOperation().emitError("recompute: expects auto=")
         << needed << " at least, the bytes of a device's arena that keeps "
         << "as little as can be for the backward, but got auto=" << limit;
}

void FitRecomputePass::runOnOperation() {
  auto plan = getOperation()->getAttrOfType<dist::PlanAttr>(
      dist::DistDialect::kPlanAttr);
  SelectRecomputePassOptions options;
  if (plan && plan.getPlan().recompute == Recompute::Auto) {
    if (plan.getPlan().pp > 1) {
      getOperation().emitError(
          "recompute: expects none, selective or full with "
          "pipeline stages but got auto");
      return signalPassFailure();
    }
    FailureOr<int64_t> kept = findKeptBytes(plan.getPlan().recomputeBytes);
    if (failed(kept))
      return signalPassFailure();
    options = keepWithin(*kept);
  }
  OpPassManager pm(ModuleOp::getOperationName());
  pm.addPass(createSelectRecomputePass(options));
  if (failed(runPipeline(pm, getOperation())))
    signalPassFailure();
}

std::unique_ptr<Pass> tessera::createFitRecomputePass(
    std::function<void(OpPassManager &)> plansArena) {
  return std::make_unique<FitRecomputePass>(std::move(plansArena));
}
