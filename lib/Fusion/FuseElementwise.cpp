//===- FuseElementwise.cpp - Fuses elementwise ops into their consumers ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses producers into their consumers, with a rule for which ones may be
// computed twice. Afterwards generics that only move data become rt.copy.
//
//===----------------------------------------------------------------------===//

#include "FuseProducers.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tessera/Codegen/GenericBuilder.h"
#include "tessera/Fusion/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "tessera/Fusion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// True if the body only passes an input on or casts it, so that it costs no
/// more than the read that it replaces.
static bool isFree(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return isa<arith::ExtFOp, arith::TruncFOp, arith::ConstantOp>(inner);
  });
}

/// True if the producer of this operand may be fused into its consumer.
static bool mayFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  // Nothing moves into a loop, which would compute it again in each iteration.
  if (!producer || !consumer || producer->getBlock() != consumer->getBlock())
    return false;
  if (isFree(producer))
    return true;
  // Each element must be computed once: the consumer must not broadcast the
  // operand.
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  return producer.getNumResults() == 1 && producer.getResult(0).hasOneUse() &&
         map.isPermutation();
}

/// Returns the loop that indexes each dimension of the source if the generic is
/// a pure copy.
static std::optional<SmallVector<unsigned>> matchCopy(linalg::GenericOp op) {
  Block *body = op.getBody();
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      !llvm::hasSingleElement(*body) ||
      body->getTerminator()->getOperand(0) != body->getArgument(0) ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !op.getIndexingMapsArray()[1].isIdentity())
    return std::nullopt;
  SmallVector<unsigned> loops;
  for (AffineExpr expr : op.getIndexingMapsArray()[0].getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    loops.push_back(dim.getPosition());
  }
  return loops;
}

static void convertToCopy(linalg::GenericOp op) {
  std::optional<SmallVector<unsigned>> loops = matchCopy(op);
  if (!loops)
    return;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Value source = op.getDpsInputs()[0];
  // A constant has no memory yet.
  if (type.getRank() > TESSERA_RT_MAX_DIMS ||
      source.getDefiningOp<arith::ConstantOp>())
    return;
  auto sourceType = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> strides(type.getRank(), 0);
  for (auto [loop, stride] :
       llvm::zip(*loops, rt::getRowMajorStrides(sourceType.getShape())))
    strides[loop] += stride;
  OpBuilder builder(op);
  Value copy = rt::CopyOp::create(builder, op.getLoc(), type, source, strides,
                                  /*base=*/0, Value(), IntegerAttr());
  op.getResult(0).replaceAllUsesWith(copy);
  op.erase();
}

/// Returns the number that fills a constant tensor; null if there are several.
static TypedAttr getSplat(Operation *op) {
  auto values =
      dyn_cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  return values ? values.getSplatValue<TypedAttr>() : TypedAttr();
}

/// Builds a generic with the value of a fill or of a constant tensor.
static Value buildValue(GenericBuilder &b, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return b.map(type.getShape(), type.getElementType(), {},
                 [&](ValueRange) { return fill.getInputs()[0]; });
  // A splat needs no table of the tensor's size in the program.
  if (TypedAttr splat = getSplat(op))
    return b.map(type.getShape(), type.getElementType(), {}, [&](ValueRange) {
      return arith::ConstantOp::create(b, splat);
    });
  return b.map(type.getShape(), type.getElementType(),
               {{op->getResult(0), b.identity(type.getRank())}},
               [](ValueRange v) { return v[0]; });
}

/// Gives fills and constants that are read as tensors a generic of their own.
/// Those that only start a reduction stay.
static void materialize(func::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (isa<linalg::FillOp>(op) ||
        (constant && isa<RankedTensorType>(constant.getType()) &&
         op->getParentOp() == func))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    bool isFill = isa<linalg::FillOp>(op);
    auto needsMemory = [&](OpOperand &use) {
      auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
      // A fill may start a reduction, and a constant may be an input.
      return !generic || generic.isDpsInit(&use) != isFill;
    };
    // A loop overwrites its start value, so it gets a copy of its own.
    Value shared;
    for (OpOperand &use :
         llvm::make_early_inc_range(op->getResult(0).getUses())) {
      if (!needsMemory(use))
        continue;
      if (isa<scf::ForOp>(use.getOwner())) {
        GenericBuilder b(op->getLoc(), use.getOwner());
        use.set(buildValue(b, op));
        continue;
      }
      if (!shared) {
        GenericBuilder b(op->getLoc(), op->getBlock(), ++op->getIterator());
        shared = buildValue(b, op);
      }
      if (use.getOwner() != shared.getDefiningOp())
        use.set(shared);
    }
  }
}

/// Returns upstream's patterns without the fusion itself, which is quadratic in
/// an op's size. Fills and splats become scalars of bodies, and unused values
/// are erased.
static FrozenRewritePatternSet getSimplifications(MLIRContext *context) {
  RewritePatternSet patterns(context);
  linalg::populateElementwiseOpsFusionPatterns(
      patterns, [](OpOperand *) { return false; });
  return patterns;
}

namespace {
struct FuseElementwisePass
    : tessera::impl::FuseElementwisePassBase<FuseElementwisePass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    FrozenRewritePatternSet simplify = getSimplifications(&getContext());
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(func, simplify, config)))
      return signalPassFailure();
    SmallVector<Operation *> fused = fuseProducers(func, mayFuse);
    if (failed(applyOpPatternsGreedily(fused, simplify, config)))
      return signalPassFailure();
    SmallVector<linalg::GenericOp> generics;
    func.walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics)
      convertToCopy(op);
    materialize(func);
  }
};
} // namespace
