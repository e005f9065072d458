//===- InterpretNNBackward.cpp - Gradients of nn ops ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements each op as documented in NNTraining.td, and scatter, in double,
// rounded once at the end.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "NNFunctions.h"
#include "dialects/NN/NN.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

static double dot(const Cell *a, const Cell *b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i)
    sum += a[i].f * b[i].f;
  return sum;
}

/// Computes to += factor * from.
static void addScaled(Cell *to, double factor, const Cell *from, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    to[i].f += factor * from[i].f;
}

LogicalResult interp::evaluateAttentionBackward(const AttentionMask &mask,
                                                Evaluation &e) {
  const Tensor &grad = e.operand(0), &q = e.operand(1), &k = e.operand(2),
               &v = e.operand(3), &out = e.operand(4), &logSums = e.operand(5);
  ArrayRef<int64_t> shape = q.getShape();
  int64_t queries = shape[1], groups = shape[2], heads = shape[3],
          dim = shape[4], keys = k.getShape()[1], valueDim = v.getShape()[3];
  double scale = mask.scale, slope;
  Tensor dq = e.makeResult(0), dk = e.makeResult(1), dv = e.makeResult(2);
  int64_t numbers = mask.bias ? 2 : 1;
  for (int64_t row = 0, n = logSums.getNumElements() / numbers; row < n;
       ++row) {
    int64_t g = row / heads % groups, s = row / heads / groups % queries;
    int64_t b = row / heads / groups / queries;
    const Cell *stat = logSums.data() + row * numbers;
    const Cell *query = q.data() + row * dim;
    const Cell *rowGrad = grad.data() + row * valueDim;
    double delta = dot(rowGrad, out.data() + row * valueDim, valueDim);
    for (int64_t t = 0; t < keys; ++t) {
      if (!mask.sees(b, queries, s, t))
        continue;
      int64_t key = (b * keys + t) * groups + g;
      double score =
          mask.cap(scale * dot(query, k.data() + key * dim, dim), slope) +
          mask.biasAt({b, s, g, row % heads, t});
      if (score == -INFINITY)
        continue;
      if (mask.bias && mask.bias->getElementType().getWidth() < 64)
        score = float(score);
      double p = std::exp(score - stat[0].f - (mask.bias ? stat[1].f : 0));
      addScaled(dv.data() + key * valueDim, p, rowGrad, valueDim);
      double ds = scale * slope * p *
                  (dot(rowGrad, v.data() + key * valueDim, valueDim) - delta);
      addScaled(dq.data() + row * dim, ds, k.data() + key * dim, dim);
      addScaled(dk.data() + key * dim, ds, query, dim);
    }
  }
  (void)e.yieldRounded(std::move(dq));
  (void)e.yieldRounded(std::move(dk));
  return e.yieldRounded(std::move(dv));
}

static LogicalResult evaluateAttentionBackwardOp(nn::AttentionBackwardOp op,
                                                 Evaluation &e) {
  auto mask = AttentionMask::get(op, e);
  mask.queryOffset = e.getIndex(op.getQOffset());
  mask.keyOffset = e.getIndex(op.getKOffset());
  mask.order = op.getOrderAttr();
  return evaluateAttentionBackward(mask, e);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Implements both norms: rstd (g - [mean of g] - y mean of (g y)) with y = (x
/// - mean) rstd and g = grad gamma. `means` is null for rms_norm, whose mean is
/// 0.
static LogicalResult yieldNormGradient(Evaluation &e, const Tensor *means,
                                       const Tensor &scales) {
  const Tensor &grad = e.operand(0), &x = e.operand(1), &gamma = e.operand(2);
  Tensor result = e.makeResult();
  int64_t size = x.getShape().back();
  std::vector<double> g(size), y(size);
  for (int64_t row = 0, n = scales.getNumElements(); row < n; ++row) {
    double mean = means ? (*means)[row].f : 0, scale = scales[row].f;
    double sum = 0, along = 0;
    for (int64_t j = 0; j < size; ++j) {
      g[j] = grad[row * size + j].f * gamma[j].f;
      y[j] = (x[row * size + j].f - mean) * scale;
      sum += g[j];
      along += g[j] * y[j];
    }
    double shift = means ? sum / size : 0;
    for (int64_t j = 0; j < size; ++j)
      result[row * size + j] =
          floatCell(scale * (g[j] - shift - y[j] * along / size));
  }
  return e.yieldRounded(std::move(result));
}

static LogicalResult evaluateLayerNormBackward(nn::LayerNormBackwardOp,
                                               Evaluation &e) {
  return yieldNormGradient(e, &e.operand(3), e.operand(4));
}

static LogicalResult evaluateRMSNormBackward(nn::RMSNormBackwardOp,
                                             Evaluation &e) {
  return yieldNormGradient(e, /*means=*/nullptr, e.operand(3));
}

//===----------------------------------------------------------------------===//
// By index
//===----------------------------------------------------------------------===//

void interp::changeRows(Tensor &result, const Tensor &updates,
                        const Tensor &ids, int64_t offset,
                        std::optional<uint64_t> limit, bool replaces) {
  int64_t rows = result.getShape()[0], width = result.getShape()[1];
  int64_t end = static_cast<int64_t>(limit.value_or(INT64_MAX));
  for (int64_t i = 0, n = ids.getNumElements(); i < n; ++i) {
    int64_t row = ids[i].i - offset;
    if (row < 0 || row >= rows || ids[i].i >= end)
      continue;
    Cell *to = result.data() + row * width;
    const Cell *from = updates.data() + i * width;
    if (replaces)
      std::copy_n(from, width, to);
    else
      addScaled(to, 1, from, width);
  }
}

static LogicalResult evaluateEmbeddingBackward(nn::EmbeddingBackwardOp op,
                                               Evaluation &e) {
  const Tensor &grad = e.operand(0), &ids = e.operand(1);
  Tensor result = e.makeResult();
  changeRows(result, grad, ids, e.getIndex(op.getOffset()), op.getRows(),
             /*replaces=*/false);
  return e.yieldRounded(std::move(result));
}

static LogicalResult evaluateScatter(nn::ScatterOp op, Evaluation &e) {
  Tensor result = e.operand(0);
  const Tensor &ids = e.operand(1), &updates = e.operand(2);
  changeRows(result, updates, ids, e.getIndex(op.getOffset()), op.getRows(),
             op.getKind() == nn::ScatterKind::Set);
  return e.yieldRounded(std::move(result));
}

static LogicalResult evaluateCrossEntropyBackward(nn::CrossEntropyBackwardOp op,
                                                  Evaluation &e) {
  const Tensor &grad = e.operand(0), &logits = e.operand(1),
               &labels = e.operand(2), &largest = e.operand(3),
               &logSums = e.operand(4);
  Tensor result = e.makeResult();
  int64_t width = logits.getShape().back();
  int64_t ignore = static_cast<int64_t>(op.getIgnore());
  int64_t offset = e.getIndex(op.getOffset());
  int64_t end = width;
  if (op.getClasses())
    end = std::min(end, static_cast<int64_t>(*op.getClasses()) - offset);
  for (int64_t i = 0, n = labels.getNumElements(); i < n; ++i) {
    if (labels[i].i == ignore)
      continue;
    int64_t label = labels[i].i - offset;
    for (int64_t j = 0; j < end; ++j) {
      double p =
          std::exp(logits[i * width + j].f - largest[i].f - logSums[i].f);
      result[i * width + j] = floatCell(grad[i].f * (p - (j == label)));
    }
  }
  return e.yieldRounded(std::move(result));
}

static LogicalResult
evaluateTakeAlongAxisBackward(nn::TakeAlongAxisBackwardOp op, Evaluation &e) {
  const Tensor &grad = e.operand(0), &index = e.operand(1);
  Tensor result = e.makeResult();
  int64_t size = result.getShape().back(), offset = e.getIndex(op.getOffset());
  int64_t picks = getPicks(result, index);
  for (int64_t i = 0, n = index.getNumElements(); i < n; ++i) {
    int64_t at = index[i].i - offset;
    if (at >= 0 && at < size)
      result[i / picks * size + at].f += grad[i].f;
  }
  return e.yieldRounded(std::move(result));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

template <double (*derivative)(double)>
static LogicalResult scaleByDerivative(Evaluation &e) {
  Tensor grad = e.operand(0);
  const Tensor &x = e.operand(1);
  for (int64_t i = 0, n = x.getNumElements(); i < n; ++i)
    grad[i].f *= derivative(x[i].f);
  return e.yieldRounded(std::move(grad));
}

/// Returns Phi(x) + x phi(x).
double interp::geluErfDerivative(double x) {
  return 0.5 * (1 + std::erf(x * M_SQRT1_2)) +
         x * std::exp(-0.5 * x * x) * 0.5 * M_SQRT1_2 * M_2_SQRTPI;
}
double interp::geluTanhDerivative(double x) {
  double root = std::sqrt(2 / M_PI);
  double t = std::tanh(root * (x + 0.044715 * x * x * x));
  double inner = root * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
}
double interp::siluDerivative(double x) {
  double sigmoid = 1 / (1 + std::exp(-x));
  return sigmoid * (1 + x * (1 - sigmoid));
}

static LogicalResult evaluateGeluBackward(nn::GeluBackwardOp op,
                                          Evaluation &e) {
  return op.getKind() == nn::GeluKind::Erf
             ? scaleByDerivative<geluErfDerivative>(e)
             : scaleByDerivative<geluTanhDerivative>(e);
}

void tessera::interp::addNNBackwardHandlers(Registry &r) {
  r.addLocal<nn::AttentionBackwardOp, evaluateAttentionBackwardOp>();
  r.addLocal<nn::CrossEntropyBackwardOp, evaluateCrossEntropyBackward>();
  r.addLocal<nn::EmbeddingBackwardOp, evaluateEmbeddingBackward>();
  r.addLocal<nn::GeluBackwardOp, evaluateGeluBackward>();
  r.addLocal<nn::LayerNormBackwardOp, evaluateLayerNormBackward>();
  r.addLocal<nn::TakeAlongAxisBackwardOp, evaluateTakeAlongAxisBackward>();
  r.addLocal<nn::RMSNormBackwardOp, evaluateRMSNormBackward>();
  r.addLocal<nn::ScatterOp, evaluateScatter>();
  r.addLocal(nn::SiluBackwardOp::getOperationName(),
             scaleByDerivative<siluDerivative>);
}
