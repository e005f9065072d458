//===- DimClasses.cpp - Classes of equal dimensions -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DimClasses.h"

#include "tessera/Interfaces/ShardingRuleOpInterface.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tessera;

unsigned tessera::getMajorFactor(const ShardingRule &rule,
                                 const DimFactors &factors) {
  const unsigned *major = llvm::find_if(
      factors, [&](unsigned factor) { return rule.factors[factor].size > 1; });
  return major == factors.end() ? factors.front() : *major;
}

void DimClasses::add(Value value) {
  if (RankedTensorType type = findTensorType(value)) {
    first[value] = count;
    count += type.getRank();
  }
}

DimClasses::DimClasses(func::FuncOp function) {
  for (Value argument : function.getArguments())
    add(argument);
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      add(result);
    if (op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
        llvm::all_of(op->getOperands(),
                     [&](Value operand) { return isConstant(operand); }))
      constants.insert(op->result_begin(), op->result_end());
  });
  classes.grow(count);
  function.walk([&](Operation *op) { join(op); });
  classes.compress();
}

void DimClasses::join(Operation *op) {
  bool hasRule = true;
  ShardingRule rule = getShardingRule(op, &hasRule);
  if (!hasRule)
    return;
  llvm::DenseMap<unsigned, unsigned> member;
  auto visit = [&](ValueRange values, ArrayRef<TensorFactors> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors))
      for (auto [dim, factors] : llvm::enumerate(tensor)) {
        auto known = first.find(value);
        if (factors.empty() || known == first.end() || isConstant(value))
          continue;
        unsigned number = known->second + dim;
        auto [other, isNew] =
            member.try_emplace(getMajorFactor(rule, factors), number);
        if (!isNew)
          classes.join(number, other->second);
      }
  };
  visit(op->getOperands(), rule.operands);
  visit(op->getResults(), rule.results);
}
