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
// Places
//===----------------------------------------------------------------------===//

AttributePlace AttributePlace::onOp(Operation *op) {
  AttributeHolder holder = isa<ModuleOp>(op)              ? kOnModule
                           : isa<FunctionOpInterface>(op) ? kOnFunction
                                                          : kOnOperation;
  return {op, holder, 0, Type()};
}

std::optional<AttributePlace> AttributePlace::onArgument(Operation *op,
                                                         unsigned index) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return std::nullopt;
  return AttributePlace{op, kOnArgument, index, func.getArgumentTypes()[index]};
}

std::optional<AttributePlace> AttributePlace::onResult(Operation *op,
                                                       unsigned index) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return std::nullopt;
  return AttributePlace{op, kOnResult, index, func.getResultTypes()[index]};
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

/// The first of the nearest `known` names, however far; "" of none.
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

/// An attribute that may not be where it is.
static LogicalResult reportUnknown(ArrayRef<KnownAttribute> known,
                                   const AttributePlace &place,
                                   StringRef name) {
  InFlightDiagnostic error = place.op->emitError();
  if (place.holder == kOnArgument)
    error << "argument " << place.index << ": ";
  if (place.holder == kOnResult)
    error << "result " << place.index << ": ";
  error << "expects no attribute '" << name << "' on "
        << stringify(place.holder);
  SmallVector<StringRef> allowed;
  for (const KnownAttribute &entry : known) {
    if (entry.holders & place.holder)
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
                              const std::optional<AttributePlace> &place,
                              NamedAttribute attr) {
  if (!place)
    return success();
  for (const KnownAttribute &entry : known)
    if (entry.name == attr.getName() && (entry.holders & place->holder))
      return entry.verify(*place, attr);
  return reportUnknown(known, *place, attr.getName());
}

bool tessera::isFirstWith(const AttributePlace &place,
                          ArrayRef<StringRef> names) {
  auto func = cast<FunctionOpInterface>(place.op);
  for (unsigned i = 0; i < place.index; ++i)
    for (StringRef name : names)
      if (place.holder == kOnArgument ? func.getArgAttr(i, name)
                                      : func.getResultAttr(i, name))
        return false;
  return true;
}

static LogicalResult report(const AttributePlace &place, NamedAttribute attr,
                            StringRef expected) {
  return place.op->emitError() << attr.getName().getValue() << ": expects "
                               << expected << " but got " << attr.getValue();
}

LogicalResult tessera::expectUnit(const AttributePlace &place,
                                  NamedAttribute attr) {
  return isa<UnitAttr>(attr.getValue())
             ? success()
             : report(place, attr, "a unit attribute");
}

LogicalResult tessera::expectString(const AttributePlace &place,
                                    NamedAttribute attr) {
  return isa<StringAttr>(attr.getValue()) ? success()
                                          : report(place, attr, "a name");
}

LogicalResult tessera::expectInteger(const AttributePlace &place,
                                     NamedAttribute attr) {
  return isa<IntegerAttr>(attr.getValue()) ? success()
                                           : report(place, attr, "an integer");
}
