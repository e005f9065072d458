//===- SplitColumns.cpp - Column sums split over blocks of columns --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop tiling and interchange: a block of columns is a row of the kernel, and
// the reduction runs inside it, over the block's vector of sums.
//
//     for r in 512:                  for block in 12:        threads
//       for c in 768:       =>         for r in 512:
//         y[c] += x[r, c]                for c in 64:        vectors
//                                          y[block, c] += x[r, block, c]
//
// A block has the largest multiple of 16 columns up to 64 that divides. An op
// that already has kEnoughRows rows is only interchanged.
//
//===----------------------------------------------------------------------===//

#include "SplitReductions.h"
#include "tessera/Codegen/ReductionLoops.h"

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

/// Columns of a block: whole vectors, and a few cache lines of each row.
static constexpr int64_t kMostColumns = 64;

/// The number of blocks for `size` columns; 1 if there is no good size.
static int64_t getColumnBlocks(int64_t size) {
  for (int64_t block = kMostColumns; block >= 16; block -= 16)
    if (size % block == 0)
      return size / block;
  return 1;
}

/// Splits the last loop of a column sum in two. Returns the new sum, whose
/// result has one more dimension.
static linalg::GenericOp splitLastLoop(GenericBuilder &b, linalg::GenericOp op,
                                       int64_t blocks) {
  unsigned loops = op.getNumLoops(), last = loops - 1;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> resultShape;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    int64_t dim = findLoop(map, last);
    SmallVector<AffineExpr> exprs(map.getResults());
    if (dim >= 0)
      exprs.insert(exprs.begin() + dim + 1, b.getAffineDimExpr(loops));
    maps.push_back(AffineMap::get(loops + 1, 0, exprs, b.getContext()));
    if (op.isDpsInit(&operand)) {
      auto type = cast<RankedTensorType>(operand.get().getType());
      resultShape.assign(type.getShape().begin(), type.getShape().end());
      resultShape.back() /= blocks;
      resultShape.push_back(resultShape.back());
      resultShape[resultShape.size() - 2] = blocks;
      continue;
    }
    inputs.push_back(dim >= 0 ? splitDim(b, operand.get(), dim, blocks)
                              : operand.get());
  }
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  iterators.push_back(IteratorType::parallel);
  Value init = fillLike(b, getStart(op, 0), resultShape);
  return rebuild(b, op, inputs, init, maps, iterators);
}

bool tessera::splitColumns(linalg::GenericOp op) {
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<unsigned> parallel, reductions;
  for (auto [i, kind] : llvm::enumerate(iterators))
    (kind == IteratorType::parallel ? parallel : reductions).push_back(i);
  // The columns must be the innermost loop and stored in the loops' order.
  unsigned last = op.getNumLoops() - 1;
  AffineMap resultMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (op.getNumResults() != 1 || !getStart(op, 0) || parallel.empty() ||
      parallel.back() != last ||
      resultMap !=
          AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext())
              .getSubMap(parallel))
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t rows = 1;
  for (unsigned loop : ArrayRef(parallel).drop_back())
    rows *= sizes[loop];
  int64_t blocks = rows < kEnoughRows ? getColumnBlocks(sizes[last]) : 1;
  if (rows * blocks < 2)
    return false;
  // Another expression of the last loop than the loop itself cannot be split.
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr>(expr) && expr.isFunctionOfDim(last))
        return false;
  // In order: parallel loops, blocks of columns, additions, columns of a block.
  GenericBuilder b(op.getLoc(), op);
  linalg::GenericOp made = blocks > 1 ? splitLastLoop(b, op, blocks) : op;
  SmallVector<unsigned> order(ArrayRef(parallel).drop_back());
  if (blocks > 1)
    order.push_back(last);
  llvm::append_range(order, reductions);
  order.push_back(blocks > 1 ? last + 1 : last);
  linalg::GenericOp sum = reorder(b, made, order);
  // The 12x64 sums are the original 768 sums.
  Value result = sum.getResult(0);
  if (blocks > 1) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    SmallVector<ReassociationIndices> groups;
    for (int64_t i = 0; i < type.getRank(); ++i)
      groups.push_back({i});
    groups.back().push_back(type.getRank());
    result = tensor::CollapseShapeOp::create(b, type, result, groups);
    made.erase();
  }
  op.getResult(0).replaceAllUsesWith(result);
  op.erase();
  return true;
}
