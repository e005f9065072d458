//===- Evaluate.cpp - Interprets a few ops of a function ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Interpreter/Interpreter.h"

using namespace mlir;
using namespace tessera;

interp::TensorRef tessera::evaluate(ArrayRef<Operation *> ops, Value root) {
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
  // What cannot be computed, such as a division by zero, is left as it is.
  ScopedDiagnosticHandler silence(context, [](Diagnostic &) {});
  auto results = interp::interpret(function, {interp::RankTensors()});
  return failed(results) ? nullptr : results->front().front();
}

DenseElementsAttr tessera::toAttribute(const interp::Tensor &tensor) {
  const interp::ElementType &element = tensor.getElementType();
  auto type = RankedTensorType::get(tensor.getShape(), element.getType());
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
