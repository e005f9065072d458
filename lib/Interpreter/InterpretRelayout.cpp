//===- InterpretRelayout.cpp - linalg.softmax, linalg.pack and unpack -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The linalg ops without a body.
//
//===----------------------------------------------------------------------===//

#include "InterpretRelayout.h"
#include "Lines.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Interpreter/Shards.h"
#include <cmath>

using namespace mlir;
using namespace tessera::interp;

/// Computes linalg's decomposition: each step is rounded, the sum once.
static LogicalResult evaluateSoftmax(linalg::SoftmaxOp op, Evaluation &e) {
  const Tensor &x = e.operand(0);
  Tensor result = e.makeResult();
  const ElementType &type = result.getElementType();
  Lines lines(x.getShape(), op.getDimension());
  auto rounded = [&](double number) { return type.round(floatCell(number)).f; };
  for (int64_t line = 0; line < lines.count; ++line) {
    int64_t begin = lines.start(line), end = begin + lines.size * lines.stride;
    Cell max = floatCell(-INFINITY);
    for (int64_t i = begin; i < end; i += lines.stride)
      max = combine(type, tessera::ReductionKind::Max, max, x[i]);
    double sum = 0;
    for (int64_t i = begin; i < end; i += lines.stride) {
      result[i] = floatCell(rounded(std::exp(rounded(x[i].f - max.f))));
      sum += result[i].f;
    }
    sum = rounded(sum);
    for (int64_t i = begin; i < end; i += lines.stride)
      result[i] = floatCell(rounded(result[i].f / sum));
  }
  return e.yield(std::move(result));
}

namespace {
/// The mapping from a packed tensor's positions to plain ones.
struct Packing {
  int64_t rank;
  SmallVector<int64_t> innerDims, outerPerm, tiles;

  /// `packed` is the packed tensor's shape, which ends with the tiles.
  template <typename Op>
  Packing(Op op, int64_t rank, ArrayRef<int64_t> packed)
      : rank(rank), innerDims(op.getInnerDimsPos()),
        outerPerm(op.getOuterDimsPerm()), tiles(packed.drop_front(rank)) {
    if (outerPerm.empty())
      outerPerm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }

  /// Returns the plain position of a packed one; it may be after the end.
  SmallVector<int64_t> toPlain(ArrayRef<int64_t> packed) const {
    SmallVector<int64_t> plain(rank);
    for (int64_t d = 0; d < rank; ++d)
      plain[outerPerm[d]] = packed[d];
    for (auto [i, dim] : llvm::enumerate(innerDims))
      plain[dim] = plain[dim] * tiles[i] + packed[rank + i];
    return plain;
  }
};
} // namespace

static bool isInside(ArrayRef<int64_t> position, ArrayRef<int64_t> shape) {
  return llvm::all_of(llvm::zip_equal(position, shape), [](auto pair) {
    return std::get<0>(pair) < std::get<1>(pair);
  });
}

static LogicalResult evaluatePack(linalg::PackOp op, Evaluation &e) {
  const Tensor &source = e.operand(0);
  Tensor result = e.makeResult();
  Packing packing(op, source.getRank(), result.getShape());
  int64_t next = 0;
  bool misses = false;
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> plain = packing.toPlain(index);
    Cell &cell = result[next++];
    if (isInside(plain, source.getShape()))
      cell = source.at(plain);
    else if (op.getPaddingValue())
      cell = (*e.get(op.getPaddingValue()))[0];
    else
      misses = true;
  });
  if (misses)
    return op.emitOpError("expects a padding value where tiles do not divide");
  return e.yield(std::move(result));
}

static LogicalResult evaluateUnPack(linalg::UnPackOp op, Evaluation &e) {
  const Tensor &source = e.operand(0);
  Tensor result = e.makeResult();
  Packing packing(op, result.getRank(), source.getShape());
  forEachIndex(source.getShape(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> plain = packing.toPlain(index);
    if (isInside(plain, result.getShape()))
      result.at(plain) = source.at(index);
  });
  return e.yield(std::move(result));
}

void tessera::interp::addRelayoutHandlers(Registry &r) {
  r.addLocal<linalg::SoftmaxOp, evaluateSoftmax>();
  r.addLocal<linalg::PackOp, evaluatePack>();
  r.addLocal<linalg::UnPackOp, evaluateUnPack>();
}
