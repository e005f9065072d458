//===- InterpretNNShapes.cpp - nn ops that choose elements ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements ops as documented in NN.td that select elements by index or along
// dimensions, or rearrange them.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "Lines.h"
#include "dialects/NN/NN.h"
#include "tessera/Interpreter/Shards.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// By index
//===----------------------------------------------------------------------===//

static LogicalResult evaluateEmbedding(nn::EmbeddingOp op, Evaluation &e) {
  const Tensor &table = e.operand(0), &ids = e.operand(1);
  Tensor result = e.makeResult();
  int64_t rows = table.getShape()[0], width = table.getShape()[1];
  std::optional<int64_t> limit = op.getIdLimit();
  int64_t offset = e.getIndex(op.getOffset());
  for (int64_t i = 0, n = ids.getNumElements(); i < n; ++i) {
    int64_t row = ids[i].i - offset;
    if (limit && (ids[i].i < 0 || ids[i].i >= *limit))
      std::fill_n(result.data() + i * width, width, floatCell(NAN));
    else if (row >= 0 && row < rows)
      std::copy_n(table.data() + row * width, width, result.data() + i * width);
  }
  return e.yield(std::move(result));
}

static LogicalResult evaluateTakeAlongAxis(nn::TakeAlongAxisOp op,
                                           Evaluation &e) {
  const Tensor &x = e.operand(0), &index = e.operand(1);
  Tensor result = e.makeResult();
  int64_t size = x.getShape().back(), offset = e.getIndex(op.getOffset());
  int64_t picks = getPicks(x, index);
  std::optional<int64_t> limit = op.getIndexLimit();
  for (int64_t i = 0, n = result.getNumElements(); i < n; ++i) {
    int64_t at = index[i].i - offset;
    bool isKnown = !limit || (index[i].i >= 0 && index[i].i < *limit);
    if (!isKnown)
      result[i] = floatCell(NAN);
    else if (at >= 0 && at < size)
      result[i] = x[i / picks * size + at];
  }
  return e.yield(std::move(result));
}

static LogicalResult evaluateIota(nn::IotaOp op, Evaluation &e) {
  Tensor result = e.makeResult();
  int64_t offset = e.getIndex(op.getOffset());
  for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
    result[i] = intCell(
        op.getOrder() ? op.getOrderAttr().getPosition(offset + i) : offset + i);
  return e.yieldRounded(std::move(result));
}

static LogicalResult evaluateMaskPadding(nn::MaskPaddingOp op, Evaluation &e) {
  Tensor x = e.operand(0);
  TensorRef value = fromAttribute(op.getValue());
  if (!value)
    return op.emitError("the interpreter cannot read the value");
  Lines lines(x.getShape(), op.getDim());
  int64_t trueSize = static_cast<int64_t>(op.getSize());
  int64_t offset = e.getIndex(op.getOffset());
  for (int64_t i = 0; i < lines.count; ++i)
    for (int64_t j = 0; j < lines.size; ++j)
      if (offset + j >= trueSize)
        x[lines.start(i) + j * lines.stride] = (*value)[0];
  return e.yield(std::move(x));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static LogicalResult evaluateReduce(nn::ReduceOp op, Evaluation &e) {
  const Tensor &x = e.operand(0);
  Tensor result = e.makeResult();
  const ElementType &type = result.getElementType();
  auto kind = static_cast<ReductionKind>(op.getKind());
  result.fill(neutralElement(type, kind));
  SmallVector<int64_t> strides(x.getRank(), 0);
  SmallVector<int64_t> resultStrides = result.getStrides();
  int64_t kept = 0;
  for (int64_t d = 0; d < x.getRank(); ++d)
    if (!llvm::is_contained(op.getDims(), d))
      strides[d] = resultStrides[kept++];
  int64_t next = 0;
  forEachIndex(x.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      position += i * stride;
    result[position] = combine(type, kind, result[position], x[next++]);
  });
  return e.yieldRounded(std::move(result));
}

/// True if `a` is better than the current best `b`: larger (or smaller, by
/// `kind`), or the first NaN.
static bool isBetter(const ElementType &type, nn::ReduceKind kind, Cell a,
                     Cell b) {
  bool isMax = kind == nn::ReduceKind::Max;
  if (!type.isFloat()) {
    // True is the largest boolean, though it is -1 as a number.
    int64_t left = type.getWidth() == 1 ? a.i != 0 : a.i;
    int64_t right = type.getWidth() == 1 ? b.i != 0 : b.i;
    return isMax ? left > right : left < right;
  }
  if (std::isnan(a.f) || std::isnan(b.f))
    return !std::isnan(b.f);
  return isMax ? a.f > b.f : a.f < b.f;
}

static LogicalResult evaluateArgReduce(nn::ArgReduceOp op, Evaluation &e) {
  const Tensor &x = e.operand(0);
  Tensor values = e.makeResult(0), positions = e.makeResult(1);
  Lines lines(x.getShape(), op.getDim());
  for (int64_t i = 0; i < lines.count; ++i) {
    const Cell *line = x.data() + lines.start(i);
    int64_t best = 0;
    for (int64_t j = 1; j < lines.size; ++j)
      if (isBetter(x.getElementType(), op.getKind(), line[j * lines.stride],
                   line[best * lines.stride]))
        best = j;
    values[i] = line[best * lines.stride];
    positions[i] = intCell(best);
  }
  if (failed(e.yield(std::move(values))))
    return failure();
  return e.yieldRounded(std::move(positions));
}

/// Fills the result from x. Dimension d of the result steps through x by
/// `steps[d]`.
static LogicalResult yieldStrided(Evaluation &e, ArrayRef<int64_t> steps) {
  const Tensor &x = e.operand(0);
  Tensor result = e.makeResult();
  int64_t next = 0;
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (auto [i, step] : llvm::zip_equal(index, steps))
      position += i * step;
    result[next++] = x[position];
  });
  return e.yield(std::move(result));
}

static LogicalResult evaluateBroadcast(nn::BroadcastOp op, Evaluation &e) {
  SmallVector<int64_t> steps(op.getType().getRank(), 0);
  SmallVector<int64_t> strides = e.operand(0).getStrides();
  for (auto [stride, dim] : llvm::zip_equal(strides, op.getDims()))
    steps[dim] = stride;
  return yieldStrided(e, steps);
}

static LogicalResult evaluateTranspose(nn::TransposeOp op, Evaluation &e) {
  SmallVector<int64_t> steps, strides = e.operand(0).getStrides();
  for (int64_t dim : op.getPermutation())
    steps.push_back(strides[dim]);
  return yieldStrided(e, steps);
}

void tessera::interp::addNNShapeHandlers(Registry &r) {
  r.addLocal<nn::ArgReduceOp, evaluateArgReduce>();
  r.addLocal<nn::BroadcastOp, evaluateBroadcast>();
  r.addLocal<nn::EmbeddingOp, evaluateEmbedding>();
  r.addLocal<nn::IotaOp, evaluateIota>();
  r.addLocal<nn::MaskPaddingOp, evaluateMaskPadding>();
  r.addLocal<nn::TakeAlongAxisOp, evaluateTakeAlongAxis>();
  r.addLocal<nn::ReduceOp, evaluateReduce>();
  r.addLocal<nn::TransposeOp, evaluateTranspose>();
}
