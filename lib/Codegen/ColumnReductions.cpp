//===- ColumnReductions.cpp - Column reductions fused into row kernels ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A column reduction (the gradient of a bias or of a norm's gain) often reads a
// tensor that a row kernel reads or computes. If it is split into chunks of
// consecutive rows, the threads that compute these rows one by one can also add
// up their columns. The tensor is then read once for both.
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/ColumnReductions.h"
#include "tessera/Codegen/KernelRows.h"

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

std::optional<FusedColumnReduction>
tessera::getFusedColumnReduction(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.getNumReductionLoops() != 1)
    return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  if (map.getNumResults() != op.getNumLoops())
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  FusedColumnReduction sum;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (expr == getAffineDimExpr(i, op.getContext())) {
      if (iterators[i] != IteratorType::parallel)
        return std::nullopt;
      continue;
    }
    auto quotient = dyn_cast<AffineBinaryOpExpr>(expr);
    auto divisor = quotient && quotient.getKind() == AffineExprKind::FloorDiv
                       ? dyn_cast<AffineConstantExpr>(quotient.getRHS())
                       : AffineConstantExpr();
    if (!divisor || sum.rowsPerSum ||
        quotient.getLHS() != getAffineDimExpr(i, op.getContext()) ||
        sizes[i] % divisor.getValue() != 0)
      return std::nullopt;
    sum.rowsPerSum = divisor.getValue();
    sum.rowLoops = i + 1;
  }
  if (!sum.rowsPerSum)
    return std::nullopt;
  for (int64_t size : ArrayRef(sizes).take_front(sum.rowLoops))
    sum.rows *= size;
  return sum;
}

/// True if the op reads `value` element by element, as an input.
static bool readsWhole(linalg::GenericOp op, Value value) {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    return operand.get() == value && !op.isDpsInit(&operand) &&
           op.getMatchingIndexingMap(&operand).isIdentity();
  });
}

bool tessera::readsSameRows(linalg::GenericOp a, linalg::GenericOp other) {
  return llvm::any_of(a->getOpOperands(), [&](OpOperand &operand) {
    return readsWhole(a, operand.get()) && readsWhole(other, operand.get());
  });
}

/// True if another op, not a fused column reduction itself, works row by row on
/// a tensor that `op` reads whole, or computes that tensor.
static bool hasNeighbour(linalg::GenericOp op, int64_t rows) {
  auto fits = [&](Operation *other) {
    auto generic = dyn_cast_or_null<linalg::GenericOp>(other);
    return generic && generic != op && !getFusedColumnReduction(generic) &&
           getRowLoops(generic, rows);
  };
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Value value = operand->get();
    if (!readsWhole(op, value))
      continue;
    if (fits(value.getDefiningOp()) ||
        llvm::any_of(value.getUsers(), [&](Operation *user) {
          return fits(user) && readsWhole(cast<linalg::GenericOp>(user), value);
        }))
      return true;
  }
  return false;
}

/// Returns the number of rows that one chunk adds. There must be enough chunks
/// to keep a GPU busy, and enough rows in a chunk to be worth its row of
/// partial sums in memory. Returns 0 if there is no such number.
static int64_t getRowsPerSum(int64_t rows, int64_t lastLoop) {
  constexpr int64_t kChunks = 1024, kLeastChunks = 256, kLeastRows = 8;
  int64_t most = std::max(rows / kChunks, kLeastRows);
  for (int64_t rowsPerSum = std::min(most, lastLoop); rowsPerSum >= kLeastRows;
       --rowsPerSum)
    if (lastLoop % rowsPerSum == 0)
      return rows / rowsPerSum >= kLeastChunks ? rowsPerSum : 0;
  return 0;
}

std::optional<AffineMap>
tessera::planFusedColumnReduction(linalg::GenericOp op) {
  // A thread keeps its sums in registers.
  constexpr int64_t kMostColumns = 8192;
  SmallVector<IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  unsigned loops = op.getNumLoops(), rowLoops = 0;
  int64_t rows = 1, columns = 1;
  while (rowLoops < loops && iterators[rowLoops] == IteratorType::reduction)
    rows *= sizes[rowLoops++];
  for (unsigned i = rowLoops; i < loops; ++i) {
    columns *= sizes[i];
    if (iterators[i] != IteratorType::parallel)
      return std::nullopt;
  }
  MLIRContext *context = op.getContext();
  AffineMap all = AffineMap::getMultiDimIdentityMap(loops, context);
  if (rowLoops == 0 || rowLoops == loops || columns > kMostColumns ||
      op.getNumResults() != 1 ||
      op.getMatchingIndexingMap(op.getDpsInitOperand(0)) !=
          all.getMinorSubMap(loops - rowLoops))
    return std::nullopt;
  int64_t rowsPerSum = getRowsPerSum(rows, sizes[rowLoops - 1]);
  if (!rowsPerSum || !hasNeighbour(op, rows))
    return std::nullopt;
  SmallVector<AffineExpr> exprs(all.getResults());
  exprs[rowLoops - 1] = exprs[rowLoops - 1].floorDiv(rowsPerSum);
  return AffineMap::get(loops, 0, exprs, context);
}
