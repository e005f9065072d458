//===- Evaluate.cpp - Interprets a few ops of a function ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Raise/Evaluate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Interfaces/Limits.h"
#include "tessera/Interpreter/Interpreter.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

/// The most ops that a constant is computed from, and the most elements of each
/// tensor.
static constexpr size_t kMaxSources = 256;
static constexpr int64_t kMaxElementsOfConstants = int64_t(1) << 24;

static bool hasFewElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !tensor ||
         (tensor.hasStaticShape() && !isTooLarge(tensor.getShape()) &&
          tensor.getNumElements() <= kMaxElementsOfConstants);
}

interp::TensorRef tessera::evaluate(ArrayRef<Operation *> ops, Value root) {
  for (Operation *op : ops)
    if (!llvm::all_of(op->getResultTypes(), hasFewElements))
      return nullptr;
  MLIRContext *context = root.getContext();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder builder(module->getBodyRegion());
  auto function =
      func::FuncOp::create(builder, module->getLoc(), "value",
                           builder.getFunctionType({}, root.getType()));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  func::ReturnOp::create(builder, module->getLoc(), mapping.lookup(root));
  // Leaves a value as it is if it cannot be computed (a division by zero).
  ScopedDiagnosticHandler silence(context, [](Diagnostic &) {});
  auto results = interp::interpret(function, {interp::RankTensors()});
  return failed(results) ? nullptr : results->front().front();
}

/// The ops that a value is computed from, in no order; none if the value does
/// not depend on constants alone.
static std::optional<SmallVector<Operation *>> findSources(Value value) {
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> left{value};
  while (!left.empty()) {
    Operation *op = left.pop_back_val().getDefiningOp();
    if (!op || op->getNumRegions() != 0 || !isPure(op) ||
        needed.size() > kMaxSources)
      return std::nullopt;
    if (needed.insert(op))
      llvm::append_range(left, op->getOperands());
  }
  return needed.takeVector();
}

bool tessera::followsFromConstants(Value value) {
  return findSources(value).has_value();
}

dist::ConstraintOp tessera::findConstraint(Value value) {
  std::optional<SmallVector<Operation *>> ops = findSources(value);
  if (ops)
    for (Operation *op : *ops)
      if (auto constraint = dyn_cast<dist::ConstraintOp>(op))
        return constraint;
  return {};
}

interp::TensorRef tessera::evaluateConstant(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return nullptr;
  std::optional<SmallVector<Operation *>> ops = findSources(value);
  if (!ops)
    return nullptr;
  llvm::sort(*ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return evaluate(*ops, value);
}

DenseElementsAttr tessera::toAttribute(const interp::Tensor &tensor) {
  const interp::ElementType &element = tensor.getElementType();
  auto type = RankedTensorType::get(tensor.getShape(), element.getType());
  if (element.getType().isF32()) {
    // Handles most constants without an attribute per element.
    SmallVector<float> numbers;
    for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
      numbers.push_back(static_cast<float>(tensor[i].f));
    return DenseElementsAttr::get(type, ArrayRef(numbers));
  }
  SmallVector<Attribute> values;
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i)
    values.push_back(
        element.isFloat()
            ? Attribute(FloatAttr::get(element.getType(), tensor[i].f))
            : IntegerAttr::get(element.getType(),
                               APInt(element.getWidth(),
                                     static_cast<uint64_t>(tensor[i].i), false,
                                     true)));
  return DenseElementsAttr::get(type, values);
}
