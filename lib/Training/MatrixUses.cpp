//===- MatrixUses.cpp - Parameters used as matrices -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/MatrixUses.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

/// True if the operand is a matrix for each expert of a grouped matmul: it has
/// no dimension of the tokens.
static bool isOfExperts(Operation *op, const ShardingRule &rule,
                        unsigned number) {
  auto routed = dyn_cast<nn::RoutedOpInterface>(op);
  if (!routed || getOpCost(op).kind != CostKind::GroupedMatmul)
    return false;
  unsigned tokens = nn::ExpertFactors(routed.getIds()).tokens;
  return !rule.operands[number].empty() &&
         llvm::none_of(llvm::seq(0u, tokens), [&](unsigned factor) {
           return hasFactor(rule.operands[number], factor);
         });
}

bool tessera::readsMatrix(OpOperand &use) {
  Operation *op = use.getOwner();
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || op->getNumOperands() < 2)
    return false;
  ShardingRule rule = iface.getShardingRule();
  unsigned number = use.getOperandNumber();
  if (isOfExperts(op, rule, number))
    return true;
  bool hasSum = false, hasOwn = false;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (!hasFactor(rule.operands[number], index))
      continue;
    hasSum |= factor.kind == FactorKind::Reduction &&
              factor.reduction == ::tessera::ReductionKind::Sum &&
              rule.isReduced(index);
    bool isOthers = false;
    for (auto [other, tensor] : llvm::enumerate(rule.operands))
      isOthers |= other != number && hasFactor(tensor, index);
    hasOwn |= !isOthers && !rule.isReduced(index);
  }
  return hasSum && hasOwn;
}

namespace {
/// Values computed from parameters and constants without a matmul.
class OwnValues {
public:
  bool contains(Value value) {
    auto [it, isNew] = known.try_emplace(value, false);
    if (!isNew)
      return it->second;
    bool isOwn = compute(value);
    return known[value] = isOwn;
  }

private:
  bool compute(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto function =
          dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      return function && function.getArgAttr(argument.getArgNumber(),
                                             nn::NNDialect::kParamAttr);
    }
    return llvm::all_of(
        value.getDefiningOp()->getOpOperands(), [&](OpOperand &operand) {
          return contains(operand.get()) && !readsMatrix(operand);
        });
  }

  llvm::DenseMap<Value, bool> known;
};
} // namespace

/// The callee's argument for an operand of a call; null for other ops.
static Value getCalleeArgument(OpOperand &use) {
  auto call = dyn_cast<func::CallOp>(use.getOwner());
  auto callee = call ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                           call, call.getCalleeAttr())
                     : func::FuncOp();
  return callee && !callee.isExternal()
             ? Value(callee.getArgument(use.getOperandNumber()))
             : Value();
}

bool tessera::isMatrix(BlockArgument parameter) {
  if (cast<RankedTensorType>(parameter.getType()).getRank() < 2)
    return false;
  OwnValues own;
  llvm::SetVector<Value> values;
  values.insert(parameter);
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      if (readsMatrix(use))
        return true;
      if (Value argument = getCalleeArgument(use))
        values.insert(argument);
      for (Value result : use.getOwner()->getResults())
        if (isa<RankedTensorType>(result.getType()) && own.contains(result))
          values.insert(result);
    }
  return false;
}

/// Whether each result element depends on few elements of an operand: no
/// dimension of it is reduced.
static bool keepsDims(OpOperand &use) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(use.getOwner());
  if (!iface || use.getOwner()->getNumRegions() != 0)
    return false;
  ShardingRule rule = iface.getShardingRule();
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if ((factor.kind == FactorKind::Reduction ||
         factor.kind == FactorKind::Decomposed) &&
        hasFactor(rule.operands[use.getOperandNumber()], index))
      return false;
  return true;
}

bool tessera::becomesClasses(Value value) {
  llvm::SetVector<Value> values;
  values.insert(value);
  bool isFound = false;
  for (size_t i = 0; i < values.size() && !isFound; ++i)
    for (OpOperand &use : values[i].getUses()) {
      if (auto named = dyn_cast<LogicalDimsOpInterface>(use.getOwner()))
        named.nameDims([&](Value tensor, int64_t, StringRef name) {
          isFound |= tensor == use.get() && name == "vocab";
        });
      if (keepsDims(use))
        values.insert(use.getOwner()->result_begin(),
                      use.getOwner()->result_end());
    }
  return isFound;
}
