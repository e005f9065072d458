//===- SplitChunks.cpp - Column sums split over chunks of rows ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two-pass reduction of a GPU: one launch makes a partial sum per chunk of
// rows, the next one adds them (M. Harris: Optimizing Parallel Reduction in
// CUDA, NVIDIA, 2007). There are no atomics, so the order of additions is
// fixed.
//
// splitIntoChunks() takes whole reduction loops, from the first one on, and
// then a divisor of the next, until there are kRowsOfGPU chunks, each of
// kLeastChunk additions or more:
//
//     32x1024x768 -> 768    wanted = min(512 / 1, 32 * 1024 / 16) = 512
//       loop of 32:    all of it; 512 / 32 = 16 chunks are still wanted
//       loop of 1024:  as 16 x 64; 64 additions are left to each chunk
//       chunks         32x16x(64)x768 -> 32x16x768, then 32x16x768 -> 768
//
//     2018x96 -> 96         wanted = min(512, 2018 / 16) = 126
//       loop of 2018:  2 is its largest divisor up to 126: 2x(1009)x96
//
// The chunks of fuseChunks() are adjacent rows, so that a kernel on these rows
// adds them as well: (b, s, c) -> (b, s floordiv 32, c).
//
//===----------------------------------------------------------------------===//

#include "SplitReductions.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Codegen/ColumnReductions.h"
#include "tessera/Codegen/ReductionLoops.h"

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

/// The fewest additions of a chunk: fewer are not worth a second op.
static constexpr int64_t kLeastChunk = 16;

linalg::GenericOp tessera::fuseChunks(linalg::GenericOp op) {
  linalg::FillOp start = getStart(op, 0);
  std::optional<AffineMap> map = planFusedColumnReduction(op);
  if (!map || !start || !getCombiner(op, 0) ||
      !matchPattern(start.getInputs()[0], m_AnyZeroFloat()))
    return nullptr;
  GenericBuilder b(op.getLoc(), op);
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = *map;
  // All reduction loops but the last index chunks, and so does the quotient of
  // the last one: 32x1024 rows by 32 are 32x32 chunks.
  unsigned last = op.getNumReductionLoops() - 1;
  std::fill_n(iterators.begin(), last, IteratorType::parallel);
  SmallVector<int64_t> shape = op.getStaticLoopRanges();
  shape[last] /= cast<AffineConstantExpr>(
                     cast<AffineBinaryOpExpr>(map->getResult(last)).getRHS())
                     .getValue();
  linalg::GenericOp chunks = rebuild(
      b, op, op.getDpsInputs(), fillLike(b, start, shape), maps, iterators);
  linalg::GenericOp whole = sumChunks(b, op, chunks.getResult(0), last + 1);
  op.getResult(0).replaceAllUsesWith(whole.getResult(0));
  op.erase();
  return whole;
}

/// The largest divisor of `size` that is at most `most`.
static int64_t largestDivisor(int64_t size, int64_t most) {
  for (int64_t divisor = std::min(size, most); divisor > 1; --divisor)
    if (size % divisor == 0)
      return divisor;
  return 1;
}

/// Splits loop `loop` in two, the outer one of `outer` iterations right before
/// the inner one; the result stays the same.
static linalg::GenericOp splitLoop(GenericBuilder &b, linalg::GenericOp op,
                                   unsigned loop, int64_t outer) {
  unsigned loops = op.getNumLoops();
  SmallVector<AffineExpr> newDims;
  for (unsigned i = 0; i < loops; ++i)
    newDims.push_back(b.getAffineDimExpr(i < loop ? i : i + 1));
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    int64_t dim = findLoop(map, loop);
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : map.getResults())
      exprs.push_back(expr.replaceDims(newDims));
    if (dim >= 0)
      exprs.insert(exprs.begin() + dim, b.getAffineDimExpr(loop));
    maps.push_back(AffineMap::get(loops + 1, 0, exprs, b.getContext()));
    if (!op.isDpsInit(&operand))
      inputs.push_back(dim >= 0 ? splitDim(b, operand.get(), dim, outer)
                                : operand.get());
  }
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  iterators.insert(iterators.begin() + loop, iterators[loop]);
  return rebuild(b, op, inputs, op.getDpsInits(), maps, iterators);
}

namespace {
/// The reduction loops that become chunks.
struct ChunkPlan {
  /// Loops that index chunks, in their order: whole reduction loops, and the
  /// outer part of the last one if it is split.
  SmallVector<unsigned> chunkLoops;
  /// The loop to split in two and the iterations of its outer part, if any.
  std::optional<std::pair<unsigned, int64_t>> split;
};
} // namespace

/// True if maps use the loop only as a plain index; other loops cannot be
/// split.
static bool isPlainIndex(linalg::GenericOp op, unsigned loop) {
  return llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
      return isa<AffineDimExpr>(expr) || !expr.isFunctionOfDim(loop);
    });
  });
}

/// The number of chunks to split the op into: as many as a GPU has rows for,
/// including the op's own rows, but no smaller than kLeastChunk.
static int64_t countWantedChunks(linalg::GenericOp op) {
  int64_t rows = 1, additions = 1;
  unsigned lastColumn = op.getNumLoops() - 1;
  for (auto [loop, size, iterator] :
       llvm::enumerate(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    if (iterator == IteratorType::reduction)
      additions *= size;
    else if (loop < lastColumn)
      rows *= size;
  }
  return std::min(kRowsOfGPU / rows, additions / kLeastChunk);
}

/// None if the op is no sum over rows whose last loop is a column, has a
/// transposed result, or should stay whole.
static std::optional<ChunkPlan> planChunks(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || !getStart(op, 0) || !getCombiner(op, 0) ||
      op.getIteratorTypesArray().back() != IteratorType::parallel)
    return std::nullopt;
  unsigned loops = op.getNumLoops();
  SmallVector<unsigned> parallel, reductions;
  op.getParallelDims(parallel);
  op.getReductionDims(reductions);
  AffineMap resultMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (resultMap != AffineMap::getMultiDimIdentityMap(loops, op.getContext())
                       .getSubMap(parallel))
    return std::nullopt;
  int64_t wanted = countWantedChunks(op);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  ChunkPlan plan;
  for (unsigned loop : reductions) {
    if (wanted < 2)
      break;
    if (sizes[loop] <= wanted) {
      plan.chunkLoops.push_back(loop);
      wanted /= sizes[loop];
      continue;
    }
    int64_t outer = largestDivisor(sizes[loop], wanted);
    if (outer > 1 && isPlainIndex(op, loop)) {
      plan.chunkLoops.push_back(loop);
      plan.split = {loop, outer};
    }
    break;
  }
  if (plan.chunkLoops.empty())
    return std::nullopt;
  return plan;
}

linalg::GenericOp tessera::splitIntoChunks(linalg::GenericOp op) {
  std::optional<ChunkPlan> plan = planChunks(op);
  if (!plan)
    return nullptr;
  GenericBuilder b(op.getLoc(), op);
  linalg::GenericOp split =
      plan->split ? splitLoop(b, op, plan->split->first, plan->split->second)
                  : op;
  // The loops in order: chunks, columns but the last, additions, last column.
  unsigned all = split.getNumLoops();
  SmallVector<unsigned> order(plan->chunkLoops), additions;
  SmallVector<IteratorType> iterators = split.getIteratorTypesArray();
  for (unsigned i = 0; i + 1 < all; ++i)
    if (!llvm::is_contained(plan->chunkLoops, i))
      (iterators[i] == IteratorType::parallel ? order : additions).push_back(i);
  unsigned firstAddition = order.size();
  llvm::append_range(order, additions);
  order.push_back(all - 1);
  linalg::GenericOp sum = reorder(b, split, order);
  if (split != op)
    split.erase();
  // The partial sums have a dimension for each loop except the additions.
  SmallVector<int64_t> sizes = sum.getStaticLoopRanges(), shape;
  SmallVector<unsigned> stored;
  for (unsigned i = 0; i < all; ++i)
    if (i < firstAddition || i + 1 == all) {
      stored.push_back(i);
      shape.push_back(sizes[i]);
    }
  SmallVector<AffineMap> maps = sum.getIndexingMapsArray();
  maps.back() = b.project(all, stored);
  iterators = sum.getIteratorTypesArray();
  std::fill_n(iterators.begin(), plan->chunkLoops.size(),
              IteratorType::parallel);
  linalg::GenericOp made =
      rebuild(b, sum, sum.getDpsInputs(), fillLike(b, getStart(op, 0), shape),
              maps, iterators);
  sum.erase();
  linalg::GenericOp whole =
      sumChunks(b, op, made.getResult(0), plan->chunkLoops.size());
  op.getResult(0).replaceAllUsesWith(whole.getResult(0));
  op.erase();
  return whole;
}
