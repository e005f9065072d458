//===- FuseThroughCasts.cpp - Moves elements in the smaller type ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective that moves whole elements (without adding them up) commutes with
// a unary elementwise op. Only casts change the number of bytes that it moves.
//
//===----------------------------------------------------------------------===//

#include "FuseCollectives.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace tessera;

static bool movesElements(Operation *op) {
  return isa_and_nonnull<dist::AllGatherOp, dist::AllToAllOp,
                         dist::CollectivePermuteOp, dist::BroadcastOp>(op);
}

static bool isCast(Operation *op) {
  return isa_and_nonnull<CastOpInterface>(op) &&
         op->hasTrait<OpTrait::Elementwise>() && op->getNumOperands() == 1 &&
         isa<RankedTensorType>(op->getOperand(0).getType());
}

static unsigned getBits(Value value) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
}

static Operation *cloneAs(OpBuilder &builder, Operation *op, Value operand,
                          Type element) {
  auto shape = cast<RankedTensorType>(op->getResult(0).getType());
  if (isCast(op))
    shape = cast<RankedTensorType>(operand.getType());
  return cloneWithTypes(builder, op, operand, shape.clone(element));
}

/// Runs `first` (a collective or a cast) after `second`.
static void swap(Operation *first, Operation *second) {
  OpBuilder builder(second);
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  Type element = isCast(second) ? elementOf(second->getResult(0))
                                : elementOf(first->getOperand(0));
  Operation *now = cloneAs(builder, second, first->getOperand(0), element);
  Operation *then = cloneAs(builder, first, now->getResult(0),
                            elementOf(second->getResult(0)));
  then->getResult(0).setType(
      cast<RankedTensorType>(second->getResult(0).getType()));
  second->getResult(0).replaceAllUsesWith(then->getResult(0));
  second->erase();
  first->erase();
}

/// Moves a cast to a smaller type before the collective.
static bool castBefore(Operation *cast, const FusionContext &context) {
  Operation *source = cast->getOperand(0).getDefiningOp();
  if (!movesElements(source) ||
      getBits(cast->getResult(0)) >= getBits(cast->getOperand(0)))
    return false;
  if (!source->hasOneUse() || source->getBlock() != cast->getBlock()) {
    context.missed(source, "cast before it moves",
                   "the value before the cast has another use");
    return false;
  }
  context.passed(source, "cast before it moves");
  swap(source, cast);
  return true;
}

/// Moves a cast to a larger type after the collective.
static bool castAfter(Operation *op, const FusionContext &context) {
  Operation *cast = op->getOperand(0).getDefiningOp();
  if (!isCast(cast) ||
      getBits(cast->getResult(0)) <= getBits(cast->getOperand(0)))
    return false;
  if (!cast->hasOneUse() || cast->getBlock() != op->getBlock()) {
    context.missed(op, "cast after it",
                   "the value after the cast has another use");
    return false;
  }
  context.passed(op, "cast after it");
  swap(cast, op);
  return true;
}

bool tessera::moveThroughCasts(Block &block, const FusionContext &context) {
  SmallVector<Operation *> casts, collectives;
  for (Operation &op : block) {
    if (isCast(&op))
      casts.push_back(&op);
    if (movesElements(&op))
      collectives.push_back(&op);
  }
  bool changed = false;
  for (Operation *cast : casts)
    changed |= castBefore(cast, context);
  if (changed)
    return true;
  for (Operation *op : collectives)
    changed |= castAfter(op, context);
  return changed;
}
