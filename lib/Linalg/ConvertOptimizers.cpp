//===- ConvertOptimizers.cpp - Updates of parameters to linalg ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers to one linalg.generic per parameter, with a result for it and for each
// of its state: one pass over memory, in place if the arguments are donated.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "tessera/Codegen/RowHelpers.h"
#include "tessera/Linalg/Patterns.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The inputs of an update: tensors of the parameter's shape, then scalars.
struct Update {
  Update(GenericBuilder &b, Value param, Value scalar)
      : b(b), type(cast<RankedTensorType>(param.getType())),
        wide(cast<RankedTensorType>(scalar.getType()).getElementType()),
        all(b.identity(type.getRank())),
        scalar(AffineMap::get(type.getRank(), 0, {}, b.getContext())) {}

  unsigned add(Value value) {
    bool isScalar = cast<RankedTensorType>(value.getType()).getRank() == 0 &&
                    type.getRank() != 0;
    inputs.push_back({value, isScalar ? scalar : all});
    return inputs.size() - 1;
  }

  /// Builds the results of the body: first in the parameter's type, then the
  /// state. Each keeps its old value if `skip` is true.
  SmallVector<Value>
  build(Value skip, ArrayRef<unsigned> old,
        llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
    std::optional<unsigned> skipInput;
    if (skip)
      skipInput = add(skip);
    SmallVector<Type> elements(old.size(), wide);
    elements[0] = type.getElementType();
    return b.mapMany(type.getShape(), elements, inputs, [&](ValueRange v) {
      SmallVector<Value> wideValues;
      for (Value value : v)
        wideValues.push_back(
            isa<FloatType>(value.getType()) ? b.cast(value, wide) : value);
      SmallVector<Value> results = body(wideValues);
      for (auto [i, result] : llvm::enumerate(results)) {
        result = b.cast(result, elements[i]);
        if (skipInput)
          result = arith::SelectOp::create(b, v[*skipInput], v[old[i]], result);
      }
      return results;
    });
  }

  GenericBuilder &b;
  RankedTensorType type;
  Type wide;
  AffineMap all, scalar;
  SmallVector<GenericBuilder::Input> inputs;
};

struct ConvertAdamW : OpRewritePattern<nn::AdamWOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AdamWOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Update update(b, op.getParam(), op.getLr());
    enum { Param, M, V, Grad, Scale, Lr, MCorrection, VCorrection };
    for (Value value :
         {op.getParam(), op.getM(), op.getV(), op.getGrad(), op.getGradScale(),
          op.getLr(), op.getMCorrection(), op.getVCorrection()})
      update.add(value);
    double beta1 = op.getBeta1().convertToDouble();
    double beta2 = op.getBeta2().convertToDouble();
    auto mix = [&](double beta, Value old, Value next) {
      return arith::AddFOp::create(b, scaled(b, old, beta),
                                   scaled(b, next, 1 - beta));
    };
    SmallVector<Value> results = update.build(
        op.getSkip(), {Param, M, V}, [&](ValueRange v) -> SmallVector<Value> {
          Value grad = arith::MulFOp::create(b, v[Grad], v[Scale]);
          Value m = mix(beta1, v[M], grad);
          Value v2 = mix(beta2, v[V], arith::MulFOp::create(b, grad, grad));
          Value root = math::SqrtOp::create(
              b, arith::MulFOp::create(b, v2, v[VCorrection]));
          Value below = arith::AddFOp::create(
              b, root, b.constant(update.wide, op.getEps().convertToDouble()));
          Value step = arith::DivFOp::create(
              b, arith::MulFOp::create(b, m, v[MCorrection]), below);
          step = arith::AddFOp::create(
              b, step,
              scaled(b, v[Param], op.getWeightDecay().convertToDouble()));
          Value param = arith::SubFOp::create(
              b, v[Param], arith::MulFOp::create(b, v[Lr], step));
          return {param, m, v2};
        });
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct ConvertSGD : OpRewritePattern<nn::SGDOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SGDOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Update update(b, op.getParam(), op.getLr());
    enum { Param, Grad, Scale, Lr, Velocity };
    for (Value value :
         {op.getParam(), op.getGrad(), op.getGradScale(), op.getLr()})
      update.add(value);
    SmallVector<unsigned> old{Param};
    if (op.getVelocity())
      old.push_back(update.add(op.getVelocity()));
    SmallVector<Value> results = update.build(
        op.getSkip(), old, [&](ValueRange v) -> SmallVector<Value> {
          Value step = arith::MulFOp::create(b, v[Grad], v[Scale]);
          step = arith::AddFOp::create(
              b, step,
              scaled(b, v[Param], op.getWeightDecay().convertToDouble()));
          if (op.getVelocity())
            step = arith::AddFOp::create(
                b, scaled(b, v[Velocity], op.getMomentum().convertToDouble()),
                step);
          SmallVector<Value> next{arith::SubFOp::create(
              b, v[Param], arith::MulFOp::create(b, v[Lr], step))};
          if (op.getVelocity())
            next.push_back(step);
          return next;
        });
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void tessera::populateOptimizerPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertAdamW, ConvertSGD>(patterns.getContext());
}
