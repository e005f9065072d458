//===- ConvertMovement.cpp - Slices, pads and concatenations --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts ops that only move data. tensor.expand_shape and
// tensor.collapse_shape stay: they are views and move nothing.
//
//===----------------------------------------------------------------------===//

#include "ConvertNN.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Codegen/GenericBuilder.h"

using namespace mlir;
using namespace tessera;

namespace {

struct ConvertSlice : OpRewritePattern<dist::AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto source = cast<RankedTensorType>(op.getInput().getType());
    int64_t dim = op.getDim();
    Value start = dist::AxisOffsetOp::create(
        rewriter, op.getLoc(), rewriter.getIndexType(), op.getAxes(),
        type.getDimSize(dim), op.getMesh());
    rewriter.replaceOpWithNewOp<rt::CopyOp>(
        op, type, op.getInput(), rt::getRowMajorStrides(source.getShape()),
        /*base=*/0, start, rewriter.getI64IntegerAttr(dim));
    return success();
  }
};

/// addUnit inserts a dimension of size 1 before dimension `at` of a type, and
/// dropUnit drops it again from a value.
RankedTensorType addUnit(RankedTensorType type, int64_t at) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + at, 1);
  return type.clone(shape);
}
Value dropUnit(OpBuilder &b, Location loc, Value value, int64_t at,
               RankedTensorType type) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < type.getRank() + 1; ++i) {
    bool isJoined =
        !groups.empty() && (i == at + 1 || (i == at && at == type.getRank()));
    if (isJoined)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  }
  if (type.getRank() == 0)
    groups.clear();
  return tensor::CollapseShapeOp::create(b, loc, type, value, groups);
}

/// Converts to a copy if at most one dimension starts at a position known only
/// at run time, and the library has as many dimensions. Otherwise converts to a
/// kernel that reads at computed positions.
struct ConvertExtractSlice : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    if (ShapedType::isDynamicShape(op.getType().getShape()))
      return failure();
    int64_t numDynamic = 0;
    bool isCopy = !ShapedType::isDynamicShape(op.getStaticStrides()) &&
                  op.getSourceType().getRank() <= TESSERA_RT_MAX_DIMS;
    for (int64_t i = 0; i < op.getSourceType().getRank(); ++i)
      if (op.isDynamicOffset(i)) {
        ++numDynamic;
        isCopy &= op.getStaticStride(i) == 1;
      }
    rewriter.replaceOp(op, isCopy && numDynamic <= 1 ? copy(op, rewriter)
                                                     : read(op, rewriter));
    return success();
  }

private:
  static Value copy(tensor::ExtractSliceOp op, PatternRewriter &rewriter) {
    RankedTensorType source = op.getSourceType(), type = op.getType();
    SmallVector<int64_t> full = rt::getRowMajorStrides(source.getShape());
    llvm::SmallBitVector dropped = op.getDroppedDims();
    SmallVector<int64_t> strides;
    int64_t base = 0;
    Value start;
    IntegerAttr startDim;
    std::optional<int64_t> unit;
    for (int64_t i = 0; i < source.getRank(); ++i) {
      if (op.isDynamicOffset(i)) {
        start = op.getDynamicOffset(i);
        startDim = rewriter.getI64IntegerAttr(strides.size());
        if (dropped[i])
          unit = strides.size();
      } else {
        base += op.getStaticOffset(i) * full[i];
      }
      if (!dropped[i] || op.isDynamicOffset(i))
        strides.push_back(full[i] * op.getStaticStride(i));
    }
    Value copied = rt::CopyOp::create(
        rewriter, op.getLoc(), unit ? addUnit(type, *unit) : type,
        op.getSource(), strides, base, start, startDim);
    return unit ? dropUnit(rewriter, op.getLoc(), copied, *unit, type) : copied;
  }

  static Value read(tensor::ExtractSliceOp op, PatternRewriter &rewriter) {
    GenericBuilder b(op.getLoc(), rewriter);
    RankedTensorType source = op.getSourceType(), type = op.getType();
    llvm::SmallBitVector dropped = op.getDroppedDims();
    auto toValue = [&](OpFoldResult number) {
      return getValueOrCreateConstantIndexOp(b, b.getLoc(), number);
    };
    return b.map(
        type.getShape(), type.getElementType(), {}, [&](ValueRange) -> Value {
          SmallVector<Value> position;
          unsigned loop = 0;
          for (int64_t i = 0; i < source.getRank(); ++i) {
            Value at = toValue(op.getMixedOffsets()[i]);
            if (!dropped[i])
              at = arith::AddIOp::create(
                  b, at,
                  arith::MulIOp::create(b, b.loop(loop++),
                                        toValue(op.getMixedStrides()[i])));
            // Clamp the position, so that no program reads out of bounds.
            at = arith::MaxSIOp::create(b, at, b.index(0));
            position.push_back(arith::MinSIOp::create(
                b, at,
                b.index(std::max<int64_t>(source.getDimSize(i), 1) - 1)));
          }
          return tensor::ExtractOp::create(b, op.getSource(), position);
        });
  }
};

struct ConvertConcat : OpRewritePattern<tensor::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<rt::ConcatOp>(op, op.getType(), op.getInputs(),
                                              op.getDim());
    return success();
  }
};

/// Chunk `step` starts at (device + step) * size, modulo the whole dimension.
struct ConvertAssemble : OpRewritePattern<dist::AssembleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::AssembleOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    int64_t dim = op.getDim(), count = op.getChunks().size();
    int64_t size = type.getDimSize(dim) / count;
    Value own = dist::AxisOffsetOp::create(b, b.getIndexType(), op.getAxes(),
                                           size, op.getMesh());
    Value whole = arith::ConstantIndexOp::create(b, type.getDimSize(dim));
    SmallVector<Value> starts;
    for (int64_t step = 0; step < count; ++step)
      starts.push_back(arith::RemUIOp::create(
          b,
          arith::AddIOp::create(b, own,
                                arith::ConstantIndexOp::create(b, step * size)),
          whole));
    rewriter.replaceOpWithNewOp<rt::AssembleOp>(op, type, op.getChunks(),
                                                starts, dim);
    return success();
  }
};

/// The position of a block in a tensor: it starts at `low` and takes every
/// `strides`-th position of each dimension (every one without strides). It
/// lacks the dimensions in `dropped`, in which it has one position.
struct BlockPlace {
  SmallVector<OpFoldResult> low;
  ArrayRef<int64_t> strides = {};
  llvm::SmallBitVector dropped = {};
};

/// Reads the element of `block` at the loops' position; `outside` if the block
/// has none there.
Value readBlock(GenericBuilder &b, Value block, const BlockPlace &place,
                Value outside) {
  auto type = cast<RankedTensorType>(block.getType());
  Value inside;
  SmallVector<Value> position;
  for (auto [i, low] : llvm::enumerate(place.low)) {
    bool isDropped = !place.dropped.empty() && place.dropped[i];
    Value here = arith::SubIOp::create(
        b, b.loop(i), getValueOrCreateConstantIndexOp(b, b.getLoc(), low));
    int64_t stride = place.strides.empty() || isDropped ? 1 : place.strides[i];
    int64_t size = isDropped ? 1 : type.getDimSize(position.size());
    Value in = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, here,
                                     b.index(size * stride));
    if (stride != 1) {
      Value rest = arith::RemUIOp::create(b, here, b.index(stride));
      Value hits =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, b.index(0));
      in = arith::AndIOp::create(b, in, hits);
      here = arith::DivUIOp::create(b, here, b.index(stride));
    }
    if (!isDropped)
      position.push_back(arith::SelectOp::create(b, in, here, b.index(0)));
    inside = inside ? Value(arith::AndIOp::create(b, inside, in)) : in;
  }
  Value read = tensor::ExtractOp::create(b, block, position);
  return inside ? Value(arith::SelectOp::create(b, inside, read, outside))
                : read;
}

/// Clones the body of an op at the loops' positions, and returns its result.
Value cloneBody(GenericBuilder &b, Block &body) {
  IRMapping mapping;
  for (BlockArgument dim : body.getArguments())
    mapping.map(dim, b.loop(dim.getArgNumber()));
  for (Operation &inner : body.without_terminator())
    b.clone(inner, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

struct ConvertPad : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::PadOp op,
                                PatternRewriter &rewriter) const override {
    if (ShapedType::isDynamicShape(op.getStaticLow()))
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    RankedTensorType type = op.getResultType();
    rewriter.replaceOp(
        op, b.map(type.getShape(), type.getElementType(), {}, [&](ValueRange) {
          Attribute value;
          Value padding = op.getConstantPaddingValue();
          bool isConstant =
              padding && matchPattern(padding, m_Constant(&value));
          Value outside =
              isConstant ? arith::ConstantOp::create(b, cast<TypedAttr>(value))
                         : cloneBody(b, op.getRegion().front());
          return readBlock(b, op.getSource(), {op.getMixedLowPad()}, outside);
        }));
    return success();
  }
};

/// A pack is a tensor.pad, a reshape and a transpose.
struct ConvertPack : OpRewritePattern<linalg::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::PackOp op,
                                PatternRewriter &rewriter) const override {
    if (ShapedType::isDynamicShape(op.getStaticInnerTiles()))
      return failure();
    return linalg::lowerPack(rewriter, op,
                             /*lowerPadLikeWithInsertSlice=*/false);
  }
};

/// An unpack is a transpose, a reshape and a tensor.extract_slice.
struct ConvertUnPack : OpRewritePattern<linalg::UnPackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::UnPackOp op,
                                PatternRewriter &rewriter) const override {
    if (ShapedType::isDynamicShape(op.getStaticInnerTiles()))
      return failure();
    return linalg::lowerUnPack(rewriter, op,
                               /*lowerUnpadLikeWithExtractSlice=*/false);
  }
};

struct ConvertInsertSlice : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    if (ShapedType::isDynamicShape(op.getStaticStrides()) ||
        ShapedType::isDynamicShape(op.getSourceType().getShape()) ||
        llvm::any_of(op.getStaticStrides(),
                     [](int64_t stride) { return stride < 1; }))
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    BlockPlace place{op.getMixedOffsets(), op.getStaticStrides(),
                     op.getDroppedDims()};
    rewriter.replaceOp(op, b.map(type.getShape(), type.getElementType(),
                                 {{op.getDest(), b.identity(type.getRank())}},
                                 [&](ValueRange v) {
                                   return readBlock(b, op.getSource(), place,
                                                    v[0]);
                                 }));
    return success();
  }
};

struct ConvertSplat : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::SplatOp op,
                                PatternRewriter &rewriter) const override {
    Attribute value;
    auto type = cast<RankedTensorType>(op.getType());
    if (!matchPattern(op.getInput(), m_Constant(&value))) {
      Value empty = tensor::EmptyOp::create(
          rewriter, op.getLoc(), type.getShape(), type.getElementType());
      rewriter.replaceOpWithNewOp<linalg::FillOp>(op, op.getInput(), empty);
      return success();
    }
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, DenseElementsAttr::get(type, value));
    return success();
  }
};

struct ConvertFromElements : OpRewritePattern<tensor::FromElementsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::FromElementsOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!type.getElementType().isIntOrFloat())
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    SmallVector<int64_t> strides = rt::getRowMajorStrides(type.getShape());
    rewriter.replaceOp(
        op, b.map(type.getShape(), type.getElementType(), {}, [&](ValueRange) {
          Value position = b.index(0);
          for (auto [loop, stride] : llvm::enumerate(strides))
            position = arith::AddIOp::create(
                b, position,
                arith::MulIOp::create(b, b.loop(loop), b.index(stride)));
          Value value = op.getElements().back();
          for (auto [i, element] :
               llvm::enumerate(op.getElements().drop_back())) {
            Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                 position, b.index(i));
            value = arith::SelectOp::create(b, isHere, element, value);
          }
          return value;
        }));
    return success();
  }
};

struct ConvertGenerate : OpRewritePattern<tensor::GenerateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::GenerateOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!type.getElementType().isIntOrFloat())
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, b.map(type.getShape(), type.getElementType(), {}, [&](ValueRange) {
          return cloneBody(b, op.getBody().front());
        }));
    return success();
  }
};

struct ConvertInsert : OpRewritePattern<tensor::InsertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::InsertOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!type.getElementType().isIntOrFloat())
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op,
        b.map(type.getShape(), type.getElementType(),
              {{op.getDest(), b.identity(type.getRank())}}, [&](ValueRange v) {
                Value value = op.getScalar(), isHere;
                for (auto [loop, index] : llvm::enumerate(op.getIndices())) {
                  Value same = arith::CmpIOp::create(
                      b, arith::CmpIPredicate::eq, b.loop(loop), index);
                  isHere = isHere
                               ? Value(arith::AndIOp::create(b, isHere, same))
                               : same;
                }
                return isHere ? Value(arith::SelectOp::create(b, isHere, value,
                                                              v[0]))
                              : value;
              }));
    return success();
  }
};

} // namespace

void tessera::populateMovementPatterns(RewritePatternSet &patterns) {
  patterns
      .add<ConvertSlice, ConvertExtractSlice, ConvertConcat, ConvertAssemble,
           ConvertPad, ConvertPack, ConvertUnPack, ConvertInsertSlice,
           ConvertSplat, ConvertFromElements, ConvertGenerate, ConvertInsert>(
          patterns.getContext());
}
