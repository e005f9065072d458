//===- InterpretRT.cpp - Records of calls on tensors ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets the rt ops after phases kernels and schedule, as documented in
// RTTensorOps.td: library calls by definition, in double, rounded once at the
// end; kernels by the linalg ops of their functions. Planned memory is ignored,
// so the result is correct for the program if no value is overwritten while in
// use.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "NNFunctions.h"
#include "dialects/RT/RT.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// Computes a matmul with the given layout, plus `init` if it is given, without
/// rounding.
static Tensor multiply(rt::MatmulLayoutAttr layout, const Tensor &lhs,
                       const Tensor &rhs, const Tensor *init, Tensor result) {
  if (init)
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      result[i] = (*init)[i];
  for (int64_t b = 0; b < layout.getBatch(); ++b)
    for (int64_t i = 0; i < layout.getM(); ++i)
      for (int64_t j = 0; j < layout.getN(); ++j) {
        double sum = 0;
        for (int64_t k = 0; k < layout.getK(); ++k) {
          int64_t row = layout.getTransA() ? k * layout.getLda() + i
                                           : i * layout.getLda() + k;
          int64_t column = layout.getTransB() ? j * layout.getLdb() + k
                                              : k * layout.getLdb() + j;
          sum += lhs[b * layout.getStrideA() + row].f *
                 rhs[b * layout.getStrideB() + column].f;
        }
        result[b * layout.getStrideC() + i * layout.getLdc() + j].f += sum;
      }
  return result;
}

/// Returns the value of an optional operand, or null.
static const Tensor *find(Value value, const Evaluation &e) {
  return value ? e.get(value).get() : nullptr;
}

static LogicalResult evaluateMatmul(rt::MatmulOp op, Evaluation &e) {
  return e.yieldRounded(multiply(op.getLayout(), e.operand(0), e.operand(1),
                                 find(op.getInit(), e), e.makeResult()));
}

static LogicalResult evaluateScaledMatmul(rt::ScaledMatmulOp op,
                                          Evaluation &e) {
  Tensor result = multiply(op.getLayout(), e.operand(0), e.operand(1),
                           /*init=*/nullptr, e.makeResult());
  double scale =
      (*e.get(op.getLhsScale()))[0].f * (*e.get(op.getRhsScale()))[0].f;
  const Tensor *init = find(op.getInit(), e);
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    result[i].f = result[i].f * scale + (init ? (*init)[i].f : 0);
  return e.yieldRounded(std::move(result));
}

/// Adds each column of `rows` consecutive rows to `sums`.
static void addColumns(const Tensor &from, int64_t rows, Tensor &sums) {
  int64_t columns = sums.getNumElements();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      sums[j].f += from[i * columns + j].f;
}

static LogicalResult evaluateMatmulFused(rt::MatmulFusedOp op, Evaluation &e) {
  rt::MatmulLayoutAttr layout = op.getLayout();
  const Tensor &lhs = e.operand(0), &rhs = e.operand(1);
  Tensor result =
      multiply(layout, lhs, rhs, find(op.getInit(), e), e.makeResult());
  if (const Tensor *bias = find(op.getBias(), e))
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      result[i].f += (*bias)[i % layout.getN()].f;
  std::optional<Tensor> extra;
  if (!op.getExtras().empty())
    extra = e.makeResult(1);
  switch (op.getKind()) {
  case rt::EpilogueKind::None:
  case rt::EpilogueKind::Bias:
    break;
  case rt::EpilogueKind::Gelu:
    for (int64_t i = 0; i < result.getNumElements(); ++i) {
      if (extra)
        (*extra)[i] = result[i];
      result[i].f = geluTanh(result[i].f);
    }
    break;
  case rt::EpilogueKind::GeluGradient:
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      result[i].f *= geluTanhDerivative((*e.get(op.getArgument()))[i].f);
    if (extra)
      addColumns(result, layout.getM(), *extra);
    break;
  case rt::EpilogueKind::LhsSums:
    addColumns(lhs, layout.getK(), *extra);
    break;
  case rt::EpilogueKind::RhsSums:
    addColumns(rhs, layout.getK(), *extra);
    break;
  }
  if (failed(e.yieldRounded(std::move(result))))
    return failure();
  return extra ? e.yieldRounded(std::move(*extra)) : success();
}

//===----------------------------------------------------------------------===//
// Attention and embeddings
//===----------------------------------------------------------------------===//

template <typename Op> static AttentionMask getMask(Op op, Evaluation &e) {
  auto mask = AttentionMask::get(op, e);
  if (!op.getPositionOffsets().empty()) {
    mask.queryOffset = e.getIndex(op.getPositionOffsets()[0]);
    mask.keyOffset = e.getIndex(op.getPositionOffsets()[1]);
  }
  return mask;
}

static LogicalResult evaluateCall(rt::AttentionOp op, Evaluation &e) {
  return evaluateAttention(getMask(op, e), e);
}

static LogicalResult evaluateCallBackward(rt::AttentionBackwardOp op,
                                          Evaluation &e) {
  return evaluateAttentionBackward(getMask(op, e), e);
}

static LogicalResult evaluateEmbeddingBackward(rt::EmbeddingBackwardOp op,
                                               Evaluation &e) {
  const Tensor &grad = e.operand(0), &ids = e.operand(1);
  Tensor result = e.makeResult();
  if (const Tensor *init = find(op.getInit(), e))
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      result[i] = (*init)[i];
  changeRows(result, grad, ids, e.getIndex(op.getOffset()), op.getLimit(),
             op.getReplace());
  return e.yieldRounded(std::move(result));
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

static LogicalResult evaluateCopy(rt::CopyOp op, Evaluation &e) {
  const Tensor &source = e.operand(0);
  Tensor result = e.makeResult();
  ArrayRef<int64_t> strides = op.getStrides(), shape = result.getShape();
  int64_t base = static_cast<int64_t>(op.getBase());
  if (op.getStart())
    base += e.getIndex(op.getStart()) * strides[*op.getDim()];
  for (int64_t i = 0, n = result.getNumElements(); i < n; ++i) {
    int64_t at = base, rest = i;
    for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
      at += rest % shape[dim] * strides[dim];
    if (at < 0 || at >= source.getNumElements())
      return op.emitOpError("expects elements of its source but got element ")
             << at << " of " << source.getNumElements();
    result[i] = source[at];
  }
  return e.yield(std::move(result));
}

static LogicalResult evaluateConcat(rt::ConcatOp op, Evaluation &e) {
  Tensor result = e.makeResult();
  SmallVector<int64_t> offsets(result.getRank(), 0);
  for (unsigned i = 0; i < op.getSources().size(); ++i) {
    result.insert(e.operand(i), offsets);
    offsets[op.getDim()] += e.operand(i).getShape()[op.getDim()];
  }
  return e.yield(std::move(result));
}

static LogicalResult evaluateAssemble(rt::AssembleOp op, Evaluation &e) {
  Tensor result = e.makeResult();
  int64_t size = result.getShape()[op.getDim()];
  for (auto [i, start] : llvm::enumerate(op.getStarts())) {
    SmallVector<int64_t> offsets(result.getRank(), 0);
    int64_t &offset = offsets[op.getDim()];
    offset = e.getIndex(start);
    if (offset < 0 || offset + e.operand(i).getShape()[op.getDim()] > size)
      return op.emitOpError("expects chunks within its ")
             << size << " elements but got a start of " << offset;
    result.insert(e.operand(i), offsets);
  }
  return e.yield(std::move(result));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static LogicalResult runKernel(rt::KernelOp op, Interpretation &m) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!function)
    return op.emitOpError("expects a known kernel but got ")
           << op.getCalleeAttr();
  std::vector<RankTensors> operands, results;
  for (Value operand : op.getOperands())
    operands.push_back(m.get(operand));
  if (failed(m.call(function, std::move(operands), results)))
    return failure();
  for (auto [result, tensors] : llvm::zip_equal(op.getResults(), results))
    m.set(result, std::move(tensors));
  return success();
}

void interp::addRTHandlers(Registry &r) {
  r.addLocal<rt::AssembleOp, evaluateAssemble>();
  r.addLocal<rt::AttentionOp, evaluateCall>();
  r.addLocal<rt::AttentionBackwardOp, evaluateCallBackward>();
  r.addLocal<rt::ConcatOp, evaluateConcat>();
  r.addLocal<rt::CopyOp, evaluateCopy>();
  r.addLocal<rt::EmbeddingBackwardOp, evaluateEmbeddingBackward>();
  r.addLocal<rt::MatmulOp, evaluateMatmul>();
  r.addLocal<rt::MatmulFusedOp, evaluateMatmulFused>();
  r.addLocal<rt::ScaledMatmulOp, evaluateScaledMatmul>();
  r.addRank<rt::KernelOp, runKernel>();
}
