//===- SplitReductions.cpp - Sums that all threads take part in -----------===//
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
// one kernel can do both (ColumnReductions.h).
//
//===----------------------------------------------------------------------===//

#include "SplitReductions.h"
#include "dialects/RT/RT.h"
#include "tessera/Codegen/KernelRows.h"
#include "tessera/Codegen/ReductionLoops.h"
#include "tessera/SplitReductions/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "tessera/SplitReductions/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

/// Fewer iterations are done before a second thread is awake.
static constexpr int64_t kWorthThreads = 16 * 1024;

/// True if it matters in which order the loops run, or the body knows where it
/// stands.
static bool dependsOnPlace(linalg::GenericOp op) {
  return !hasPlainResults(op) ||
         op.getBody()
             ->walk([](Operation *inner) {
               return isa<linalg::IndexOp, tensor::ExtractOp>(inner)
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted();
}

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
    auto flat = RankedTensorType::get({size}, type.getElementType());
    if (Value constant = reshapeConstant(b, input, flat))
      input = constant;
    else if (loops > 1)
      input = tensor::CollapseShapeOp::create(
          b, flat, input, ArrayRef<ReassociationIndices>{all});
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
static bool splitWhole(linalg::GenericOp op, int64_t enough) {
  unsigned loops = op.getNumLoops();
  if (op.getNumParallelLoops() || loops < 2 || op.getNumResults() != 1)
    return false;
  linalg::FillOp start = getStart(op, 0);
  if (!start || !getCombiner(op, 0))
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
struct SplitReductionsPass
    : tessera::impl::SplitReductionsPassBase<SplitReductionsPass> {
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
      if (splitWhole(op, enough))
        continue;
      linalg::GenericOp whole = onGPU ? carryParts(op) : nullptr;
      if (onGPU && !whole)
        whole = splitIntoChunks(op);
      splitColumns(whole ? whole : op);
    }
  }
};
} // namespace
