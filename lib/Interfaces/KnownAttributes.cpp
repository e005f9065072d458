//===- KnownAttributes.cpp - A dialect's discardable attributes -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/KnownAttributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

AttributePosition AttributePosition::onOp(Operation *op) {
  AttributeHolder holder = isa<ModuleOp>(op)              ? kOnModule
                           : isa<FunctionOpInterface>(op) ? kOnFunction
                                                          : kOnOperation;
  return {op, holder, 0, Type()};
}

std::optional<AttributePosition> AttributePosition::onArgument(Operation *op,
                                                               unsigned index) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return std::nullopt;
  return AttributePosition{op, kOnArgument, index,
                           func.getArgumentTypes()[index]};
}

std::optional<AttributePosition> AttributePosition::onResult(Operation *op,
                                                             unsigned index) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return std::nullopt;
  return AttributePosition{op, kOnResult, index, func.getResultTypes()[index]};
}

static StringRef stringify(AttributeHolder holder) {
  switch (holder) {
  case kOnModule:
    return "a module";
  case kOnFunction:
    return "a function";
  case kOnOperation:
    return "an operation";
  case kOnArgument:
    return "an argument";
  case kOnResult:
    return "a result";
  }
  return "an operation";
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Returns the first of the nearest `known` names at any distance; "" if
/// `known` is empty.
static StringRef findNearest(StringRef name, ArrayRef<StringRef> known) {
  StringRef best;
  unsigned bestDistance = ~0u;
  for (StringRef candidate : known)
    if (unsigned distance = name.edit_distance(candidate);
        distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  return best;
}

/// Reports an attribute that is not allowed at its position.
static LogicalResult reportUnknown(ArrayRef<KnownAttribute> known,
                                   const AttributePosition &position,
                                   StringRef name) {
  InFlightDiagnostic error = position.op->emitError();
  if (position.holder == kOnArgument)
    error << "argument " << position.index << ": ";
  if (position.holder == kOnResult)
    error << "result " << position.index << ": ";
  error << "expects no attribute '" << name << "' on "
        << stringify(position.holder);
  SmallVector<StringRef> allowed;
  for (const KnownAttribute &entry : known) {
    if (entry.holders & position.holder)
      allowed.push_back(entry.name);
    if (entry.name != name)
      continue;
    SmallVector<StringRef> holders;
    for (unsigned bit = kOnModule; bit <= kOnResult; bit *= 2)
      if (entry.holders & bit)
        holders.push_back(stringify(static_cast<AttributeHolder>(bit)));
    error << "; it belongs on ";
    llvm::interleave(holders, error, " or ");
  }
  if (StringRef nearest = findNearest(name, allowed); !nearest.empty())
    error << "; the nearest one known there is '" << nearest << "'";
  return error;
}

LogicalResult
tessera::verifyKnownAttribute(ArrayRef<KnownAttribute> known,
                              const std::optional<AttributePosition> &position,
                              NamedAttribute attr) {
  if (!position)
    return success();
  for (const KnownAttribute &entry : known)
    if (entry.name == attr.getName() && (entry.holders & position->holder))
      return entry.verify(*position, attr);
  return reportUnknown(known, *position, attr.getName());
}

bool tessera::isFirstWith(const AttributePosition &position,
                          ArrayRef<StringRef> names) {
  auto func = cast<FunctionOpInterface>(position.op);
  for (unsigned i = 0; i < position.index; ++i)
    for (StringRef name : names)
      if (position.holder == kOnArgument ? func.getArgAttr(i, name)
                                         : func.getResultAttr(i, name))
        return false;
  return true;
}

static LogicalResult report(const AttributePosition &position,
                            NamedAttribute attr, StringRef expected) {
  return position.op->emitError() << attr.getName().getValue() << ": expects "
                                  << expected << " but got " << attr.getValue();
}

LogicalResult tessera::expectUnit(const AttributePosition &position,
                                  NamedAttribute attr) {
  return isa<UnitAttr>(attr.getValue())
             ? success()
             : report(position, attr, "a unit attribute");
}

LogicalResult tessera::expectString(const AttributePosition &position,
                                    NamedAttribute attr) {
  return isa<StringAttr>(attr.getValue()) ? success()
                                          : report(position, attr, "a name");
}

LogicalResult tessera::expectInteger(const AttributePosition &position,
                                     NamedAttribute attr) {
  return isa<IntegerAttr>(attr.getValue())
             ? success()
             : report(position, attr, "an integer");
}
