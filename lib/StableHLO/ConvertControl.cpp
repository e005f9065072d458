//===- ConvertControl.cpp - Calls, loops and branches ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The converter enters calls, loops and branches, so none remain. Trip counts
// and branch conditions must depend on constants alone.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

#include "tessera/Raise/Evaluate.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// Enters the function that the attribute `name` refers to.
static LogicalResult enter(OpConversion &c, StringRef name) {
  func::FuncOp callee = c.converter.lookUp(getSourceAttr(c.op, name));
  if (!callee || callee.isExternal())
    return c.error() << "expects a function with a body as " << name;
  SmallVector<Value> results;
  if (failed(
          c.converter.convertBody(c.op, callee.getBody(), c.operands, results)))
    return failure();
  return c.yield(results);
}

static LogicalResult convertCall(OpConversion &c) { return enter(c, "callee"); }

static LogicalResult convertComposite(OpConversion &c) {
  return enter(c, "decomposition");
}

static LogicalResult convertBarrier(OpConversion &c) {
  return c.yield(c.operands);
}

/// Replaces numbers that follow from constants by constants, so that what a
/// loop counts does not depend on all its trips.
static void foldNumbers(OpConversion &c, MutableArrayRef<Value> state) {
  for (Value &value : state) {
    if (c.b.typeOf(value).getNumElements() != 1 || getConstant(value))
      continue;
    if (interp::TensorRef number = evaluateConstant(value))
      value = c.b.make<arith::ConstantOp>(
          cast<TypedAttr>(Attribute(toAttribute(*number))));
  }
}

/// Repeats the body while the condition is true.
static LogicalResult convertWhile(OpConversion &c) {
  if (c.op->getNumRegions() != 2)
    return c.error() << "expects a condition and a body";
  SmallVector<Value> state(c.operands);
  while (true) {
    SmallVector<Value> condition, next;
    if (failed(c.converter.convertBody(c.op, c.op->getRegion(0), state,
                                       condition)))
      return failure();
    std::optional<int64_t> goesOn =
        condition.size() == 1 ? evaluateInteger(condition[0]) : std::nullopt;
    if (!goesOn)
      return c.error() << "expects a number of trips that follows from "
                          "constants";
    if (*goesOn == 0)
      return c.yield(state);
    if (failed(c.converter.convertBody(c.op, c.op->getRegion(1), state, next)))
      return failure();
    state = next;
    foldNumbers(c, state);
  }
}

/// Enters the branch that a constant selects; `case` takes the last branch for
/// a number out of range.
static LogicalResult convertBranch(OpConversion &c) {
  std::optional<int64_t> chosen = evaluateInteger(c.operands[0]);
  int64_t branches = c.op->getNumRegions();
  if (!chosen || branches == 0)
    return c.error() << "expects a branch that follows from constants";
  // The first branch of `if` is the one for true.
  if (c.isBool())
    chosen = *chosen ? 0 : 1;
  int64_t branch = *chosen >= 0 && *chosen < branches ? *chosen : branches - 1;
  SmallVector<Value> results;
  if (failed(
          c.converter.convertBody(c.op, c.op->getRegion(branch), {}, results)))
    return failure();
  return c.yield(results);
}

/// Adds a sharding that propagation keeps, except in dimensions `open`.
static LogicalResult constrain(OpConversion &c, Attribute attr,
                               ArrayRef<int64_t> open) {
  const SourceMesh &mesh = c.converter.mesh;
  auto found =
      readSharding(c.op, attr, mesh, c.operandType(0).getRank(), "sharding");
  if (failed(found))
    return failure();
  dist::ShardingAttr sharding = *found;
  if (!open.empty()) {
    Mesh plain = mesh.mesh.toMesh();
    Sharding opened = sharding.toSharding(plain);
    for (int64_t dim : open)
      opened.dims[dim].open = true;
    sharding = dist::ShardingAttr::get(sharding.getMesh(), plain, opened);
  }
  return c.yield(Value(c.b.make<dist::ConstraintOp>(c.operands[0], sharding)));
}

static LogicalResult convertConstraint(OpConversion &c) {
  return constrain(c, getSourceAttr(c.op, "sharding"), {});
}

/// Converts experts, or a constraint by tiles; `unspecified_dims=[0,1]` are
/// dimensions that propagation may shard.
static LogicalResult convertCustomCall(OpConversion &c) {
  auto target =
      dyn_cast_or_null<StringAttr>(getSourceAttr(c.op, "call_target_name"));
  if (target && target == nn::ExpertsOp::getOperationName())
    return convertExperts(c);
  if (!target || target != "Sharding" || c.operands.size() != 1)
    return c.error() << "expects a target that has a meaning in nn but got "
                     << (target ? Attribute(target)
                                : c.b.b.getStringAttr("none"));
  auto config =
      dyn_cast_or_null<StringAttr>(getSourceAttr(c.op, "backend_config"));
  StringRef text = config ? config.getValue() : StringRef();
  SmallVector<int64_t> open;
  if (text.consume_front("unspecified_dims=[") && text.consume_back("]")) {
    SmallVector<StringRef> numbers;
    text.split(numbers, ',');
    for (StringRef number : numbers)
      if (number.trim().getAsInteger(10, open.emplace_back()))
        return c.error() << "expects numbers of dimensions but got " << config;
    if (failed(
            c.checkDims(open, c.operandType(0).getRank(), "unspecified_dims")))
      return failure();
  } else if (!text.empty()) {
    return c.error() << "expects unspecified_dims as backend_config but got "
                     << config;
  }
  return constrain(c, c.op->getDiscardableAttr(kTiles), open);
}

void tessera::stablehlo::addControlHandlers(HandlerTable &t) {
  constexpr int kAny = HandlerTable::kAny;
  t.add("func.call", kAny, convertCall, kAny);
  t.add("stablehlo.composite", kAny, convertComposite, kAny);
  t.add("stablehlo.optimization_barrier", kAny, convertBarrier, kAny);
  t.add("sdy.sharding_constraint", 1, convertConstraint);
  t.add("sdy.reshard", 1, convertConstraint);
  t.add(kCustomCall, kAny, convertCustomCall, kAny);
  t.add("stablehlo.while", kAny, convertWhile, kAny);
  t.add("stablehlo.if", 1, convertBranch, kAny);
  t.add("stablehlo.case", 1, convertBranch, kAny);
}
