//===- Optimizer.cpp - Builds the optimizer's update ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Optimizer.h"
#include "dialects/NN/NN.h"
#include "tessera/Training/MatrixUses.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Settings of a parameter
//===----------------------------------------------------------------------===//

FailureOr<ParameterSettings>
tessera::getParameterSettings(Operation *op, const OptimizerConfig &config,
                              StringRef name, BlockArgument parameter) {
  ParameterSettings settings;
  if (isMatrix(parameter))
    settings.weightDecay = config.weightDecay;
  for (const ParameterGroup &group : config.groups) {
    llvm::Expected<llvm::GlobPattern> pattern =
        llvm::GlobPattern::create(group.pattern);
    if (!pattern)
      return op->emitError("expects a pattern of names but got '")
             << group.pattern << "': " << llvm::toString(pattern.takeError());
    if (!pattern->match(name))
      continue;
    settings.lrScale = group.lrScale;
    settings.weightDecay = group.weightDecay.value_or(settings.weightDecay);
    break;
  }
  return settings;
}

//===----------------------------------------------------------------------===//
// Scalars of the step
//===----------------------------------------------------------------------===//

Value OptimizerBuilder::buildNorm(ArrayRef<Value> gradients) {
  Value sum;
  for (Value gradient : gradients) {
    Value wide = b.cast(gradient, element);
    Value square = b.mul(wide, wide);
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(
        0, cast<RankedTensorType>(square.getType()).getRank()));
    Value part = b.make<nn::ReduceOp>(RankedTensorType::get({}, element),
                                      nn::ReduceKind::Sum, square, dims);
    sum = sum ? b.add(sum, part) : part;
  }
  return b.make<math::SqrtOp>(sum ? sum : scalar(0));
}

Value OptimizerBuilder::buildClip(Value norm) {
  double clip = config.clip;
  if (clip == 0)
    return scalar(1);
  Value ratio = b.div(scalar(clip), b.add(norm, scalar(1e-6)));
  return b.make<arith::MinimumFOp>(scalar(1), ratio);
}

/// 1 / (1 - beta^step).
Value OptimizerBuilder::buildCorrection(Value step, double beta) {
  if (beta == 0)
    return scalar(1);
  Value one = b.splat(step, 1);
  Value power = b.exp(b.mul(step, b.splat(step, std::log(beta))));
  return narrowScalar(b.div(one, b.sub(one, power)));
}

void OptimizerBuilder::buildSchedule(Value step) {
  Value t = b.cast(step, b.b.getF64Type());
  if (config.optimizer == OptimizerKind::AdamW) {
    mCorrection = buildCorrection(t, config.beta1);
    vCorrection = buildCorrection(t, config.beta2);
  }
  auto constant = [&](double value) { return b.splat(t, value); };
  double peak = config.lr;
  double warmup = config.warmup;
  Value rate = constant(peak);
  if (config.lrSchedule == LearningRateKind::Cosine) {
    double least = config.minLr;
    double length = config.totalSteps - warmup;
    Value done = b.mul(b.sub(t, constant(warmup)), constant(1 / length));
    done = b.make<arith::MinimumFOp>(
        constant(1), b.make<arith::MaximumFOp>(constant(0), done));
    Value cosine = b.make<math::CosOp>(b.mul(done, constant(M_PI)));
    rate = b.add(constant((peak + least) / 2),
                 b.mul(cosine, constant((peak - least) / 2)));
  }
  if (warmup > 0)
    rate = b.mul(rate, b.make<arith::MinimumFOp>(
                           constant(1), b.mul(t, constant(1 / warmup))));
  lr = narrowScalar(rate);
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

Value OptimizerBuilder::scaledRate(double scale) {
  if (scale == 1)
    return lr;
  Value &rate = rates[llvm::bit_cast<uint64_t>(scale)];
  if (!rate)
    rate = b.mul(lr, scalar(scale));
  return rate;
}

SmallVector<Value> OptimizerBuilder::buildUpdate(const ParameterUpdate &update,
                                                 Value gradScale, Value skip) {
  Value rate = scaledRate(update.settings.lrScale);
  FloatAttr decay = b.b.getF64FloatAttr(update.settings.weightDecay);
  Operation *op;
  if (config.optimizer == OptimizerKind::AdamW) {
    op = nn::AdamWOp::create(
        b.b, b.loc, update.param.getType(), update.moments[0].getType(),
        update.moments[1].getType(), update.param, update.moments[0],
        update.moments[1], update.gradient, gradScale, rate, mCorrection,
        vCorrection, skip, b.b.getF64FloatAttr(config.beta1),
        b.b.getF64FloatAttr(config.beta2), b.b.getF64FloatAttr(config.eps),
        decay);
  } else {
    Value velocity = update.moments.empty() ? Value() : update.moments.front();
    op = nn::SGDOp::create(b.b, b.loc, update.param.getType(),
                           TypeRange(ValueRange(update.moments)), update.param,
                           update.gradient, gradScale, rate, velocity, skip,
                           b.b.getF64FloatAttr(config.momentum), decay);
  }
  return SmallVector<Value>(op->getResults());
}
