//===- NNTrainingOps.cpp - Verifiers of gradients and optimizers ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

using namespace mlir;
using namespace tessera::nn;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult AttentionBackwardOp::verify() {
  if (failed(verifyAttention(*this, getQ(), getK(), getV(), getOut())) ||
      failed(verifyWindow(*this, getCausal(), getWindow())) ||
      failed(verifyStarts(*this, getQ(), getStarts())) ||
      failed(verifyScores(*this, getQ(), getK(), getBias(), getBiasDims(),
                          getSoftcap())) ||
      failed(verifySameElement(*this, "(C4)", getQ(), getOut())) ||
      failed(verifyStat(*this, "(C2)", getLogsumexp(),
                        getStatRows(typeOf(getOut()), bool(getBias())))))
    return failure();
  Type element = typeOf(getDq()).getElementType();
  for (auto [gradient, operand] :
       llvm::zip_equal(getResults(), ValueRange{getQ(), getK(), getV()})) {
    RankedTensorType type = typeOf(gradient);
    if (type.getShape() != typeOf(operand).getShape() ||
        type.getElementType() != element || !isSameOrWide(operand, gradient))
      return emitOpError("(C3) expects gradients like ")
             << typeOf(operand) << ", or all in f32, but got " << type;
  }
  return success();
}

LogicalResult LayerNormBackwardOp::verify() {
  if (failed(verifyNormVector(*this, "gamma", getX(), getGamma())))
    return failure();
  return verifyStat(*this, "(C2)", getRstd(), typeOf(getX()));
}

LogicalResult RMSNormBackwardOp::verify() {
  if (failed(verifyNormVector(*this, "gamma", getX(), getGamma())))
    return failure();
  return verifyStat(*this, "(C2)", getRstd(), typeOf(getX()));
}

LogicalResult EmbeddingBackwardOp::verify() {
  RankedTensorType table = getType();
  if (table.getRank() != 2)
    return emitOpError("(C2) expects a result of rank 2 but got ") << table;
  SmallVector<int64_t> shape(typeOf(getIds()).getShape());
  shape.push_back(table.getDimSize(1));
  if (failed(verifyShape(*this, "(C1)", "grad", shape, getGrad())))
    return failure();
  Type in = typeOf(getGrad()).getElementType(), out = table.getElementType();
  if (in != out && in.getIntOrFloatBitWidth() >= out.getIntOrFloatBitWidth())
    return emitOpError("(C2) expects a result of element type ")
           << in << " or a wider one but got " << out;
  return verifyLimit(*this, "(C3)", "rows", getRows());
}

LogicalResult CrossEntropyBackwardOp::verify() {
  RankedTensorType logits = typeOf(getLogits());
  if (logits.getRank() < 1)
    return emitOpError("(C2) expects logits of rank 1 at least but got ")
           << logits;
  if (failed(verifyShape(*this, "(C2)", "labels", logits.getShape().drop_back(),
                         getLabels())))
    return failure();
  if (getClasses() && static_cast<int64_t>(*getClasses()) <= 0)
    return emitOpError("(C3) expects 1 class at least but got ")
           << static_cast<int64_t>(*getClasses());
  return verifyStat(*this, "(C1)", getGrad(), logits);
}

LogicalResult TakeAlongAxisBackwardOp::verify() {
  RankedTensorType x = getType();
  if (x.getRank() < 1)
    return emitOpError("(C1) expects a result of rank 1 at least but got ")
           << x;
  if (failed(verifyIndex(*this, x, getIndex())) ||
      failed(verifyShape(*this, "(C1)", "grad", typeOf(getIndex()).getShape(),
                         getGrad())))
    return failure();
  return verifySameElement(*this, "(C2)", getGrad(), getResult());
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

/// Checks that a tensor has the parameter's shape (label C1).
static LogicalResult verifyLikeParam(Operation *op, StringRef name, Value param,
                                     Value value) {
  return verifyShape(op, "(C1)", name, typeOf(param).getShape(), value);
}

/// Checks the element types of an optimizer (label C2): state has the type of
/// the scalars, f32 or f64; the others are no wider.
static LogicalResult verifyOptimizerTypes(Operation *op, Value scalar,
                                          ValueRange state,
                                          ValueRange narrower) {
  Type wide = typeOf(scalar).getElementType();
  if (!wide.isF32() && !wide.isF64())
    return op->emitOpError("(C2) expects scalars of f32 or f64 but got ")
           << wide;
  for (Value value : state)
    if (typeOf(value).getElementType() != wide)
      return op->emitOpError("(C2) expects state of element type ")
             << wide << " but got " << value.getType();
  for (Value value : narrower)
    if (typeOf(value).getElementTypeBitWidth() > wide.getIntOrFloatBitWidth())
      return op->emitOpError("(C2) expects element types no wider than ")
             << wide << " but got " << value.getType();
  return success();
}

LogicalResult AdamWOp::verify() {
  if (failed(verifyLikeParam(*this, "m", getParam(), getM())) ||
      failed(verifyLikeParam(*this, "grad", getParam(), getGrad())))
    return failure();
  return verifyOptimizerTypes(*this, getLr(), getM(), {getParam(), getGrad()});
}

LogicalResult SGDOp::verify() {
  if (failed(verifyLikeParam(*this, "grad", getParam(), getGrad())))
    return failure();
  SmallVector<Value> state;
  if (Value velocity = getVelocity()) {
    state.push_back(velocity);
    if (failed(verifyLikeParam(*this, "velocity", getParam(), velocity)))
      return failure();
  }
  if (failed(
          verifyOptimizerTypes(*this, getLr(), state, {getParam(), getGrad()})))
    return failure();
  if (getNewVelocity().size() == state.size() &&
      (state.empty() ||
       getNewVelocity().front().getType() == state.front().getType()))
    return success();
  return emitOpError("(C3) expects a new velocity for each velocity, of its "
                     "type, but got ")
         << getNewVelocity().getTypes() << " for "
         << TypeRange(ValueRange(state));
}
