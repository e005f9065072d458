//===- NNToLinalg.cpp - nn as upstream's dialects -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tessera/Linalg/Passes.h"
#include "tessera/Linalg/Patterns.h"

namespace tessera {
#define GEN_PASS_DEF_NNTOLINALGPASS
#include "tessera/Linalg/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

struct EinsumToLinalg : OpRewritePattern<nn::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EinsumOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getScales().empty())
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, buildContraction(b, getEinsum(op), op.getLhs(), op.getRhs(),
                             cast<RankedTensorType>(op.getType())));
    return success();
  }
};

/// Replaces an op by values of its shapes, cast to its element types.
void replaceByCasts(GenericBuilder &b, Operation *op, ArrayRef<Value> values,
                    PatternRewriter &rewriter) {
  SmallVector<Value> results;
  for (auto [value, result] : llvm::zip_equal(values, op->getResults()))
    results.push_back(
        b.castTensor(value, getElementTypeOrSelf(result.getType())));
  rewriter.replaceOp(op, results);
}

struct AttentionToLinalg : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (nn::separateSinks(rewriter, op))
      return success();
    GenericBuilder b(op.getLoc(), rewriter);
    replaceByCasts(b, op, buildAttention(b, op, buildContraction), rewriter);
    return success();
  }
};

struct AttentionBackwardToLinalg : OpRewritePattern<nn::AttentionBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    replaceByCasts(b, op, buildAttentionBackward(b, op, buildContraction),
                   rewriter);
    return success();
  }
};

/// Rows that change at ids, each by the row of `updates` of an id.
struct RowUpdates {
  Value updates, ids, offset;
  std::optional<uint64_t> limit;
  bool replaces;

  /// Builds a loop over the ids, from the rows `init` on. An id outside of them
  /// reads and writes row 0 as it is.
  Value buildLoop(GenericBuilder &b, Value init) {
    updates = flatten(b, updates, 2);
    ids = flatten(b, ids, 1);
    int64_t count = cast<RankedTensorType>(ids.getType()).getDimSize(0);
    auto loop = scf::ForOp::create(
        b, b.index(0), b.index(count), b.index(1), init,
        [&](OpBuilder &body, Location loc, Value i, ValueRange rows) {
          GenericBuilder inner(loc, body);
          scf::YieldOp::create(inner, changeRow(inner, i, rows[0]));
        });
    return loop.getResult(0);
  }

private:
  /// Joins the leading dimensions of a tensor, so that `rank` are left; of one
  /// id, adds a dimension of size 1.
  static Value flatten(GenericBuilder &b, Value value, int64_t rank) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t joined = type.getRank() - rank + 1;
    SmallVector<ReassociationIndices> groups;
    if (joined == 0) {
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin(), 1);
      for (int64_t dim = 1; dim < rank; ++dim)
        groups.push_back({dim});
      if (!groups.empty())
        groups.front() = {0, 1};
      return tensor::ExpandShapeOp::create(b, type.clone(shape), value, groups);
    }
    if (joined == 1)
      return value;
    groups.push_back(llvm::to_vector<2>(llvm::seq<int64_t>(0, joined)));
    for (int64_t dim = joined; dim < type.getRank(); ++dim)
      groups.push_back({dim});
    return tensor::CollapseShapeOp::create(b, value, groups);
  }

  /// The row of id `i`, and in `counts` whether it is one of `size`; else 0.
  Value findRow(GenericBuilder &b, Value i, int64_t size, Value &counts) {
    Value id = arith::IndexCastOp::create(b, b.getIndexType(),
                                          tensor::ExtractOp::create(b, ids, i));
    Value row = offset ? arith::SubIOp::create(b, id, offset) : id;
    // Unsigned: a negative position is beyond the size.
    counts =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, b.index(size));
    if (limit)
      counts = arith::AndIOp::create(
          b, counts,
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, id,
                                b.index(*limit)));
    return arith::SelectOp::create(b, counts, row, b.index(0));
  }

  /// Changes the row of id `i`.
  Value changeRow(GenericBuilder &b, Value i, Value rows) {
    auto type = cast<RankedTensorType>(rows.getType());
    int64_t width = type.getDimSize(1);
    Value counts, row = findRow(b, i, type.getDimSize(0), counts);
    auto sizes = [&](Value position) {
      return std::array<SmallVector<OpFoldResult>, 3>{
          SmallVector<OpFoldResult>{position, b.getIndexAttr(0)},
          SmallVector<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(width)},
          SmallVector<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)}};
    };
    auto [from, size, stride] = sizes(i);
    Value update =
        tensor::ExtractSliceOp::create(b, updates, from, size, stride);
    auto [to, toSize, toStride] = sizes(row);
    Value old = tensor::ExtractSliceOp::create(b, rows, to, toSize, toStride);
    AffineMap all = b.identity(2);
    Value changed =
        b.map({1, width}, type.getElementType(), {{old, all}, {update, all}},
              [&](ValueRange v) {
                Value next = b.cast(v[1], type.getElementType());
                if (!replaces)
                  next = arith::AddFOp::create(b, v[0], next);
                return arith::SelectOp::create(b, counts, next, v[0]);
              });
    return tensor::InsertSliceOp::create(b, changed, rows, to, toSize,
                                         toStride);
  }
};

struct TableGradientToLoop : OpRewritePattern<nn::EmbeddingBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EmbeddingBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Type wide = getWideType(type.getElementType());
    Value zeros = b.map(type.getShape(), wide, {},
                        [&](ValueRange) { return b.constant(wide, 0); });
    RowUpdates rows{op.getGrad(), op.getIds(), op.getOffset(), op.getRows(),
                    /*replaces=*/false};
    rewriter.replaceOp(
        op, b.castTensor(rows.buildLoop(b, zeros), type.getElementType()));
    return success();
  }
};

struct ScatterToLoop : OpRewritePattern<nn::ScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ScatterOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Type element = op.getType().getElementType();
    bool isSet = op.getKind() == nn::ScatterKind::Set;
    Value init =
        b.castTensor(op.getX(), isSet ? element : getWideType(element));
    RowUpdates rows{op.getUpdates(), op.getIds(), op.getOffset(), op.getRows(),
                    isSet};
    rewriter.replaceOp(op, b.castTensor(rows.buildLoop(b, init), element));
    return success();
  }
};

/// Converts to a slice that starts at the device's offset along the axes.
struct AllSliceToSlice : OpRewritePattern<dist::AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<OpFoldResult> from(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> stride(type.getRank(), rewriter.getIndexAttr(1));
    from[op.getDim()] =
        dist::AxisOffsetOp::create(rewriter, op.getLoc(),
                                   rewriter.getIndexType(), op.getAxes(),
                                   type.getDimSize(op.getDim()), op.getMesh())
            .getResult();
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        op, type, op.getInput(), from,
        getAsIndexOpFoldResult(op.getContext(), type.getShape()), stride);
    return success();
  }
};

struct NNToLinalgPass : tessera::impl::NNToLinalgPassBase<NNToLinalgPass> {
  using NNToLinalgPassBase::NNToLinalgPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool keepsShardings = !module.getOps<dist::MeshOp>().empty();
    for (auto func : module.getOps<func::FuncOp>()) {
      if (failed(checkStages(func)))
        return signalPassFailure();
      dropAttributes(func, keepsShardings);
      if (failed(convert(func)) || failed(checkResult(func)))
        return signalPassFailure();
    }
    if (!keepsShardings)
      drop(module, [](StringAttr) { return true; });
  }

private:
  static LogicalResult convert(func::FuncOp func) {
    RewritePatternSet patterns(func.getContext());
    patterns.add<EinsumToLinalg, AttentionToLinalg, AttentionBackwardToLinalg,
                 TableGradientToLoop, ScatterToLoop, AllSliceToSlice>(
        func.getContext());
    populateConvolutionPatterns(patterns);
    populateRowPatterns(patterns);
    populateGradientPatterns(patterns);
    populateOptimizerPatterns(patterns);
    populatePositionPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    return applyPatternsGreedily(func, std::move(patterns), config);
  }

  /// Fails at a pipeline, whose stages are programs of their own.
  static LogicalResult checkStages(func::FuncOp func) {
    WalkResult found = func.walk([](dist::PipelineOp op) {
      op.emitOpError("expects a program of one stage");
      return WalkResult::interrupt();
    });
    return failure(found.wasInterrupted());
  }

  /// Fails at the first op of `nn` or `rt` that is left.
  static LogicalResult checkResult(func::FuncOp func) {
    WalkResult found = func.walk([](Operation *op) {
      if (!isa_and_nonnull<nn::NNDialect, rt::RTDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitOpError("has no form in linalg: expects a program without "
                      "experts, 8-bit numbers and library calls");
      return WalkResult::interrupt();
    });
    return failure(found.wasInterrupted());
  }

  /// Removes attributes of our dialects whose name `drops` accepts.
  static void drop(Operation *op, llvm::function_ref<bool(StringAttr)> drops) {
    for (NamedAttribute attr : llvm::to_vector(op->getDiscardableAttrs()))
      if (isOurs(attr) && drops(attr.getName()))
        op->removeDiscardableAttr(attr.getName());
  }

  static bool isOurs(NamedAttribute attr) {
    return isa_and_nonnull<nn::NNDialect, dist::DistDialect, rt::RTDialect>(
        attr.getNameDialect());
  }

  /// Removes what no dialect of the result reads.
  static void dropAttributes(func::FuncOp func, bool keepsShardings) {
    func.getBody().walk([&](Operation *op) {
      drop(op, [&](StringAttr name) {
        return !keepsShardings || name != dist::DistDialect::kRuleAttr;
      });
    });
    if (keepsShardings)
      return;
    drop(func, [](StringAttr) { return true; });
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      for (NamedAttribute attr :
           llvm::to_vector(function_interface_impl::getArgAttrs(func, i)))
        if (isOurs(attr))
          func.removeArgAttr(i, attr.getName());
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      for (NamedAttribute attr :
           llvm::to_vector(function_interface_impl::getResultAttrs(func, i)))
        if (isOurs(attr))
          func.removeResultAttr(i, attr.getName());
  }
};

} // namespace
