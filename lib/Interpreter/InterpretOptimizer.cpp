//===- InterpretOptimizer.cpp - Optimizers --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements each op as documented in NNTraining.td, in double, rounded once at
// the end.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include "dialects/NN/NN.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

static bool isSkipped(Evaluation &e, Value skip) {
  return skip && (*e.get(skip))[0].i != 0;
}

static double scalarOf(Evaluation &e, Value value) {
  return (*e.get(value))[0].f;
}

static LogicalResult evaluateAdamW(nn::AdamWOp op, Evaluation &e) {
  Tensor param = e.operand(0), m = e.operand(1), v = e.operand(2);
  const Tensor &grad = e.operand(3);
  double scale = scalarOf(e, op.getGradScale()), lr = scalarOf(e, op.getLr());
  double mCorrection = scalarOf(e, op.getMCorrection());
  double vCorrection = scalarOf(e, op.getVCorrection());
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();
  double eps = op.getEps().convertToDouble();
  double decay = op.getWeightDecay().convertToDouble();
  int64_t count = isSkipped(e, op.getSkip()) ? 0 : param.getNumElements();
  for (int64_t i = 0; i < count; ++i) {
    double g = grad[i].f * scale;
    double newM = beta1 * m[i].f + (1 - beta1) * g;
    double newV = beta2 * v[i].f + (1 - beta2) * g * g;
    double step = newM * mCorrection / (std::sqrt(newV * vCorrection) + eps);
    double p = param[i].f;
    param[i] =
        param.getElementType().round(floatCell(p - lr * (step + decay * p)));
    m[i] = m.getElementType().round(floatCell(newM));
    v[i] = v.getElementType().round(floatCell(newV));
  }
  if (failed(e.yield(std::move(param))) || failed(e.yield(std::move(m))))
    return failure();
  return e.yield(std::move(v));
}

static LogicalResult evaluateSGD(nn::SGDOp op, Evaluation &e) {
  Tensor param = e.operand(0);
  const Tensor &grad = e.operand(1);
  std::optional<Tensor> velocity;
  if (op.getVelocity())
    velocity = *e.get(op.getVelocity());
  double scale = scalarOf(e, op.getGradScale()), lr = scalarOf(e, op.getLr());
  double momentum = op.getMomentum().convertToDouble();
  double decay = op.getWeightDecay().convertToDouble();
  int64_t count = isSkipped(e, op.getSkip()) ? 0 : param.getNumElements();
  for (int64_t i = 0; i < count; ++i) {
    double p = param[i].f, step = grad[i].f * scale + decay * p;
    if (velocity) {
      step += momentum * (*velocity)[i].f;
      (*velocity)[i] = velocity->getElementType().round(floatCell(step));
    }
    param[i] = param.getElementType().round(floatCell(p - lr * step));
  }
  if (failed(e.yield(std::move(param))))
    return failure();
  return velocity ? e.yield(std::move(*velocity)) : success();
}

void tessera::interp::addOptimizerHandlers(Registry &r) {
  r.addLocal<nn::AdamWOp, evaluateAdamW>();
  r.addLocal<nn::SGDOp, evaluateSGD>();
}
