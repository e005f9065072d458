//===- ShardingRuleOpInterface.cpp - The sharding of an op ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Interfaces/RuleInputs.h"

using namespace mlir;
using namespace tessera;

#include "tessera/Interfaces/ShardingRuleOpInterface.cpp.inc"

Operation *tessera::cloneWithTypes(OpBuilder &builder, Operation *op,
                                   ValueRange operands, TypeRange resultTypes) {
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  Operation *clone = builder.clone(*op, mapping);
  clone->setOperands(operands);
  for (auto [result, type] : llvm::zip(clone->getResults(), resultTypes))
    result.setType(type);
  return clone;
}

/// Adds a new factor for each dimension of `type`.
static TensorFactors addDims(ShardingRule &rule, RankedTensorType type,
                             FactorKind kind) {
  TensorFactors dims;
  for (int64_t size : type.getShape())
    dims.push_back({rule.addFactor(size, kind)});
  return dims;
}

ShardingRule tessera::getElementwiseRule(Operation *op) {
  ShardingRule rule;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type) {
    // On scalars, nothing is tied.
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(op->getNumResults());
    return rule;
  }
  TensorFactors dims = addDims(rule, type, FactorKind::Parallel);
  for (Value operand : op->getOperands()) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    bool tied = tensor && tensor.getRank() == type.getRank();
    rule.operands.push_back(tied ? dims : TensorFactors());
  }
  rule.results.assign(op->getNumResults(), dims);
  return rule;
}

SmallVector<Value> tessera::getCapturedTensors(Operation *op) {
  SetVector<Value> captured;
  for (Region &region : op->getRegions())
    visitUsedValuesDefinedAbove(region, region, [&](OpOperand *operand) {
      if (isa<RankedTensorType>(operand->get().getType()))
        captured.insert(operand->get());
    });
  return captured.takeVector();
}

SmallVector<Value> tessera::getRuleInputs(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  if (op->getNumRegions() != 0)
    llvm::append_range(inputs, getCapturedTensors(op));
  return inputs;
}

/// Returns the rule of an op that does not implement the interface.
static ShardingRule getReplicatedRule(Operation *op) {
  ShardingRule rule;
  auto dimsOf = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? addDims(rule, tensor, FactorKind::Replicated)
                  : TensorFactors();
  };
  for (Type type : op->getOperandTypes())
    rule.operands.push_back(dimsOf(type));
  for (Type type : op->getResultTypes())
    rule.results.push_back(dimsOf(type));
  return rule;
}

ShardingRule tessera::getShardingRule(Operation *op, bool *hasRule) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface && hasRule)
    *hasRule = false;
  ShardingRule rule = iface ? iface.getShardingRule() : getReplicatedRule(op);
  if (op->getNumRegions() != 0)
    for (Value captured : getCapturedTensors(op))
      rule.operands.push_back(
          addDims(rule, cast<RankedTensorType>(captured.getType()),
                  FactorKind::Replicated));
  return rule;
}

/// Returns the float that is less (greater, with `isGreatest`) than all others.
static APFloat getExtremeFloat(const llvm::fltSemantics &semantics,
                               bool isGreatest) {
  return APFloat::semanticsHasInf(semantics)
             ? APFloat::getInf(semantics, /*Negative=*/!isGreatest)
             : APFloat::getLargest(semantics, /*Negative=*/!isGreatest);
}

TypedAttr tessera::getNeutralElement(Type element, ReductionKind kind) {
  Builder builder(element.getContext());
  if (kind == ReductionKind::Sum)
    return builder.getZeroAttr(element);
  bool isGreatest = kind == ReductionKind::Min;
  if (auto type = dyn_cast<FloatType>(element))
    return builder.getFloatAttr(
        type, getExtremeFloat(type.getFloatSemantics(), isGreatest));
  unsigned width = element.isIndex() ? IndexType::kInternalStorageBitWidth
                                     : element.getIntOrFloatBitWidth();
  // A boolean's maximum is "or", its minimum "and".
  if (width == 1)
    return builder.getIntegerAttr(element, APInt(1, isGreatest));
  return builder.getIntegerAttr(element, isGreatest
                                             ? APInt::getSignedMaxValue(width)
                                             : APInt::getSignedMinValue(width));
}
