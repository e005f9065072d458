//===- RTExperts.cpp - Records and calls of mixtures of experts -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallArguments.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::rt;

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// True for the types of ids that the runtime reads.
static bool isId(Type element) {
  return element.isInteger(32) || element.isInteger(64);
}

LogicalResult RouteOp::verify() {
  RankedTensorType ids = getIds().getType(), routing = getRouting().getType();
  if (!isId(ids.getElementType()))
    return emitOpError("(C1) expects ids of i32 or i64 but got ") << ids;
  int64_t count = getExperts() + 1 + getRoom() + ids.getNumElements();
  auto expected =
      RankedTensorType::get({count}, IntegerType::get(getContext(), 32));
  if (routing != expected)
    return emitOpError("(C2) expects a routing of ")
           << expected << " but got " << routing;
  if (auto each = getEach();
      each && (each->size() != 2 || (*each)[0] < 1 || (*each)[1] < 1))
    return emitOpError("(C3) expects room and an even load of one expert, "
                       "positive, but got ")
           << getEachAttr();
  return success();
}

LogicalResult ExpertCapacityOp::verify() {
  RankedTensorType ids = getIds().getType(), scores = getScores().getType();
  if (!isId(ids.getElementType()) || ids.getRank() < 2)
    return emitOpError("(C1) expects ids of i32 or i64 of rank 2 at least but "
                       "got ")
           << ids;
  Type element = scores.getElementType();
  if (!(element.isF32() || element.isF64()) ||
      scores.getShape() != ids.getShape())
    return emitOpError("(C2) expects scores of f32 or f64 for ")
           << ids << " but got " << scores;
  if (getOrder() && getOrder()->size() != 2)
    return emitOpError("(C3) expects two numbers as an order but got ")
           << getOrderAttr();
  return success();
}

namespace {
/// The sizes of a call on experts, as its tensors have them.
struct ExpertSizes {
  int64_t tokens, choices, experts, room, in, ffn, out;

  /// Takes the gates, w_up or its gradient, w_down or its gradient, and the
  /// routing.
  ExpertSizes(RankedTensorType gates, RankedTensorType up,
              RankedTensorType down, RankedTensorType routing) {
    choices = gates.getRank() ? gates.getShape().back() : 1;
    tokens = 1;
    for (int64_t size : gates.getShape().drop_back())
      tokens *= size;
    bool areWeights = up.getRank() == 3 && down.getRank() == 3;
    experts = areWeights ? up.getDimSize(0) : 0;
    in = areWeights ? up.getDimSize(1) : 0;
    ffn = areWeights ? up.getDimSize(2) : 0;
    out = areWeights ? down.getDimSize(2) : 0;
    room = routing.getNumElements() - experts - 1 - tokens * choices;
  }
  SmallVector<int64_t> list() const {
    return {tokens, choices, experts, room, in, ffn, out};
  }
};
} // namespace

/// Checks the element types of a call (C1).
static LogicalResult verifyTypes(Operation *op, RankedTensorType gates,
                                 ArrayRef<RankedTensorType> others) {
  Type element = others.front().getElementType();
  bool isKnown =
      element.isF32() || element.isF64() || element.isBF16() || element.isF16();
  bool fit = llvm::all_of(others, [&](RankedTensorType type) {
    return type.getElementType() == element;
  });
  Type gate = gates.getElementType();
  if (isKnown && fit && (element.isF64() ? gate.isF64() : gate.isF32()))
    return success();
  return op->emitOpError("(C1) expects tensors of f32, f64, bf16 or f16 and "
                         "gates of f32, or f64 with f64, but got ")
         << element << " and " << gate;
}

/// Checks the tensors that all calls have (C2).
static LogicalResult verifyCommon(Operation *op, const ExpertSizes &sizes,
                                  RankedTensorType gates, RankedTensorType down,
                                  RankedTensorType routing,
                                  ArrayRef<RankedTensorType> rows) {
  SmallVector<int64_t> falling{sizes.experts, sizes.ffn, sizes.out};
  if (gates.getRank() < 1 || down.getShape() != ArrayRef(falling) ||
      routing.getRank() != 1 || !routing.getElementType().isInteger(32) ||
      sizes.room < 0)
    return op->emitOpError(
               "(C2) expects gates by token, a routing, and weights "
               "of one number of experts and one ffn but got ")
           << gates << ", " << routing << " and " << down;
  SmallVector<int64_t> shape{sizes.room, sizes.ffn};
  for (RankedTensorType type : rows)
    if (type.getShape() != ArrayRef(shape))
      return op->emitOpError("(C2) expects rows of [")
             << sizes.room << ", " << sizes.ffn << "] but got " << type;
  return success();
}

/// Checks a tensor by token, or by row if `isInRows` (C2).
static LogicalResult verifyTokens(Operation *op, StringRef name,
                                  const ExpertSizes &sizes,
                                  RankedTensorType gates, RankedTensorType type,
                                  int64_t width, bool isInRows = false) {
  SmallVector<int64_t> shape(gates.getShape().drop_back());
  if (isInRows)
    shape = {sizes.room};
  shape.push_back(width);
  if (type.getShape() == ArrayRef(shape))
    return success();
  return op->emitOpError("(C2) expects ")
         << name << " of [" << shape << "] but got " << type;
}

LogicalResult ExpertsOp::verify() {
  RankedTensorType x = getX().getType(), y = getResult().getType();
  RankedTensorType gates = getGates().getType(), up = getWUp().getType();
  RankedTensorType down = getWDown().getType();
  ExpertSizes sizes(gates, up, down, getRouting().getType());
  SmallVector<RankedTensorType> rows;
  for (Value value : getRows())
    rows.push_back(cast<RankedTensorType>(value.getType()));
  SmallVector<RankedTensorType> all{x, y, up, down};
  all.append(rows);
  if (getRows().size() != 0 && getRows().size() != 2)
    return emitOpError("(C3) expects no rows or 2 but got ")
           << getRows().size();
  if (failed(verifyTypes(*this, gates, all)) ||
      failed(verifyCommon(*this, sizes, gates, down, getRouting().getType(),
                          rows)) ||
      failed(verifyTokens(*this, "x", sizes, gates, x, sizes.in)))
    return failure();
  return verifyTokens(*this, "y", sizes, gates, y, sizes.out);
}

LogicalResult ExpertsBackwardOp::verify() {
  RankedTensorType grad = getGrad().getType(), dx = getDx().getType();
  RankedTensorType gates = getGates().getType(), up = getWUp().getType();
  RankedTensorType down = getWDown().getType(), rows = getUpRows().getType();
  ExpertSizes sizes(gates, up, down, getRouting().getType());
  if (failed(verifyTypes(*this, gates, {grad, dx, up, down, rows})) ||
      failed(verifyCommon(*this, sizes, gates, down, getRouting().getType(),
                          rows)) ||
      failed(verifyTokens(*this, "grad", sizes, gates, grad, sizes.out)))
    return failure();
  return verifyTokens(*this, "dx", sizes, gates, dx, sizes.in);
}

LogicalResult ExpertsWeightGradientOp::verify() {
  RankedTensorType x = getX().getType(), grad = getGrad().getType();
  RankedTensorType gates = getGates().getType(), up = getDwUp().getType();
  RankedTensorType down = getDwDown().getType(), rows = getUpRows().getType();
  ExpertSizes sizes(gates, up, down, getRouting().getType());
  Type result = up.getElementType();
  if (down.getElementType() != result ||
      (result != rows.getElementType() && !result.isF32()))
    return emitOpError("(C1) expects gradients of the type of rows or f32 but "
                       "got ")
           << up << " and " << down;
  if (failed(verifyTypes(*this, gates, {x, grad, rows})) ||
      failed(verifyCommon(*this, sizes, gates, down, getRouting().getType(),
                          rows)) ||
      failed(verifyTokens(*this, "x", sizes, gates, x, sizes.in, getXInRows())))
    return failure();
  return verifyTokens(*this, "grad", sizes, gates, grad, sizes.out,
                      getGradInRows());
}

SmallVector<int64_t> ExpertsOp::getSizes() {
  return ExpertSizes(getGates().getType(), getWUp().getType(),
                     getWDown().getType(), getRouting().getType())
      .list();
}
SmallVector<int64_t> ExpertsBackwardOp::getSizes() {
  return ExpertSizes(getGates().getType(), getWUp().getType(),
                     getWDown().getType(), getRouting().getType())
      .list();
}
SmallVector<int64_t> ExpertsWeightGradientOp::getSizes() {
  return ExpertSizes(getGates().getType(), getDwUp().getType(),
                     getDwDown().getType(), getRouting().getType())
      .list();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Checks the numbers of sizes and offsets of a call (C1).
template <typename Op>
static LogicalResult verifyCounts(Op op, size_t sizes, size_t offsets) {
  if (op.getSizes().size() == sizes && op.getOffsets().size() == offsets)
    return success();
  return op.emitOpError("(C1) expects ")
         << sizes << " sizes and " << offsets << " offsets but got "
         << op.getSizes().size() << " and " << op.getOffsets().size();
}

LogicalResult CallRouteOp::verify() { return verifyCounts(*this, 7, 2); }
LogicalResult CallExpertCapacityOp::verify() {
  return verifyCounts(*this, 7, 3);
}
LogicalResult CallExpertsOp::verify() {
  return verifyCounts(*this, 7, getOffsets().size() == 7 ? 7 : 9);
}
LogicalResult CallExpertsBackwardOp::verify() {
  return verifyCounts(*this, 7, 12);
}
LogicalResult CallExpertsWeightGradientOp::verify() {
  return verifyCounts(*this, 7, 11);
}

StringRef CallRouteOp::getCallee() { return "tessera_rt_route"; }
CallArguments CallRouteOp::getCallArguments() {
  ArrayRef<int64_t> sizes = getSizes();
  tessera_rt_route_desc desc = {};
  desc.id_dtype = getRuntimeType(getIdElement()).value_or(-1);
  desc.tokens = sizes[0];
  desc.choices = sizes[1];
  desc.experts = sizes[2];
  desc.all_experts = sizes[3];
  desc.room = sizes[4];
  desc.room_of_each = sizes[5];
  desc.even_of_each = sizes[6];
  desc.layer = getLayer() ? int64_t(*getLayer()) : -1;
  return {descriptor(desc), address(getOffsets()[0]),
          getIdOffset() ? scalar(getIdOffset()) : int64(0),
          address(getOffsets()[1])};
}

StringRef CallExpertCapacityOp::getCallee() {
  return "tessera_rt_expert_capacity";
}
CallArguments CallExpertCapacityOp::getCallArguments() {
  ArrayRef<int64_t> sizes = getSizes();
  tessera_rt_capacity_desc desc = {};
  desc.id_dtype = getRuntimeType(getIdElement()).value_or(-1);
  desc.dtype = getRuntimeType(getElement()).value_or(-1);
  desc.sequences = sizes[0];
  desc.tokens = sizes[1];
  desc.choices = sizes[2];
  desc.experts = sizes[3];
  desc.capacity = sizes[4];
  desc.order_shards = sizes[5];
  desc.order_size = sizes[6];
  CallArguments arguments{descriptor(desc)};
  addAddresses(arguments, getOffsets());
  return arguments;
}

/// Returns the descriptor of a call on experts and its tensors.
template <typename Op> static CallArguments getExpertArguments(Op op) {
  ArrayRef<int64_t> sizes = op.getSizes();
  tessera_rt_experts_desc desc = {};
  desc.dtype = getRuntimeType(op.getElement()).value_or(-1);
  desc.result_dtype = getRuntimeType(op.getResultElement()).value_or(-1);
  desc.activation = static_cast<int64_t>(op.getActivation());
  desc.tokens = sizes[0];
  desc.choices = sizes[1];
  desc.experts = sizes[2];
  desc.room = sizes[3];
  desc.in = sizes[4];
  desc.ffn = sizes[5];
  desc.out = sizes[6];
  desc.x_in_rows = op.getXInRows();
  desc.grad_in_rows = op.getGradInRows();
  CallArguments arguments{descriptor(desc)};
  addAddresses(arguments, op.getOffsets());
  return arguments;
}

static_assert(static_cast<int>(Activation::Silu) == TESSERA_RT_SILU &&
                  static_cast<int>(Activation::GeluErf) == TESSERA_RT_GELU &&
                  static_cast<int>(Activation::GeluTanh) ==
                      TESSERA_RT_GELU_TANH,
              "expects the numbers of the runtime");

StringRef CallExpertsOp::getCallee() { return "tessera_rt_experts"; }
CallArguments CallExpertsOp::getCallArguments() {
  CallArguments arguments = getExpertArguments(*this);
  if (getOffsets().size() == 7)
    arguments.append({null(), null()});
  return arguments;
}

StringRef CallExpertsBackwardOp::getCallee() {
  return "tessera_rt_experts_backward";
}
CallArguments CallExpertsBackwardOp::getCallArguments() {
  return getExpertArguments(*this);
}

StringRef CallExpertsWeightGradientOp::getCallee() {
  return "tessera_rt_experts_weight_gradient";
}
CallArguments CallExpertsWeightGradientOp::getCallArguments() {
  return getExpertArguments(*this);
}
