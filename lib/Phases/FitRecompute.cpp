//===- FitRecompute.cpp - Fits recomputation to an arena ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program keeps a number of bytes per micro-batch for its backward; a user
// gives the memory of a device. Only a planned arena relates the two, so each
// trial runs the phases up to it:
//
//     keep 6 MB --> kernels --> schedule --> arena 41 MB   of 40: keep less
//     keep 5 MB --> kernels --> schedule --> arena 39 MB   of 40: keep more
//
// Each pp rank has an arena, and keeps as much as fits in it.
//
//===----------------------------------------------------------------------===//

#include "FitRecompute.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Recompute/Passes.h"
#include "tessera/Recompute/Recompute.h"
#include "tessera/Stages/Passes.h"

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
    pm.addPass(createAssignStagesPass());
    pm.addPass(createSelectRecomputePass());
    plansArena(pm);
    pm.getDependentDialects(registry);
  }
  void runOnOperation() override;

private:
  using KeptBytes = std::optional<std::vector<int64_t>>;
  FailureOr<std::vector<int64_t>> getArenaBytes(ArrayRef<int64_t> kept);
  FailureOr<KeptBytes> findKeptBytes(int64_t limit,
                                     std::vector<int64_t> &needed);
  Plan getPlan();
  LogicalResult assignStages(const Plan &plan);
  FailureOr<std::vector<double>> findLayers(const Plan &plan,
                                            ArrayRef<int64_t> kept);
  FailureOr<KeptBytes> fitWith(const Plan &plan, std::vector<int64_t> &needed);
  FailureOr<KeptBytes> fitStages(std::vector<int64_t> &needed);
  void emitTooLittle(ArrayRef<int64_t> needed);
  LogicalResult run(std::unique_ptr<Pass> pass);

  std::function<void(OpPassManager &)> plansArena;
};

} // namespace

/// Returns the policy that keeps at most so many bytes at each place.
static SelectRecomputePassOptions keepWithin(ArrayRef<int64_t> kept) {
  SelectRecomputePassOptions options;
  options.policy = "auto=" + std::to_string(*llvm::max_element(kept));
  options.limits.assign(kept.begin(), kept.end());
  return options;
}

/// Returns the place of a pp rank, as numbered in `dist.held`: the lowest pp
/// rank that shares one of its stages.
static int64_t getPlace(func::FuncOp function) {
  auto rank =
      function->getAttrOfType<IntegerAttr>(dist::DistDialect::kPPRankAttr);
  auto pipelines = function.getOps<rt::PipelineOp>();
  if (!rank || pipelines.empty())
    return 0;
  int64_t lowest = rank.getInt();
  auto paths = (*pipelines.begin()).getStageRanks();
  for (const auto &path : paths)
    for (auto [stage, holder] : llvm::enumerate(path))
      if (holder == rank.getInt())
        for (const auto &other : paths)
          lowest = std::min<int64_t>(lowest, other[stage]);
  return lowest;
}

/// Returns the bytes of the largest arena at each place if micro-batches keep
/// `kept` there.
FailureOr<std::vector<int64_t>>
FitRecomputePass::getArenaBytes(ArrayRef<int64_t> kept) {
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  PassManager pm(&getContext());
  pm.addPass(createSelectRecomputePass(keepWithin(kept)));
  plansArena(pm);
  if (failed(pm.run(*copy)))
    return failure();
  std::vector<int64_t> bytes(kept.size(), 0);
  for (auto func : copy->getOps<func::FuncOp>()) {
    auto arena =
        func->getAttrOfType<IntegerAttr>(rt::RTDialect::kArenaBytesAttr);
    if (!arena || func->hasAttr(rt::RTDialect::kTaskAttr))
      continue;
    int64_t &most = bytes[getPlace(func)];
    most = std::max(most, arena.getInt());
  }
  return bytes;
}

/// Returns the bytes of micro-batches to keep at each place, so that arenas
/// take at most `limit`. Returns none, and the minimum arena bytes in `needed`,
/// if that is impossible.
FailureOr<FitRecomputePass::KeptBytes>
FitRecomputePass::findKeptBytes(int64_t limit, std::vector<int64_t> &needed) {
  std::vector<KeptRange> ranges = getKeptRanges(getOperation());
  KeptBytes kept;
  if (llvm::all_of(ranges, [](const KeptRange &r) { return r.most == 0; })) {
    kept.emplace(std::max<size_t>(ranges.size(), 1), 0);
    return kept;
  }
  bool failedOnce = false;
  auto measure = [&](ArrayRef<int64_t> kept) -> std::vector<int64_t> {
    FailureOr<std::vector<int64_t>> bytes = getArenaBytes(kept);
    failedOnce |= failed(bytes);
    return failed(bytes) ? std::vector<int64_t>(kept.size(), 0) : *bytes;
  };
  kept = fitKeptBytes(ranges, limit, measure, needed);
  if (failedOnce)
    return failure();
  return kept;
}

Plan FitRecomputePass::getPlan() {
  return getOperation()
      ->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr)
      .getPlan();
}

/// Marks the stages of `plan` on the program.
LogicalResult FitRecomputePass::assignStages(const Plan &plan) {
  getOperation()->setAttr(dist::DistDialect::kPlanAttr,
                          dist::PlanAttr::get(&getContext(), plan));
  return run(createAssignStagesPass());
}

/// Returns the blocks of each stage if so much is kept: recomputation takes
/// time.
FailureOr<std::vector<double>>
FitRecomputePass::findLayers(const Plan &plan, ArrayRef<int64_t> kept) {
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  copy->getOperation()->setAttr(dist::DistDialect::kPlanAttr,
                                dist::PlanAttr::get(&getContext(), plan));
  PassManager pm(&getContext());
  pm.addPass(createSelectRecomputePass(keepWithin(kept)));
  pm.addPass(createSplitStagesPass());
  if (failed(pm.run(*copy)))
    return failure();
  return copy->getOperation()
      ->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr)
      .getPlan()
      .stageLayers;
}

/// Returns the bytes that pp ranks keep with the stages of `plan`, and marks
/// the stages. Lowers `needed` if these stages need less.
FailureOr<FitRecomputePass::KeptBytes>
FitRecomputePass::fitWith(const Plan &plan, std::vector<int64_t> &needed) {
  std::vector<int64_t> mine;
  if (failed(assignStages(plan)))
    return failure();
  auto kept = findKeptBytes(plan.recomputeBytes, mine);
  if (succeeded(kept) && !*kept &&
      (needed.empty() || *llvm::max_element(mine) < *llvm::max_element(needed)))
    needed = mine;
  return kept;
}

/// Stages and kept bytes depend on each other. First finds the stages without
/// recomputation, then once more with it, and takes those if everything fits.
/// If nothing fits, tries an even split.
FailureOr<FitRecomputePass::KeptBytes>
FitRecomputePass::fitStages(std::vector<int64_t> &needed) {
  Plan given = getPlan();
  auto first = fitWith(given, needed);
  if (failed(first) || !given.stageLayers.empty() || given.evenStages)
    return first;
  Plan before = getPlan(), after = before;
  std::vector<int64_t> least;
  for (const KeptRange &range : getKeptRanges(getOperation()))
    least.push_back(range.least);
  auto layers = findLayers(given, first->value_or(least));
  if (failed(layers))
    return failure();
  after.stageLayers = *layers;
  if (after.stageLayers == before.stageLayers && *first)
    return first;
  auto second = fitWith(after, needed);
  if (failed(second) || *second)
    return second;
  if (*first) {
    if (failed(assignStages(before)))
      return failure();
    return first;
  }
  given.evenStages = true;
  return fitWith(given, needed);
}

void FitRecomputePass::emitTooLittle(ArrayRef<int64_t> needed) {
  const int64_t *fullest = llvm::max_element(needed);
  std::string owner = "a device";
  if (needed.size() > 1)
    owner = "pp rank " + std::to_string(fullest - needed.begin());
  getOperation().emitError("recompute: expects auto=")
      << *fullest << " at least, the bytes of the arena of " << owner
      << " that keeps as little as can be for the backward, but got auto="
      << getPlan().recomputeBytes;
}

LogicalResult FitRecomputePass::run(std::unique_ptr<Pass> pass) {
  OpPassManager pm(ModuleOp::getOperationName());
  pm.addPass(std::move(pass));
  return runPipeline(pm, getOperation());
}

void FitRecomputePass::runOnOperation() {
  auto attr = getOperation()->getAttrOfType<dist::PlanAttr>(
      dist::DistDialect::kPlanAttr);
  SelectRecomputePassOptions options;
  if (attr && attr.getPlan().recompute == Recompute::Auto) {
    std::vector<int64_t> needed;
    auto kept = attr.getPlan().pp > 1
                    ? fitStages(needed)
                    : findKeptBytes(attr.getPlan().recomputeBytes, needed);
    if (failed(kept))
      return signalPassFailure();
    if (!*kept) {
      emitTooLittle(needed);
      return signalPassFailure();
    }
    options = keepWithin(**kept);
  }
  if (failed(run(createSelectRecomputePass(options))))
    signalPassFailure();
}

std::unique_ptr<Pass> tessera::createFitRecomputePass(
    std::function<void(OpPassManager &)> plansArena) {
  return std::make_unique<FitRecomputePass>(std::move(plansArena));
}
