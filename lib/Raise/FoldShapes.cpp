//===- FoldShapes.cpp - Moves and merges reshapes -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adding dimensions of size 1 counts as a broadcast. So every pattern moves a
// broadcast towards the results, or merges two broadcasts:
//
//     x --broadcast--> f --drop 1s--> broadcast    becomes    x --> f
//     --broadcast-->
//
//===----------------------------------------------------------------------===//

#include "FoldShapes.h"
#include "ElementwiseShapes.h"
#include "TensorTypes.h"
#include "dialects/Dist/Dist.h"
#include "tessera/Raise/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_FOLDSHAPESPASS
#include "tessera/Raise/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The position of each dimension of `small` in `whole`, if a reshape only adds
/// or drops dimensions of size 1. `groups` has one group of dimensions of
/// `whole` for each dimension of `small`. None for other reshapes.
static std::optional<SmallVector<int64_t>>
matchUnitGroups(ArrayRef<ReassociationIndices> groups, RankedTensorType whole,
                RankedTensorType small) {
  SmallVector<int64_t> kept;
  for (auto [group, size] : llvm::zip_equal(groups, small.getShape())) {
    const int64_t *found = llvm::find_if(group, [&, size = size](int64_t dim) {
      return whole.getDimSize(dim) == size;
    });
    bool isUnits =
        found != group.end() && llvm::all_of(group, [&](int64_t dim) {
          return dim == *found || whole.getDimSize(dim) == 1;
        });
    if (!isUnits)
      return std::nullopt;
    kept.push_back(*found);
  }
  return kept;
}

std::optional<SmallVector<int64_t>>
tessera::matchUnits(tensor::CollapseShapeOp op) {
  return matchUnitGroups(op.getReassociationIndices(), op.getSrcType(),
                         op.getResultType());
}

std::optional<SmallVector<int64_t>>
tessera::matchUnits(tensor::ExpandShapeOp op) {
  return matchUnitGroups(op.getReassociationIndices(), op.getResultType(),
                         op.getSrcType());
}

Value tessera::dropUnits(OpBuilder &b, Location loc, Value x,
                         ArrayRef<int64_t> kept) {
  RankedTensorType type = typeOf(x);
  if (int64_t(kept.size()) == type.getRank())
    return x;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    // Leading dimensions of size 1 join the first group.
    if (llvm::is_contained(kept, dim)) {
      shape.push_back(type.getDimSize(dim));
      if (shape.size() > 1 || groups.empty())
        groups.push_back({});
    } else if (groups.empty() && !kept.empty()) {
      groups.push_back({});
    }
    if (!groups.empty())
      groups.back().push_back(dim);
  }
  return tensor::CollapseShapeOp::create(b, loc, type.clone(shape), x, groups);
}

Value tessera::buildTranspose(OpBuilder &b, Location loc, Value x,
                              ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(x).getDimSize(dim));
  return nn::TransposeOp::create(b, loc, typeOf(x).clone(shape), x,
                                 permutation);
}

bool tessera::isPlainSlice(tensor::ExtractSliceOp op) {
  return op.getDroppedDims().none() &&
         llvm::none_of(op.getStaticOffsets(), ShapedType::isDynamic) &&
         llvm::none_of(op.getStaticSizes(), ShapedType::isDynamic) &&
         llvm::all_of(op.getStaticStrides(), [](int64_t n) { return n == 1; });
}

tensor::CollapseShapeOp tessera::findMerged(Value x) {
  auto merged = x.getDefiningOp<tensor::CollapseShapeOp>();
  return merged && !matchUnits(merged) ? merged : tensor::CollapseShapeOp();
}

tensor::CollapseShapeOp
tessera::findAlike(Operation *op,
                   llvm::function_ref<tensor::CollapseShapeOp(Value)> find) {
  if (!isPlainElementwise(op))
    return {};
  tensor::CollapseShapeOp first;
  for (Value operand : op->getOperands()) {
    tensor::CollapseShapeOp collapse = find(operand);
    first = first ? first : collapse;
    if (isSplat(operand) || operand.getDefiningOp<nn::BroadcastOp>())
      continue;
    if (!collapse ||
        collapse.getSrcType().getShape() != first.getSrcType().getShape() ||
        collapse.getReassociationIndices() != first.getReassociationIndices())
      return {};
  }
  return first;
}

namespace {

struct FoldShapesPass
    : public tessera::impl::FoldShapesPassBase<FoldShapesPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    populateBroadcastPatterns(patterns);
    populateConstraintShapePatterns(patterns);
    populateTransposePatterns(patterns);
    populateRopeShapePatterns(patterns);
    populateMergedDimPatterns(patterns);
    tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
    tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
