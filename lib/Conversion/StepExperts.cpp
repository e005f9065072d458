//===- StepExperts.cpp - Calls on experts of a step -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLowering.h"

using namespace mlir;
using namespace tessera;

void StepLowering::lowerRoute(rt::RouteOp op) {
  RankedTensorType ids = op.getIds().getType();
  int64_t choices = ids.getShape().back();
  int64_t tokens = choices ? ids.getNumElements() / choices : 0;
  SmallVector<int64_t> sizes{tokens, choices, int64_t(op.getExperts()),
                             int64_t(op.getAll()), int64_t(op.getRoom())};
  if (op.getEach())
    llvm::append_range(sizes, *op.getEach());
  sizes.resize(7);
  rt::CallRouteOp::create(
      b, ids.getElementType(), sizes, op.getLayerAttr(),
      ArrayRef<int64_t>{offsetOf(op.getIds()), offsetOf(op.getRouting())},
      op.getOffset() ? scalars.lookup(op.getOffset()) : Value());
}

void StepLowering::lowerExpertCapacity(rt::ExpertCapacityOp op) {
  RankedTensorType ids = op.getIds().getType();
  ArrayRef<int64_t> shape = ids.getShape();
  int64_t sequences = 1;
  for (int64_t size : shape.drop_back(2))
    sequences *= size;
  SmallVector<int64_t> sizes{sequences, shape[shape.size() - 2], shape.back(),
                             int64_t(op.getExperts()),
                             int64_t(op.getCapacity())};
  if (op.getOrder())
    llvm::append_range(sizes, *op.getOrder());
  sizes.resize(7);
  rt::CallExpertCapacityOp::create(
      b, ids.getElementType(), op.getScores().getType().getElementType(), sizes,
      ArrayRef<int64_t>{offsetOf(op.getIds()), offsetOf(op.getScores()),
                        offsetOf(op.getResult())});
}

/// Returns the offsets of these tensors, in order.
SmallVector<int64_t> StepLowering::offsetsOf(ArrayRef<Value> tensors) const {
  SmallVector<int64_t> offsets;
  for (Value tensor : tensors)
    offsets.push_back(offsetOf(tensor));
  return offsets;
}

void StepLowering::lowerExperts(rt::ExpertsOp op) {
  SmallVector<Value> tensors{op.getRouting(), op.getX(),   op.getGates(),
                             op.getWGate(),   op.getWUp(), op.getWDown(),
                             op.getResult()};
  llvm::append_range(tensors, op.getRows());
  Type element = op.getX().getType().getElementType();
  rt::CallExpertsOp::create(b, op.getActivation(), element, element,
                            op.getSizes(), /*x_in_rows=*/false,
                            /*grad_in_rows=*/false, offsetsOf(tensors));
}

void StepLowering::lowerExperts(rt::ExpertsBackwardOp op) {
  Type element = op.getGrad().getType().getElementType();
  rt::CallExpertsBackwardOp::create(
      b, op.getActivation(), element, element, op.getSizes(),
      /*x_in_rows=*/false, /*grad_in_rows=*/false,
      offsetsOf({op.getRouting(), op.getGrad(), op.getGates(), op.getWGate(),
                 op.getWUp(), op.getWDown(), op.getGateRows(), op.getUpRows(),
                 op.getDx(), op.getDgates(), op.getDgate(), op.getDup()}));
}

void StepLowering::lowerExperts(rt::ExpertsWeightGradientOp op) {
  rt::CallExpertsWeightGradientOp::create(
      b, op.getActivation(), op.getX().getType().getElementType(),
      op.getDwUp().getType().getElementType(), op.getSizes(), op.getXInRows(),
      op.getGradInRows(),
      offsetsOf({op.getRouting(), op.getX(), op.getGrad(), op.getGates(),
                 op.getGateRows(), op.getUpRows(), op.getDgate(), op.getDup(),
                 op.getDwGate(), op.getDwUp(), op.getDwDown()}));
}
