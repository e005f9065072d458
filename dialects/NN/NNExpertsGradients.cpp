//===- NNExpertsGradients.cpp - Gradients of mixtures of experts ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients reach x, gates and weights; no gradient passes the ids.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

/// The gradient is the sum over the experts that a row goes to.
LogicalResult ExpertRowsOp::buildGradients(GradientBuilder &g) {
  TensorBuilder b(g.builder, g.loc);
  RankedTensorType type = getType();
  int64_t experts = type.getRank() - 2;
  Value one = b.splat(getX(), 1.0);
  Value chosen = b.make<ExpertRowsOp>(type, one, getIds(), getOffset());
  Value grad = b.mul(b.cast(g.ofResult(0), type.getElementType()), chosen);
  g.setOperand(0, b.reduce(ReduceKind::Sum, grad, experts));
  return success();
}

Operation *ExpertsOp::saveForBackward(OpBuilder &builder) {
  if (!getStats().empty())
    return *this;
  SmallVector<int64_t> shape(getIds().getType().getShape().drop_back());
  ArrayRef<int64_t> weights = getWUp().getType().getShape();
  shape.append({weights[0], weights[2]});
  Type stat = RankedTensorType::get(shape, getX().getType().getElementType());
  builder.setInsertionPoint(*this);
  auto saving = ExpertsOp::create(builder, getLoc(),
                                  TypeRange{getResult().getType(), stat, stat},
                                  getOperands(), (*this)->getAttrs());
  getResult().replaceAllUsesWith(saving.getResult());
  erase();
  return saving;
}

/// Builds the gradients of the weights in the type that is asked for.
static void setWeightGradients(ExpertsOp op, GradientBuilder &g, Value grad,
                               ExpertsBackwardOp backward) {
  TensorBuilder b(g.builder, g.loc);
  auto typeOf = [&](OpOperand &operand) -> Type {
    unsigned index = operand.getOperandNumber();
    auto type = cast<RankedTensorType>(operand.get().getType());
    return g.isNeeded(index) ? type.clone(g.elementType(index)) : type;
  };
  auto rowsOf = [&](Value x) -> Value {
    SmallVector<int64_t> shape(b.typeOf(op.getStats()[0]).getShape());
    shape.back() = b.typeOf(x).getShape().back();
    return b.make<ExpertRowsOp>(b.typeOf(x).clone(shape), x, op.getIds(),
                                op.getOffset());
  };
  Type up = typeOf(op.getWUpMutable()), down = typeOf(op.getWDownMutable());
  auto gradients = ExpertsWeightGradientOp::create(
      g.builder, g.loc, up, up, down, rowsOf(op.getX()), rowsOf(grad),
      op.getIds(), op.getGates(), op.getStats()[0], op.getStats()[1],
      backward.getDgate(), backward.getDup(), op.getOffset(),
      op.getActivationAttr(), op.getExpertsAttr());
  g.setOperand(3, gradients.getDwGate());
  g.setOperand(4, gradients.getDwUp());
  g.setOperand(5, gradients.getDwDown());
}

LogicalResult ExpertsOp::buildGradients(GradientBuilder &g) {
  if (g.ofResult(1) || g.ofResult(2))
    return emitOpError("cannot be differentiated by its statistics: expects "
                       "their results to be used by no op that the loss "
                       "depends on");
  TensorBuilder b(g.builder, g.loc);
  Value grad = b.cast(g.ofResult(0), getX().getType().getElementType());
  Type stat = getStats()[0].getType();
  auto backward = ExpertsBackwardOp::create(
      g.builder, g.loc, getX().getType(), getGates().getType(), stat, stat,
      grad, getIds(), getGates(), getWGate(), getWUp(), getWDown(),
      getStats()[0], getStats()[1], getOffset(), getActivationAttr(),
      getExpertsAttr());
  g.setOperand(0, backward.getDx());
  g.setOperand(2, backward.getDgates());
  if (g.isNeeded(3) || g.isNeeded(4) || g.isNeeded(5))
    setWeightGradients(*this, g, grad, backward);
  return success();
}
