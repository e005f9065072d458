//===- NNExperts.cpp - Verifiers of mixtures of experts -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

using namespace mlir;
using namespace tessera::nn;

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// Checks the groups of a top_k over `size` elements (labels C4 and C5).
static LogicalResult verifyGroups(TopKOp op, int64_t size) {
  if (!op.getGroups() && !op.getChosenGroups() && !op.getGroupScore())
    return success();
  if (!op.getGroups() || !op.getChosenGroups() || !op.getGroupScore())
    return op.emitOpError("(C4) expects groups with a number of chosen ones "
                          "and a score, or none of these");
  if (op.getSmallest())
    return op.emitOpError("(C4) expects no groups with smallest");
  int64_t groups = *op.getGroups(), chosen = *op.getChosenGroups();
  if (groups < 1 || size % groups != 0)
    return op.emitOpError("(C4) expects a number of groups that divides ")
           << size << " but got " << groups;
  if (chosen < 1 || chosen > groups)
    return op.emitOpError("(C4) expects 1 to ")
           << groups << " chosen groups but got " << chosen;
  int64_t perGroup = size / groups;
  if (chosen * perGroup < static_cast<int64_t>(op.getK()))
    return op.emitOpError("(C4) expects chosen groups with ")
           << op.getK() << " elements at least but got " << chosen << " of "
           << perGroup;
  if (*op.getGroupScore() == GroupScore::Sum2 && perGroup < 2)
    return op.emitOpError("(C5) expects groups of 2 elements at least by sum2 "
                          "but got ")
           << perGroup;
  return success();
}

LogicalResult TopKOp::verify() {
  RankedTensorType x = typeOf(getX());
  int64_t k = getK();
  if (x.getRank() < 1 || k < 1 || k > x.getShape().back())
    return emitOpError("(C1) expects k from 1 to the size of the last "
                       "dimension but got ")
           << k << " of " << x;
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = k;
  if (failed(verifyShape(*this, "(C2)", "a result", shape, getResult())))
    return failure();
  int64_t last = x.getShape().back() - 1;
  unsigned width = getType().getElementType().getIntOrFloatBitWidth();
  if (width < 64 && last > llvm::maxIntN(width))
    return emitOpError("(C3) expects integers that can hold ")
           << last << " but got " << getType();
  return verifyGroups(*this, x.getShape().back());
}

LogicalResult ExpertCapacityOp::verify() {
  RankedTensorType ids = typeOf(getIds());
  if (ids.getRank() < 2)
    return emitOpError("(C1) expects ids of rank 2 at least but got ") << ids;
  if (failed(verifyShape(*this, "(C2)", "scores", ids.getShape(), getScores())))
    return failure();
  if (static_cast<int64_t>(getCapacity()) < 1)
    return emitOpError("(C3) expects a capacity of 1 at least but got ")
           << static_cast<int64_t>(getCapacity());
  if (static_cast<int64_t>(getExperts()) < 1)
    return emitOpError("(C4) expects 1 expert at least but got ")
           << static_cast<int64_t>(getExperts());
  return success();
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// Appends dimensions to the shape of the tokens that have these ids.
static SmallVector<int64_t> shapeOf(Value ids, ArrayRef<int64_t> more) {
  SmallVector<int64_t> shape(typeOf(ids).getShape().drop_back());
  llvm::append_range(shape, more);
  return shape;
}

/// Checks that ids have a dimension of choices (label C1).
static LogicalResult verifyIds(Operation *op, Value ids) {
  if (typeOf(ids).getRank() >= 1)
    return success();
  return op->emitOpError("(C1) expects ids of rank 1 at least but got ")
         << ids.getType();
}

/// Checks gates: the shape of ids (label C1), f32 or, for f64, f64 (`label`).
static LogicalResult verifyGates(Operation *op, StringRef label, Value ids,
                                 Value gates, Type element) {
  if (failed(verifyShape(op, "(C1)", "gates", typeOf(ids).getShape(), gates)))
    return failure();
  Type type = typeOf(gates).getElementType();
  if (element.isF64() ? type.isF64() : type.isF32())
    return success();
  return op->emitOpError(label)
         << " expects gates of f32 (f64 for f64) but got " << gates.getType();
}

LogicalResult ExpertRowsOp::verify() {
  RankedTensorType x = typeOf(getX());
  if (failed(verifyIds(*this, getIds())))
    return failure();
  if (x.getRank() < 1)
    return emitOpError("(C1) expects x of rank 1 at least but got ") << x;
  int64_t width = x.getShape().back();
  if (failed(verifyShape(*this, "(C1)", "x", shapeOf(getIds(), width), getX())))
    return failure();
  RankedTensorType type = getType();
  int64_t experts =
      type.getRank() >= 2 ? type.getDimSize(type.getRank() - 2) : 1;
  if (failed(verifyShape(*this, "(C2)", "a result",
                         shapeOf(getIds(), {experts, width}), getResult())))
    return failure();
  return verifySameElement(*this, "(C3)", getX(), getResult());
}

/// Checks weights of rank 3 that fit each other (label C2).
static LogicalResult verifyWeights(Operation *op, Value up, Value down) {
  for (Value weights : {up, down})
    if (typeOf(weights).getRank() != 3)
      return op->emitOpError("(C2) expects weights of rank 3 but got ")
             << weights.getType();
  ArrayRef<int64_t> shape = typeOf(up).getShape();
  return verifyShape(op, "(C2)", "w_down",
                     {shape[0], shape[2], typeOf(down).getDimSize(2)}, down);
}

/// Checks what experts and their backward share: `x` and `y`, which may be
/// gradients, ids, gates, weights and tensors by expert.
template <typename Op>
static LogicalResult verifyExperts(Op op, Value x, Value y, ValueRange stats) {
  Value up = op.getWUp(), down = op.getWDown(), ids = op.getIds();
  Type element = typeOf(x).getElementType();
  if (failed(verifyIds(op, ids)) ||
      failed(verifyGates(op, "(C4)", ids, op.getGates(), element)) ||
      failed(verifyWeights(op, up, down)))
    return failure();
  ArrayRef<int64_t> shape = typeOf(up).getShape();
  if (failed(verifyShape(op, "(C1)", "x", shapeOf(ids, shape[1]), x)) ||
      failed(verifyShape(op, "(C3)", "y",
                         shapeOf(ids, typeOf(down).getDimSize(2)), y)))
    return failure();
  for (Value value : {up, down, y})
    if (failed(verifySameElement(op, "(C4)", x, value)))
      return failure();
  for (Value stat : stats)
    if (failed(verifySameElement(op, "(C4)", x, stat)) ||
        failed(verifyShape(op, "(C5)", "stats",
                           shapeOf(ids, {shape[0], shape[2]}), stat)))
      return failure();
  if (static_cast<int64_t>(op.getExperts()) >= 1)
    return success();
  return op.emitOpError("(C6) expects 1 expert at least but got ")
         << static_cast<int64_t>(op.getExperts());
}

LogicalResult ExpertsOp::verify() {
  if (!getStats().empty() && getStats().size() != 2)
    return emitOpError("(C5) expects no stats or 2 but got ")
           << getStats().size();
  return verifyExperts(*this, getX(), getResult(), getStats());
}

LogicalResult ExpertsBackwardOp::verify() {
  return verifyExperts(*this, getDx(), getGrad(),
                       ValueRange{getGateStat(), getUpStat()});
}

/// Checks the element types of weights' gradients (label C3).
static LogicalResult verifyGradientTypes(ExpertsWeightGradientOp op) {
  for (Value value : {op.getGradRows(), op.getUpStat()})
    if (failed(verifySameElement(op, "(C3)", op.getRows(), value)))
      return failure();
  Type in = typeOf(op.getRows()).getElementType(),
       out = typeOf(op.getDwUp()).getElementType();
  if (in != out && in.getIntOrFloatBitWidth() >= out.getIntOrFloatBitWidth())
    return op.emitOpError("(C3) expects gradients of ")
           << in << " or a wider type but got " << out;
  return verifySameElement(op, "(C3)", op.getDwUp(), op.getDwDown());
}

LogicalResult ExpertsWeightGradientOp::verify() {
  RankedTensorType rows = typeOf(getRows()), gradRows = typeOf(getGradRows());
  Value ids = getIds();
  if (failed(verifyIds(*this, ids)) ||
      failed(
          verifyGates(*this, "(C3)", ids, getGates(), rows.getElementType())))
    return failure();
  if (rows.getRank() < 2 || gradRows.getRank() < 2)
    return emitOpError("(C1) expects rows by expert but got ")
           << rows << " and " << gradRows;
  int64_t experts = rows.getDimSize(rows.getRank() - 2);
  int64_t in = rows.getShape().back(), out = gradRows.getShape().back();
  int64_t ffn =
      typeOf(getUpStat()).getRank() ? typeOf(getUpStat()).getShape().back() : 0;
  auto verify = [&](StringRef label, StringRef name, ArrayRef<int64_t> shape,
                    Value value) {
    return verifyShape(*this, label, name, shape, value);
  };
  if (failed(verify("(C1)", "rows", shapeOf(ids, {experts, in}), getRows())) ||
      failed(verify("(C1)", "grad_rows", shapeOf(ids, {experts, out}),
                    getGradRows())) ||
      failed(
          verify("(C1)", "stats", shapeOf(ids, {experts, ffn}), getUpStat())) ||
      failed(verify("(C2)", "dw_up", {experts, in, ffn}, getDwUp())) ||
      failed(verify("(C2)", "dw_down", {experts, ffn, out}, getDwDown())))
    return failure();
  if (static_cast<int64_t>(getExperts()) < 1)
    return emitOpError("(C4) expects 1 expert at least but got ")
           << static_cast<int64_t>(getExperts());
  return verifyGradientTypes(*this);
}
