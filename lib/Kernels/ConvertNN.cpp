//===- ConvertNN.cpp - Lowers nn ops to records or linalg -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertNN.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Linalg/Patterns.h"

namespace tessera {
#define GEN_PASS_DEF_CONVERTNNPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// Drops discardable attributes of other dialects (shardings, names of
/// dimensions): they have no meaning from here on, and would make equal kernels
/// differ.
void dropDiscardableAttrs(func::FuncOp func) {
  func.getBody().walk([](Operation *op) {
    for (NamedAttribute attr : llvm::to_vector(op->getDiscardableAttrs()))
      if (!isa_and_nonnull<rt::RTDialect>(attr.getNameDialect()))
        op->removeDiscardableAttr(attr.getName());
  });
}

/// Merges dist.axis_offset ops with the same axes and size into one at the
/// beginning, so that ops that depend on nothing else can be merged too.
void mergeAxisOffsets(func::FuncOp func) {
  SmallVector<dist::AxisOffsetOp> all, known;
  func.walk([&](dist::AxisOffsetOp op) { all.push_back(op); });
  for (dist::AxisOffsetOp op : all) {
    auto *same = llvm::find_if(known, [&](dist::AxisOffsetOp other) {
      return other->getAttrDictionary() == op->getAttrDictionary();
    });
    if (same != known.end()) {
      op.replaceAllUsesWith(same->getOffset());
      op.erase();
      continue;
    }
    op->moveBefore(&func.front().front());
    known.push_back(op);
  }
}

struct ConvertNNPass : tessera::impl::ConvertNNPassBase<ConvertNNPass> {
  using ConvertNNPassBase::ConvertNNPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    dropDiscardableAttrs(func);
    RewritePatternSet patterns(&getContext());
    populateConvolutionPatterns(patterns);
    populateMatmulPatterns(patterns);
    populateQuantizedPatterns(patterns, !widenF8);
    populateAttentionPatterns(patterns);
    populateTablePatterns(patterns);
    populateRowPatterns(patterns);
    populateGradientPatterns(patterns);
    populateOptimizerPatterns(patterns);
    populatePositionPatterns(patterns);
    populateMovementPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(func, std::move(patterns), config)))
      return signalPassFailure();
    generalizeNamedOps(func);
    mergeAxisOffsets(func);
  }

  /// Converts named linalg ops, other than matmuls and fills, to
  /// linalg.generic.
  static void generalizeNamedOps(func::FuncOp func) {
    SmallVector<linalg::LinalgOp> named;
    func.walk([&](linalg::LinalgOp op) {
      if (!isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()))
        named.push_back(op);
    });
    IRRewriter rewriter(func.getContext());
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
  }
};

} // namespace
