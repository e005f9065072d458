//===- NNGradients.cpp - Gradients of nn ops ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op builds the gradients of its operands from the gradients of its
// results and from its saved statistics. Sums over repeated dimensions use the
// requested type, so the gradient of an f32 master weight never passes through
// bf16.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

static TensorBuilder at(GradientBuilder &g) {
  return TensorBuilder(g.builder, g.loc);
}

/// The type of an operand's gradient.
static RankedTensorType gradientType(GradientBuilder &g, OpOperand &operand) {
  return cast<RankedTensorType>(operand.get().getType())
      .clone(g.elementType(operand.getOperandNumber()));
}

/// Replaces the op by one with `count` statistics of the rows of `rows`.
static Operation *addStats(OpBuilder &builder, Operation *op,
                           RankedTensorType stat, unsigned count) {
  if (op->getNumResults() > 1)
    return op;
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  state.types.append(count, stat);
  state.propertiesAttr = op->getPropertiesAsAttribute();
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  builder.setInsertionPoint(op);
  Operation *saving = builder.create(state);
  op->replaceAllUsesWith(saving->getResults().take_front(1));
  op->erase();
  return saving;
}

/// Fails if the loss depends on a statistic, since statistics are not
/// differentiated again.
static LogicalResult checkStats(GradientBuilder &g, Operation *op) {
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    if (g.ofResult(i))
      return op->emitOpError("cannot be differentiated by its statistics: "
                             "expects result ")
             << i << " to be used by no op that the loss depends on";
  return success();
}

//===----------------------------------------------------------------------===//
// Einsums
//===----------------------------------------------------------------------===//

/// The gradient of one operand is an einsum of the other operand and the
/// result's gradient: for `a,b->r` it is `r,b->a` and `a,r->b`. The factors
/// have the operands' element type, the sum has the requested one. For f8
/// operands the result's gradient is quantized, once for both.
LogicalResult EinsumOp::buildGradients(GradientBuilder &g) {
  TensorBuilder b = at(g);
  Letters letters = getLetters();
  Value grad = g.ofResult(0), scale;
  if (getScales().empty())
    grad = b.narrow(grad, getLhs().getType());
  else
    std::tie(grad, scale) =
        buildQuantized(b.b, b.loc, grad, b.b.getType<Float8E5M2Type>());
  auto contract = [&](OpOperand &of, const std::string &spec, Value lhs,
                      Value rhs, bool isLeft) {
    SmallVector<Value> scales;
    if (scale)
      scales = {isLeft ? scale : getScales()[0],
                isLeft ? getScales()[1] : scale};
    g.setOperand(of.getOperandNumber(),
                 b.make<EinsumOp>(gradientType(g, of), spec, lhs, rhs, scales));
  };
  if (g.isNeeded(0))
    contract(getLhsMutable(),
             (letters.result + "," + letters.rhs + "->" + letters.lhs).str(),
             grad, getRhs(), /*isLeft=*/true);
  if (g.isNeeded(1))
    contract(getRhsMutable(),
             (letters.lhs + "," + letters.result + "->" + letters.rhs).str(),
             getLhs(), grad, /*isLeft=*/false);
  return success();
}

std::pair<Value, Value> nn::buildQuantized(OpBuilder &builder, Location loc,
                                           Value x, FloatType element) {
  TensorBuilder b(builder, loc);
  auto type = TensorBuilder::typeOf(x);
  Value amax = b.reduce(ReduceKind::Max, b.make<math::AbsFOp>(x),
                        llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  auto op = QuantizeOp::create(builder, loc, type.clone(element),
                               RankedTensorType::get({}, builder.getF32Type()),
                               x, amax);
  return {op.getResult(), op.getScale()};
}

/// Treats rounding as the identity.
LogicalResult QuantizeOp::buildGradients(GradientBuilder &g) {
  if (g.isNeeded(0) && g.ofResult(0))
    g.setOperand(0, at(g).cast(g.ofResult(0), g.elementType(0)));
  return success();
}

//===----------------------------------------------------------------------===//
// attention and rope
//===----------------------------------------------------------------------===//

Operation *AttentionOp::saveForBackward(OpBuilder &builder) {
  return addStats(builder, *this,
                  getStatType(getResult().getType(), bool(getBias())), 1);
}

/// Returns the gradient of sinks: - sum over batch and queries of p (grad .
/// result), where p is the sink's weight.
static Value buildSinksGradient(TensorBuilder &b, AttentionOp op, Value grad) {
  Value p = buildSinksWeight(b.b, b.loc, op.getSinks(), op.getStats().front());
  Value delta = b.einsum("bsgre,bsgre->bsgr", b.widen(grad),
                         b.widen(op.getResult()), b.typeOf(p).getShape());
  Value sum = b.reduce(ReduceKind::Sum, b.mul(p, delta), {0, 1});
  return b.cast(b.neg(sum), op.getSinks().getType().getElementType());
}

LogicalResult AttentionOp::buildGradients(GradientBuilder &g) {
  if (failed(checkStats(g, *this)))
    return failure();
  if (getBias() && g.isNeeded(getBiasMutable().begin()->getOperandNumber()))
    return emitOpError("expects a bias that no parameter changes, since it has "
                       "no gradient; write out the scores of a trained bias");
  TensorBuilder b = at(g);
  Type element = getQ().getType().getElementType();
  auto backward = AttentionBackwardOp::create(
      g.builder, g.loc, getQ().getType(), getK().getType(), getV().getType(),
      b.cast(g.ofResult(0), element), getQ(), getK(), getV(),
      b.cast(getResult(), element), getStats().front(), getQOffset(),
      getKOffset(), getStarts(), getBias(), getBiasDimsAttr(), getCausalAttr(),
      getWindowAttr(), getScaleAttr(), getSoftcapAttr(), getKeySizeAttr(),
      getOrderAttr());
  for (unsigned i = 0; i < 3; ++i)
    if (g.isNeeded(i))
      g.setOperand(i, backward->getResult(i));
  if (!getSinks())
    return success();
  unsigned sinks = getSinksMutable().begin()->getOperandNumber();
  if (g.isNeeded(sinks))
    g.setOperand(sinks, buildSinksGradient(b, *this, g.ofResult(0)));
  return success();
}

LogicalResult RopeOp::buildGradients(GradientBuilder &g) {
  UnitAttr inverse = getInverse() ? UnitAttr() : g.builder.getUnitAttr();
  g.setOperand(0, at(g).make<RopeOp>(getType(), g.ofResult(0), getOffset(),
                                     getDimAttr(), getThetaAttr(),
                                     getScalingAttr(), getFrequenciesAttr(),
                                     getWidthAttr(), getInterleavedAttr(),
                                     inverse, getOrderAttr()));
  return success();
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

/// Sets the gradients of a norm's gamma and beta: sums over all rows of grad *
/// normal(grad's wide type) and of grad.
static void setVectors(GradientBuilder &g, TensorBuilder &b, Value grad,
                       llvm::function_ref<Value()> buildNormal, bool hasBeta) {
  Value wide = b.widen(grad);
  if (g.isNeeded(1))
    g.setOperand(1, b.sumRows(b.mul(wide, buildNormal())));
  if (hasBeta && g.isNeeded(2))
    g.setOperand(2, b.sumRows(wide));
}

Operation *LayerNormOp::saveForBackward(OpBuilder &builder) {
  return addStats(builder, *this, getStatType(getX().getType(), false), 2);
}

LogicalResult LayerNormOp::buildGradients(GradientBuilder &g) {
  if (failed(checkStats(g, *this)))
    return failure();
  TensorBuilder b = at(g);
  Value grad = g.ofResult(0), mean = getStats()[0], rstd = getStats()[1];
  if (g.isNeeded(0))
    g.setOperand(0, b.make<LayerNormBackwardOp>(getX().getType(), grad, getX(),
                                                getGamma(), mean, rstd));
  auto normal = [&] {
    Value x = b.widen(getX());
    return b.mul(b.sub(x, b.alongRows(mean, x)), b.alongRows(rstd, x));
  };
  setVectors(g, b, grad, normal, /*hasBeta=*/true);
  return success();
}

Operation *RMSNormOp::saveForBackward(OpBuilder &builder) {
  return addStats(builder, *this, getStatType(getX().getType(), false), 1);
}

LogicalResult RMSNormOp::buildGradients(GradientBuilder &g) {
  if (failed(checkStats(g, *this)))
    return failure();
  TensorBuilder b = at(g);
  Value grad = g.ofResult(0), rstd = getStats()[0];
  if (g.isNeeded(0))
    g.setOperand(0, b.make<RMSNormBackwardOp>(getX().getType(), grad, getX(),
                                              getGamma(), rstd));
  auto normal = [&] {
    Value x = b.widen(getX());
    return b.mul(x, b.alongRows(rstd, x));
  };
  setVectors(g, b, grad, normal, /*hasBeta=*/false);
  return success();
}

/// The gradient is result * (grad - sum of grad * result).
LogicalResult SoftmaxOp::buildGradients(GradientBuilder &g) {
  TensorBuilder b = at(g);
  int64_t dim = getDim();
  Value grad = b.widen(g.ofResult(0)), y = b.widen(getResult());
  Value sum = b.reduce(ReduceKind::Sum, b.mul(grad, y), dim);
  Value dx = b.mul(y, b.sub(grad, b.broadcastAlong(sum, y, dim)));
  g.setOperand(0, b.cast(dx, g.elementType(0)));
  return success();
}

//===----------------------------------------------------------------------===//
// Lookups and the loss
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::buildGradients(GradientBuilder &g) {
  g.setOperand(0, at(g).make<EmbeddingBackwardOp>(
                      gradientType(g, getTableMutable()), g.ofResult(0),
                      getIds(), getOffset(), getRowsAttr()));
  return success();
}

Operation *CrossEntropyOp::saveForBackward(OpBuilder &builder) {
  return addStats(builder, *this, getStatType(getLogits().getType(), false), 2);
}

LogicalResult CrossEntropyOp::buildGradients(GradientBuilder &g) {
  if (failed(checkStats(g, *this)))
    return failure();
  g.setOperand(0, at(g).make<CrossEntropyBackwardOp>(
                      getLogits().getType(), g.ofResult(0), getLogits(),
                      getLabels(), getStats()[0], getStats()[1],
                      /*offset=*/Value(), getIgnoreAttr(), getClassesAttr()));
  return success();
}

LogicalResult TakeAlongAxisOp::buildGradients(GradientBuilder &g) {
  g.setOperand(0, at(g).make<TakeAlongAxisBackwardOp>(getX().getType(),
                                                      g.ofResult(0), getIndex(),
                                                      getOffset()));
  return success();
}

//===----------------------------------------------------------------------===//
// Activations and masks
//===----------------------------------------------------------------------===//

LogicalResult GeluOp::buildGradients(GradientBuilder &g) {
  g.setOperand(0, at(g).make<GeluBackwardOp>(getX().getType(), g.ofResult(0),
                                             getX(), getKind()));
  return success();
}

LogicalResult SiluOp::buildGradients(GradientBuilder &g) {
  g.setOperand(
      0, at(g).make<SiluBackwardOp>(getX().getType(), g.ofResult(0), getX()));
  return success();
}

/// Replaced elements have no gradient.
LogicalResult MaskPaddingOp::buildGradients(GradientBuilder &g) {
  Type element = getType().getElementType();
  g.setOperand(0, at(g).make<MaskPaddingOp>(
                      getType(), g.ofResult(0), getOffset(), getDimAttr(),
                      getSizeAttr(),
                      cast<TypedAttr>(g.builder.getZeroAttr(element))));
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// A sum passes its gradient to all of its terms. A maximum or minimum divides
/// it equally among the elements that attain it.
LogicalResult ReduceOp::buildGradients(GradientBuilder &g) {
  TensorBuilder b = at(g);
  SmallVector<int64_t> kept;
  for (int64_t dim = 0, rank = b.typeOf(getX()).getRank(); dim < rank; ++dim)
    if (!llvm::is_contained(getDims(), dim))
      kept.push_back(dim);
  Value x = getX(), grad = g.ofResult(0);
  if (getKind() == ReduceKind::Sum) {
    g.setOperand(0, b.broadcast(grad, x, kept));
    return success();
  }
  Value isIt = b.compare(arith::CmpFPredicate::OEQ, x,
                         b.broadcast(getResult(), x, kept));
  // The count may exceed the range of a narrow float.
  Value zero = b.widen(b.splat(x, 0.0)), one = b.splat(zero, 1.0);
  Value count = b.reduce(ReduceKind::Sum, b.select(isIt, one, zero), getDims());
  Value share = b.broadcast(b.div(b.widen(grad), count), x, kept);
  g.setOperand(0, b.cast(b.select(isIt, share, zero), g.elementType(0)));
  return success();
}

bool StopGradientOp::stopsGradient() { return true; }

LogicalResult StopGradientOp::buildGradients(GradientBuilder &) {
  return success();
}

/// The gradient is the sum over the repeated dimensions, in the requested type.
LogicalResult BroadcastOp::buildGradients(GradientBuilder &g) {
  TensorBuilder b = at(g);
  Value grad = b.cast(g.ofResult(0), g.elementType(0));
  SmallVector<int64_t> added;
  for (int64_t dim = 0, rank = getType().getRank(); dim < rank; ++dim)
    if (!llvm::is_contained(getDims(), dim))
      added.push_back(dim);
  g.setOperand(0,
               added.empty() ? grad : b.reduce(ReduceKind::Sum, grad, added));
  return success();
}

LogicalResult TransposeOp::buildGradients(GradientBuilder &g) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  g.setOperand(
      0, at(g).make<TransposeOp>(getX().getType(), g.ofResult(0), inverse));
  return success();
}
