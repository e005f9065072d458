//===- MixedPrecision.cpp - Copies a forward pass in narrower types -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MixedPrecision.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Verifier.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"

using namespace mlir;
using namespace tessera;

static Type withElement(Type type, Type element) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(element);
  return element;
}

/// Verifies one op without diagnostics.
static bool isValid(Operation *op) {
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  return succeeded(mlir::verify(op, /*verifyRecursively=*/false));
}

namespace {
/// Copies one op.
class OpCopy {
public:
  OpCopy(OpBuilder &builder, Operation *op, const BatchSplit &split,
         IRMapping &mapping)
      : builder(builder), op(op), split(split), mapping(mapping) {}

  LogicalResult run();

private:
  std::pair<Type, Type> getNarrowing() const;
  void fit(Operation *copy, ArrayRef<Type> wideTypes,
           ArrayRef<Type> narrowTypes) const;
  FailureOr<Operation *> clone(ValueRange operands, ArrayRef<Type> types);

  OpBuilder &builder;
  Operation *op;
  const BatchSplit &split;
  IRMapping &mapping;
};
} // namespace

FailureOr<Operation *> OpCopy::clone(ValueRange operands,
                                     ArrayRef<Type> types) {
  if (auto iface = dyn_cast<ShardingRuleOpInterface>(op))
    return iface.cloneWithShapes(builder, operands, types);
  return cloneWithTypes(builder, op, operands, types);
}

/// The float type that operands had, and the one that some have now; null if
/// none has changed.
std::pair<Type, Type> OpCopy::getNarrowing() const {
  for (Value operand : op->getOperands()) {
    Type was = getElementTypeOrSelf(operand.getType());
    Type is = getElementTypeOrSelf(mapping.lookup(operand).getType());
    if (was != is)
      return {was, is};
  }
  return {};
}

static void setResultTypes(Operation *op, ArrayRef<Type> types) {
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    result.setType(type);
}

/// Adapts a copy whose operands and results are narrow. Losses and similar
/// results keep their width, and so do those of an op that says so. An op that
/// takes operands of several types, such as x and gates in f32, gets them as
/// they are.
void OpCopy::fit(Operation *copy, ArrayRef<Type> wideTypes,
                 ArrayRef<Type> narrowTypes) const {
  if (!op->hasAttr(nn::NNDialect::kWideAttr) && isValid(copy))
    return;
  setResultTypes(copy, wideTypes);
  if (isValid(copy))
    return;
  SmallVector<Value> cast(copy->getOperands()), own;
  for (Value operand : op->getOperands())
    own.push_back(mapping.lookup(operand));
  copy->setOperands(own);
  setResultTypes(copy, narrowTypes);
  if (isValid(copy))
    return;
  copy->setOperands(cast);
  setResultTypes(copy, wideTypes);
}

LogicalResult OpCopy::run() {
  auto [wide, narrow] = getNarrowing();
  // Losses are summed in their original type.
  if (wide && llvm::any_of(op->getResults(),
                           [&](Value value) { return split.isSum(value); }))
    std::swap(wide, narrow);
  ElementwiseBuilder b{builder, op->getLoc()};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(mapping.lookup(operand));
    if (wide && getElementTypeOrSelf(operands.back().getType()) == wide)
      operands.back() = b.cast(operands.back(), narrow);
  }
  SmallVector<Type> types, narrowTypes;
  for (Value result : op->getResults()) {
    types.push_back(split.getType(result));
    bool changes = wide && getElementTypeOrSelf(types.back()) == wide;
    narrowTypes.push_back(changes ? withElement(types.back(), narrow)
                                  : types.back());
  }
  FailureOr<Operation *> copy = clone(operands, narrowTypes);
  if (failed(copy))
    return op->emitOpError(
        "expects a batch that can be split into micro-batches");
  if (wide)
    fit(*copy, types, narrowTypes);
  for (Region &region : (*copy)->getRegions())
    region.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
    });
  for (auto [from, to] : llvm::zip(op->getResults(), (*copy)->getResults()))
    mapping.map(from, to);
  return success();
}

LogicalResult tessera::copyForward(OpBuilder &builder, const BatchSplit &split,
                                   IRMapping &mapping) {
  for (Operation *op : split.getOps())
    if (failed(OpCopy(builder, op, split, mapping).run()))
      return failure();
  return success();
}
