//===- SpreadReductions.cpp - Sums that all threads take part in ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's threads share its rows, the leading parallel loops. A sum over
// leading dimensions has none: here its columns become rows of blocks of
// columns; and a sum over everything becomes sums of parts, and their sum. The
// parts depend on the shape alone, so results do not depend on threads.
//
// A GPU needs more rows: there a sum of columns is done by parts first, each
// over all columns, and then over the parts by blocks of columns. Where another
// op works on the same rows, parts are of rows that follow each other, so that
// one kernel can do both (CarriedSums.h).
//
//===----------------------------------------------------------------------===//

#include "CarriedSums.h"
#include "GenericBuilder.h"
#include "KernelRows.h"
#include "dialects/RT/RT.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Conversion/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SPREADREDUCTIONSPASS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

/// Fewer iterations are done before a second thread is awake.
static constexpr int64_t kWorthThreads = 16 * 1024;
/// Rows that make shares even.
static constexpr int64_t kEnoughRows = 64;
/// Columns of a block: whole vectors, and a few cache lines of each row.
static constexpr int64_t kMostColumns = 64;

/// True if the body knows where it stands.
static bool dependsOnPlace(linalg::GenericOp op) {
  return op.getBody()
      ->walk([](Operation *inner) {
        return isa<linalg::IndexOp, tensor::ExtractOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Starts like `op` over other loops and operands, with its body.
static linalg::GenericOp rebuild(OpBuilder &b, linalg::GenericOp op,
                                 ValueRange inputs, ValueRange inits,
                                 ArrayRef<AffineMap> maps,
                                 ArrayRef<IteratorType> iterators) {
  auto made = linalg::GenericOp::create(b, op.getLoc(), inits.getTypes(),
                                        inputs, inits, maps, iterators);
  IRMapping mapping;
  op.getRegion().cloneInto(&made.getRegion(), mapping);
  return made;
}

/// The fill that starts the sum of a result; null if it starts otherwise.
static linalg::FillOp getStart(linalg::GenericOp op, unsigned result) {
  return op.getDpsInitOperand(result)->get().getDefiningOp<linalg::FillOp>();
}

static Value fillLike(GenericBuilder &b, linalg::FillOp start,
                      ArrayRef<int64_t> shape) {
  Value empty = tensor::EmptyOp::create(
      b, shape, getElementTypeOrSelf(start.getResult(0).getType()));
  return linalg::FillOp::create(b, start.getInputs()[0], empty).getResult(0);
}

//===----------------------------------------------------------------------===//
// Sums of columns
//===----------------------------------------------------------------------===//

/// Blocks into which `size` columns are cut; 1 if there is no good size.
static int64_t getColumnBlocks(int64_t size) {
  for (int64_t block = kMostColumns; block >= 16; block -= 16)
    if (size % block == 0)
      return size / block;
  return 1;
}

/// `value` with dimension `dim` split into `outer` and the rest.
static Value splitDim(GenericBuilder &b, Value value, int64_t dim,
                      int64_t outer) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= outer;
  shape.insert(shape.begin() + dim, outer);
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0, next = 0; i < type.getRank(); ++i) {
    groups.push_back({next++});
    if (i == dim)
      groups.back().push_back(next++);
  }
  return tensor::ExpandShapeOp::create(
      b, RankedTensorType::get(shape, type.getElementType()), value, groups);
}

/// The position of loop `loop` among the results of a map; -1 if it is none.
static int64_t findLoop(AffineMap map, unsigned loop) {
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      if (dim.getPosition() == loop)
        return i;
  return -1;
}

/// Splits the last loop of a sum of columns in two; gives the sum that takes
/// its place, whose result has one dimension more.
static linalg::GenericOp splitColumns(GenericBuilder &b, linalg::GenericOp op,
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

/// The same op with its loops in another order: `order[i]` is the loop that
/// comes i-th.
static linalg::GenericOp reorder(GenericBuilder &b, linalg::GenericOp op,
                                 ArrayRef<unsigned> order) {
  unsigned loops = op.getNumLoops();
  SmallVector<AffineExpr> places(loops);
  SmallVector<IteratorType> iterators, old = op.getIteratorTypesArray();
  for (auto [i, loop] : llvm::enumerate(order)) {
    places[loop] = b.getAffineDimExpr(i);
    iterators.push_back(old[loop]);
  }
  SmallVector<AffineMap> maps;
  for (AffineMap map : op.getIndexingMapsArray())
    maps.push_back(map.replaceDimsAndSymbols(places, {}, loops, 0));
  return rebuild(b, op, op.getDpsInputs(), op.getDpsInits(), maps, iterators);
}

/// Makes rows of a sum whose last loop is parallel and whose first one is not.
static bool spreadColumns(linalg::GenericOp op) {
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<unsigned> parallel, reductions;
  for (auto [i, kind] : llvm::enumerate(iterators))
    (kind == IteratorType::parallel ? parallel : reductions).push_back(i);
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
  // An expression of the last loop other than the loop itself is not split.
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr>(expr) && expr.isFunctionOfDim(last))
        return false;
  GenericBuilder b(op.getLoc(), op);
  linalg::GenericOp made = blocks > 1 ? splitColumns(b, op, blocks) : op;
  SmallVector<unsigned> order(ArrayRef(parallel).drop_back());
  if (blocks > 1)
    order.push_back(last);
  llvm::append_range(order, reductions);
  order.push_back(blocks > 1 ? last + 1 : last);
  linalg::GenericOp sum = reorder(b, made, order);
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

//===----------------------------------------------------------------------===//
// Parts of sums of columns
//===----------------------------------------------------------------------===//

/// Rows that keep a GPU busy, and the elements that one part adds, at least.
static constexpr int64_t kRowsOfGPU = 512, kLeastPart = 16;

/// The op that adds to the sum of a reduction; null if the body is more.
static Operation *getAddition(linalg::GenericOp op) {
  Operation *combiner =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  Value accumulator = op.getBody()->getArguments().back();
  if (!combiner || combiner->getNumOperands() != 2 ||
      !accumulator.hasOneUse() || *accumulator.user_begin() != combiner)
    return nullptr;
  return combiner;
}

/// Sums of `parts` over their first `count` loops, as `op` adds.
static linalg::GenericOp sumParts(GenericBuilder &b, linalg::GenericOp op,
                                  Value parts, unsigned count) {
  Operation *combiner = getAddition(op);
  Value accumulator = op.getBody()->getArguments().back();
  unsigned loops = cast<RankedTensorType>(parts.getType()).getRank();
  SmallVector<IteratorType> iterators(loops, IteratorType::parallel);
  std::fill_n(iterators.begin(), count, IteratorType::reduction);
  SmallVector<unsigned> kept;
  for (unsigned loop = count; loop < loops; ++loop)
    kept.push_back(loop);
  return linalg::GenericOp::create(
      b, op.getResult(0).getType(), parts, op.getDpsInitOperand(0)->get(),
      ArrayRef<AffineMap>{b.identity(loops), b.project(loops, kept)}, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        IRMapping mapping;
        for (Value operand : combiner->getOperands())
          mapping.map(operand, operand == accumulator ? args[1] : args[0]);
        Operation *clone = nested.clone(*combiner, mapping);
        linalg::YieldOp::create(nested, loc, clone->getResult(0));
      });
}

/// Cuts a sum of columns into sums of rows that follow each other, which a
/// kernel of these rows can carry along, and the sum over them, which is given;
/// null where there is no such kernel.
static linalg::GenericOp carryParts(linalg::GenericOp op) {
  linalg::FillOp start = getStart(op, 0);
  std::optional<AffineMap> map = planCarriedSum(op);
  if (!map || !start || !getAddition(op) ||
      !matchPattern(start.getInputs()[0], m_AnyZeroFloat()))
    return nullptr;
  GenericBuilder b(op.getLoc(), op);
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = *map;
  unsigned last = op.getNumReductionLoops() - 1;
  std::fill_n(iterators.begin(), last, IteratorType::parallel);
  SmallVector<int64_t> shape = op.getStaticLoopRanges();
  shape[last] /= cast<AffineConstantExpr>(
                     cast<AffineBinaryOpExpr>(map->getResult(last)).getRHS())
                     .getValue();
  linalg::GenericOp parts = rebuild(b, op, op.getDpsInputs(),
                                    fillLike(b, start, shape), maps, iterators);
  linalg::GenericOp whole = sumParts(b, op, parts.getResult(0), last + 1);
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
/// the inner one; the result stays as it is.
static linalg::GenericOp splitLoop(GenericBuilder &b, linalg::GenericOp op,
                                   unsigned loop, int64_t outer) {
  unsigned loops = op.getNumLoops();
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < loops; ++i)
    places.push_back(b.getAffineDimExpr(i < loop ? i : i + 1));
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    int64_t dim = findLoop(map, loop);
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : map.getResults())
      exprs.push_back(expr.replaceDims(places));
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

/// Cuts a sum of columns into sums of parts and the sum over these, which is
/// given; null where that would not make rows.
static linalg::GenericOp spreadParts(linalg::GenericOp op) {
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  unsigned loops = op.getNumLoops();
  if (op.getNumResults() != 1 || !getStart(op, 0) || !getAddition(op) ||
      iterators.back() != IteratorType::parallel)
    return nullptr;
  int64_t rows = 1, additions = 1;
  SmallVector<unsigned> parallel;
  for (unsigned i = 0; i < loops; ++i) {
    if (iterators[i] == IteratorType::reduction) {
      additions *= sizes[i];
      continue;
    }
    parallel.push_back(i);
    if (i + 1 < loops)
      rows *= sizes[i];
  }
  AffineMap resultMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (resultMap != AffineMap::getMultiDimIdentityMap(loops, op.getContext())
                       .getSubMap(parallel))
    return nullptr;
  int64_t wanted = std::min(kRowsOfGPU / rows, additions / kLeastPart);
  if (wanted < 2)
    return nullptr;
  // Whole loops from the first one on, and a part of the next.
  GenericBuilder b(op.getLoc(), op);
  linalg::GenericOp cut = op;
  SmallVector<unsigned> parts;
  for (unsigned i = 0; i < loops && wanted > 1; ++i) {
    if (iterators[i] != IteratorType::reduction)
      continue;
    parts.push_back(i);
    if (sizes[i] <= wanted) {
      wanted /= sizes[i];
      continue;
    }
    int64_t outer = largestDivisor(sizes[i], wanted);
    bool isPlain = llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
      return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
        return isa<AffineDimExpr>(expr) || !expr.isFunctionOfDim(i);
      });
    });
    if (outer > 1 && isPlain)
      cut = splitLoop(b, op, i, outer);
    else
      parts.pop_back();
    break;
  }
  if (parts.empty())
    return nullptr;
  // Parts, the other columns' loops, what is left of the sum, the last column.
  unsigned all = cut.getNumLoops();
  SmallVector<unsigned> order(parts), rest;
  iterators = cut.getIteratorTypesArray();
  for (unsigned i = 0; i + 1 < all; ++i) {
    if (llvm::is_contained(parts, i))
      continue;
    (iterators[i] == IteratorType::parallel ? order : rest).push_back(i);
  }
  llvm::append_range(order, rest);
  order.push_back(all - 1);
  linalg::GenericOp sum = reorder(b, cut, order);
  if (cut != op)
    cut.erase();
  sizes = sum.getStaticLoopRanges();
  SmallVector<int64_t> shape;
  SmallVector<unsigned> stored;
  for (unsigned i = 0; i < all; ++i)
    if (i < order.size() - rest.size() - 1 || i + 1 == all) {
      stored.push_back(i);
      shape.push_back(sizes[i]);
    }
  SmallVector<AffineMap> maps = sum.getIndexingMapsArray();
  maps.back() = b.project(all, stored);
  iterators = sum.getIteratorTypesArray();
  std::fill_n(iterators.begin(), parts.size(), IteratorType::parallel);
  linalg::GenericOp made =
      rebuild(b, sum, sum.getDpsInputs(), fillLike(b, getStart(op, 0), shape),
              maps, iterators);
  sum.erase();
  linalg::GenericOp whole = sumParts(b, op, made.getResult(0), parts.size());
  op.getResult(0).replaceAllUsesWith(whole.getResult(0));
  op.erase();
  return whole;
}

//===----------------------------------------------------------------------===//
// Sums of everything
//===----------------------------------------------------------------------===//

/// A row of a tensor of `size` elements that is seen as rows of equal length, a
/// few thousand of them; all of it where that is little; 0 if no length
/// divides.
static int64_t getFlatRow(int64_t size) {
  constexpr int64_t kParts = 4096, kLeast = 1024, kVector = 8;
  if (size < kWorthThreads)
    return size;
  int64_t least = llvm::alignTo(std::max(size / kParts, kLeast), kVector);
  for (int64_t row = least; row <= 4 * least; row += kVector)
    if (size % row == 0 && row < size)
      return row;
  return 0;
}

/// Sees the tensors of a sum over everything as rows, whatever their shape, so
/// that those of one size share code; the sum that takes its place.
static linalg::GenericOp flattenWhole(linalg::GenericOp op) {
  unsigned loops = op.getNumLoops();
  int64_t size = 1;
  for (int64_t loop : op.getStaticLoopRanges())
    size *= loop;
  int64_t row = getFlatRow(size);
  bool isPlain = llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    return op.getMatchingIndexingMap(input).isIdentity();
  });
  unsigned rank = row == size ? 1 : 2;
  if (op.getNumParallelLoops() || op.getNumResults() != 1 || loops == 0 ||
      !isPlain || !row || (loops == 1 && rank == 1))
    return op;
  GenericBuilder b(op.getLoc(), op);
  SmallVector<Value> inputs;
  for (Value input : op.getDpsInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    ReassociationIndices all;
    for (unsigned i = 0; i < loops; ++i)
      all.push_back(i);
    if (loops > 1)
      input = tensor::CollapseShapeOp::create(
          b, RankedTensorType::get({size}, type.getElementType()), input,
          ArrayRef<ReassociationIndices>{all});
    inputs.push_back(rank == 1 ? input : splitDim(b, input, 0, size / row));
  }
  SmallVector<AffineMap> maps(inputs.size(), b.identity(rank));
  maps.push_back(b.project(rank, {}));
  SmallVector<IteratorType> iterators(rank, IteratorType::reduction);
  linalg::GenericOp made =
      rebuild(b, op, inputs, op.getDpsInits(), maps, iterators);
  op.getResult(0).replaceAllUsesWith(made.getResult(0));
  op.erase();
  return made;
}

/// Splits a sum over all loops into one of each of the first loops, and a sum
/// of these.
static bool spreadWhole(linalg::GenericOp op, int64_t enough) {
  unsigned loops = op.getNumLoops();
  if (op.getNumParallelLoops() || loops < 2 || op.getNumResults() != 1)
    return false;
  linalg::FillOp start = getStart(op, 0);
  if (!start || !getAddition(op))
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges(), shape;
  int64_t rows = 1;
  while (rows < enough && shape.size() + 1 < loops) {
    shape.push_back(sizes[shape.size()]);
    rows *= shape.back();
  }
  if (rows < 2)
    return false;
  GenericBuilder b(op.getLoc(), op);
  unsigned outer = shape.size();
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  std::fill_n(iterators.begin(), outer, IteratorType::parallel);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = b.leading(loops, outer);
  linalg::GenericOp parts = rebuild(b, op, op.getDpsInputs(),
                                    fillLike(b, start, shape), maps, iterators);
  linalg::GenericOp whole = sumParts(b, op, parts.getResult(0), outer);
  op.getResult(0).replaceAllUsesWith(whole.getResult(0));
  op.erase();
  return true;
}

namespace {
struct SpreadReductionsPass
    : tessera::impl::SpreadReductionsPassBase<SpreadReductionsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    bool onGPU = rt::getTarget(func) != rt::Target::Host;
    int64_t enough = onGPU ? kRowsOfGPU / 2 : kEnoughRows;
    SmallVector<linalg::GenericOp> ops, sums;
    func.walk([&](linalg::GenericOp op) {
      if (onGPU && op.getNumLoops() == op.getNumReductionLoops() &&
          !dependsOnPlace(op))
        sums.push_back(op);
    });
    for (linalg::GenericOp op : sums)
      flattenWhole(op);
    func.walk([&](linalg::GenericOp op) {
      int64_t iterations = 1;
      for (int64_t size : op.getStaticLoopRanges())
        iterations *= size;
      if (op.getNumReductionLoops() && iterations >= kWorthThreads &&
          getRowCounts(op).back() < enough && !dependsOnPlace(op))
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      if (spreadWhole(op, enough))
        continue;
      linalg::GenericOp whole = onGPU ? carryParts(op) : nullptr;
      if (onGPU && !whole)
        whole = spreadParts(op);
      spreadColumns(whole ? whole : op);
    }
  }
};
} // namespace
