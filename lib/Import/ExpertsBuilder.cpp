//===- ExpertsBuilder.cpp - Builds experts and losses of routers ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

/// The number that DeepSeek-V3 adds to a sum of sigmoids before it divides by
/// it.
static constexpr double kSigmoidSumEps = 1e-20;

/// Returns the op's name of an activation that experts may have.
static nn::Activation activationOf(Activation activation) {
  if (activation == Activation::Silu)
    return nn::Activation::Silu;
  return activation == Activation::GeluErf ? nn::Activation::GeluErf
                                           : nn::Activation::GeluTanh;
}

Value BlockBuilder::experts(Value x) {
  const MixtureOfExperts &mixture = *config.experts;
  locate("moe");
  // Choices compare probabilities in f32.
  Value logits =
      einsum("bsd,de->bse", x, parameter("moe.router"), builder.getF32Type());
  logits.getDefiningOp()->setDiscardableAttr(nn::NNDialect::kWideAttr,
                                             builder.getUnitAttr());
  Value scores = mixture.scores == ScoreKind::Sigmoid
                     ? sigmoid(logits)
                     : nn::SoftmaxOp::create(builder, logits, /*dim=*/2);
  Value ids = choose(mixture, scores);
  Value gates = nn::TakeAlongAxisOp::create(
      builder,
      cast<RankedTensorType>(ids.getType()).clone(builder.getF32Type()), scores,
      ids, /*offset=*/Value(), /*size=*/IntegerAttr());
  if (options.train && options.auxLoss != 0.0)
    addRouterLoss(balanceLoss(mixture, scores, ids));
  if (options.train && options.zLoss != 0.0)
    addRouterLoss(zLoss(logits));
  if (options.train && mixture.choiceBias)
    loads.push_back(nn::ReduceOp::create(
        builder, RankedTensorType::get({mixture.experts}, builder.getF32Type()),
        nn::ReduceKind::Sum, countChoices(mixture, ids), ArrayRef<int64_t>{0}));
  if (options.capacity)
    ids = nn::ExpertCapacityOp::create(builder, ids.getType(), ids, gates,
                                       capacityOf(mixture), mixture.experts,
                                       nn::ZigzagAttr());
  if (mixture.normalizedGates)
    gates = divideBySum(
        gates, mixture.scores == ScoreKind::Sigmoid ? kSigmoidSumEps : 0.0);
  if (mixture.gateFactor != 1.0)
    gates = scaleBy(gates, mixture.gateFactor);
  Value y =
      nn::ExpertsOp::create(builder, TypeRange{x.getType()}, x, ids, gates,
                            parameter("moe.w_gate"), parameter("moe.w_up"),
                            parameter("moe.w_down"), /*offset=*/Value(),
                            activationOf(config.activation), mixture.experts)
          .getResult();
  return mixture.sharedExperts
             ? arith::AddFOp::create(builder, y, gatedMlp("moe.shared", x))
             : y;
}

Value BlockBuilder::choose(const MixtureOfExperts &mixture, Value scores) {
  if (Value bias = parameter("moe.bias"))
    scores = arith::AddFOp::create(builder, scores, broadcastTo(bias, scores));
  IntegerAttr chosen, groups;
  nn::GroupScoreAttr score;
  if (mixture.groups) {
    chosen = builder.getI64IntegerAttr(mixture.chosenGroups);
    groups = builder.getI64IntegerAttr(mixture.groups);
    score = nn::GroupScoreAttr::get(builder.getContext(),
                                    mixture.groupScore == ExpertGroupScore::Sum2
                                        ? nn::GroupScore::Sum2
                                        : nn::GroupScore::Max);
  }
  auto type = RankedTensorType::get(
      {options.batch, options.seq, mixture.expertsPerToken},
      builder.getI32Type());
  return nn::TopKOp::create(builder, type, scores, mixture.expertsPerToken,
                            /*smallest=*/false, chosen, groups, score);
}

int64_t BlockBuilder::capacityOf(const MixtureOfExperts &mixture) const {
  double even = double(mixture.expertsPerToken) * double(options.seq) /
                double(mixture.experts);
  return static_cast<int64_t>(std::ceil(*options.capacity * even));
}

void BlockBuilder::addRouterLoss(Value loss) {
  routerLosses =
      routerLosses ? arith::AddFOp::create(builder, routerLosses, loss) : loss;
}

Value BlockBuilder::countChoices(const MixtureOfExperts &mixture, Value ids) {
  auto typeOf = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  };
  Value one = splatOf(typeOf({options.batch, options.seq, 1}), 1.0);
  Value chosen = nn::ExpertRowsOp::create(
      builder, typeOf({options.batch, options.seq, mixture.experts, 1}), one,
      ids, /*offset=*/Value());
  return nn::ReduceOp::create(builder, typeOf({options.batch, mixture.experts}),
                              nn::ReduceKind::Sum, chosen,
                              ArrayRef<int64_t>{1, 3});
}

Value BlockBuilder::balanceLoss(const MixtureOfExperts &mixture, Value scores,
                                Value ids) {
  Value probabilities = mixture.scores == ScoreKind::Sigmoid
                            ? divideBySum(scores, kSigmoidSumEps)
                            : scores;
  Value counts = countChoices(mixture, ids);
  Value sums =
      nn::ReduceOp::create(builder, counts.getType(), nn::ReduceKind::Sum,
                           probabilities, ArrayRef<int64_t>{1});
  double choices = double(mixture.expertsPerToken) * double(options.seq);
  return scaleBy(sum(arith::MulFOp::create(builder, counts, sums)),
                 options.auxLoss * double(mixture.experts) / choices);
}

Value BlockBuilder::zLoss(Value logits) {
  auto type = cast<RankedTensorType>(logits.getType());
  auto rows =
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  constexpr int64_t leading[] = {0, 1}, last[] = {2};
  Value largest =
      nn::ReduceOp::create(builder, rows, nn::ReduceKind::Max, logits, last);
  // The gradient of the logarithm does not depend on the shift.
  largest = nn::StopGradientOp::create(builder, rows, largest);
  Value shifted = arith::SubFOp::create(
      builder, logits,
      nn::BroadcastOp::create(builder, type, largest, leading));
  Value total =
      nn::ReduceOp::create(builder, rows, nn::ReduceKind::Sum,
                           math::ExpOp::create(builder, shifted), last);
  Value logarithm = arith::AddFOp::create(
      builder, math::LogOp::create(builder, total), largest);
  return scaleBy(sum(arith::MulFOp::create(builder, logarithm, logarithm)),
                 options.zLoss);
}
