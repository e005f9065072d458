//===- SplitReductions.cpp - Splits reductions among threads --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's threads share its rows, the leading parallel loops. A reduction
// over leading dimensions has none. This pass splits reductions: some of a
// reduction's iterations become a parallel loop of partial sums, which a second
// op adds. That is `rfactor` (P. Suriana, A. Adams, S. Kamil: Parallel
// Associative Reductions in Halide, CGO 2017); of matmuls it is called split-K.
// The chunks depend on the shape alone, so results do not depend on threads.
//
// A host splits the columns, which needs no second op; a GPU needs more rows
// and splits the reduction first. The column sums of a tensor of 32x1024x768:
//
//              host                              GPU
//     columns  0..63  64..127 . 704..767         0 ............ 767
//              +------+-------+ +-------+ row 0  +----------------+
//              |      |       | |       |   .    | chunk 0        |
//     32x1024  | sum  | sum   | | sum   |   63   +----------------+
//     rows     |      |       | |       |   64   | chunk 1        |
//              |      |       | |       |   .    +- - - - - - - - +
//              +------+-------+ +-------+ 32767  | chunk 511      |
//                                                +----------------+
//              12 rows for threads,              then the sum of 512 chunks, as
//              each of 64 columns                on a host
//
// If another op works on the same rows, chunks are of neighbouring rows, so
// that one kernel can do both (ColumnReductions.h).
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

/// Iterations of a loop that are worth threads: fewer finish before a second
/// thread wakes up.
static constexpr int64_t kWorthThreads = 16 * 1024;

/// True if the order of the loops matters, or the body reads its own indices.
static bool dependsOnPosition(linalg::GenericOp op) {
  return !hasPlainResults(op) ||
         op.getBody()
             ->walk([](Operation *inner) {
               return isa<linalg::IndexOp, tensor::ExtractOp>(inner)
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted();
}

/// The length of the rows into which a reduction of `size` elements is split:
/// about 4096 rows, of at least 1024 elements. The whole size if that is less
/// than kWorthThreads; 0 if no length up to four times the least divides it.
/// 768x12x64 = 589,824 elements are 576 rows of 1024.
static int64_t getFlatRow(int64_t size) {
  constexpr int64_t kChunks = 4096, kLeast = 1024, kVector = 8;
  if (size < kWorthThreads)
    return size;
  int64_t least = llvm::alignTo(std::max(size / kChunks, kLeast), kVector);
  for (int64_t row = least; row <= 4 * least; row += kVector)
    if (size % row == 0 && row < size)
      return row;
  return 0;
}

/// Reshapes the operands of a full reduction to rows, whatever their shape, so
/// that reductions of one size share code. Returns the new op, or `op` itself
/// if it stays.
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

/// Splits a reduction over all loops: the leading loops become parallel until
/// they have `enough` iterations; a second op adds their partial sums. False,
/// without a change, if the loops before the last have one iteration or the
/// body is not a reduction with one combiner.
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
  linalg::GenericOp chunks = rebuild(
      b, op, op.getDpsInputs(), fillLike(b, start, shape), maps, iterators);
  linalg::GenericOp whole = sumChunks(b, op, chunks.getResult(0), outer);
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
    // Half of the chunks that a split aims at keep a GPU busy.
    int64_t enough = onGPU ? kRowsOfGPU / 2 : kEnoughRows;
    SmallVector<linalg::GenericOp> ops, sums;
    func.walk([&](linalg::GenericOp op) {
      if (onGPU && op.getNumLoops() == op.getNumReductionLoops() &&
          !dependsOnPosition(op))
        sums.push_back(op);
    });
    for (linalg::GenericOp op : sums)
      flattenWhole(op);
    func.walk([&](linalg::GenericOp op) {
      int64_t iterations = 1;
      for (int64_t size : op.getStaticLoopRanges())
        iterations *= size;
      if (op.getNumReductionLoops() && iterations >= kWorthThreads &&
          getRowCounts(op).back() < enough && !dependsOnPosition(op))
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      // Full reductions have no columns.
      if (splitWhole(op, enough))
        continue;
      // Column reductions: on a GPU, chunks, fused with a kernel of the same
      // rows if there is one; then blocks of columns, of the second op or of
      // the whole.
      linalg::GenericOp whole = onGPU ? fuseChunks(op) : nullptr;
      if (onGPU && !whole)
        whole = splitIntoChunks(op);
      splitColumns(whole ? whole : op);
    }
  }
};
} // namespace
