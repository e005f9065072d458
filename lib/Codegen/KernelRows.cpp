//===- KernelRows.cpp - The rows that ops of a kernel share ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/KernelRows.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tessera/Codegen/ColumnReductions.h"

using namespace mlir;
using namespace tessera;

bool tessera::staysInRow(AffineMap map, unsigned rowLoops) {
  if (map.getNumResults() < rowLoops)
    return false;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (i < rowLoops) {
      if (!dim || dim.getPosition() != i)
        return false;
      continue;
    }
    for (unsigned loop = 0; loop < rowLoops; ++loop)
      if (expr.isFunctionOfDim(loop))
        return false;
  }
  return true;
}

/// Returns the maximum number of loops that can count rows.
static unsigned getMaxRowLoops(linalg::GenericOp op) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  unsigned loops = 0;
  while (loops < iterators.size() &&
         iterators[loops] == utils::IteratorType::parallel)
    ++loops;
  auto fits = [&](OpOperand &init) {
    return staysInRow(op.getMatchingIndexingMap(&init), loops);
  };
  while (loops > 0 && !llvm::all_of(op.getDpsInitsMutable(), fits))
    --loops;
  return loops;
}

std::optional<unsigned> tessera::getRowLoops(linalg::GenericOp op,
                                             int64_t rows) {
  if (auto sum = getFusedColumnReduction(op))
    return rows == sum->rows ? std::optional(sum->rowLoops) : std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t product = 1;
  for (unsigned loops = 0, end = getMaxRowLoops(op);; ++loops) {
    if (product == rows)
      return loops;
    if (loops == end)
      return std::nullopt;
    product *= sizes[loops];
  }
}

SmallVector<int64_t> tessera::getRowCounts(linalg::GenericOp op) {
  if (auto sum = getFusedColumnReduction(op))
    return {sum->rows};
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<int64_t> counts{1};
  for (unsigned loop = 0, end = getMaxRowLoops(op); loop < end; ++loop)
    if (sizes[loop] != 1)
      counts.push_back(counts.back() * sizes[loop]);
  return counts;
}

int64_t tessera::getPreferredRows(linalg::GenericOp op, bool onGPU) {
  if (auto sum = getFusedColumnReduction(op))
    return sum->rows;
  // A row of fewer elements costs more to locate than to compute; fewer rows
  // leave threads idle.
  constexpr int64_t kRows = 64;
  const int64_t kElements = onGPU ? 1 : 128;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  unsigned loops = getMaxRowLoops(op);
  int64_t rows = 1, elements = 1;
  for (auto [i, size] : llvm::enumerate(sizes))
    (i < loops ? rows : elements) *= size;
  // The last dimension is inside a row if there is no reduction, unless it is
  // the only dimension.
  bool holdsLast = loops > 1 && loops == sizes.size() && rows > sizes.back();
  while (loops > 1 && ((holdsLast && loops == sizes.size()) ||
                       (rows > 0 && elements < kElements &&
                        rows / sizes[loops - 1] >= kRows))) {
    --loops;
    rows /= sizes[loops];
    elements *= sizes[loops];
  }
  return rows;
}

bool tessera::readsByIndex(linalg::GenericOp op, Value tensor) {
  return op.getRegion()
      .walk([&](tensor::ExtractOp read) {
        return read.getTensor() == tensor ? WalkResult::interrupt()
                                          : WalkResult::advance();
      })
      .wasInterrupted();
}

bool tessera::hasPlainResults(linalg::GenericOp op) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    return map.isProjectedPermutation() &&
           map.getNumResults() == op.getNumParallelLoops() &&
           llvm::all_of(map.getResults(), [&](AffineExpr expr) {
             return iterators[cast<AffineDimExpr>(expr).getPosition()] ==
                    utils::IteratorType::parallel;
           });
  });
}
