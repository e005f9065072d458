//===- ConstantCopies.cpp - A copy of a constant for each use -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A constant that two ops share would tie their shardings to each other, for
// the sake of a value that every device can make for itself.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Interfaces/RuleInputs.h"
#include "tessera/Propagation/ProblemBuilder.h"

using namespace mlir;
using namespace tessera;

/// True if the op makes a tensor from `constants` and scalars alone and is no
/// dearer than its result is large.
static bool makesConstant(Operation *op,
                          const DenseSet<Operation *> &constants) {
  if (op->getNumResults() != 1 || !isMemoryEffectFree(op) ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  bool hasTensors = false;
  for (Value operand : getRuleInputs(op)) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    hasTensors = true;
    if (!operand.getDefiningOp() ||
        !constants.contains(operand.getDefiningOp()))
      return false;
  }
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!hasTensors)
    return iface != nullptr;
  // Fills, broadcasts, casts: no sums.
  return iface && llvm::all_of(iface.getShardingRule().factors,
                               [](const Factor &factor) {
                                 return factor.kind == FactorKind::Parallel;
                               });
}

void ConstantCopies::split(ModuleOp module) {
  for (auto func : module.getOps<FunctionOpInterface>())
    if (!func.isExternal())
      for (Block *block : dist::getBlocks(func))
        split(*block);
}

void ConstantCopies::split(Block &block) {
  DenseSet<Operation *> constants;
  SmallVector<Operation *> ordered;
  for (Operation &op : block)
    if (makesConstant(&op, constants)) {
      constants.insert(&op);
      ordered.push_back(&op);
    }
  for (Operation *op : ordered)
    copies[op].push_back(op);
  // Users before what they use, so that a copied fill copies its tensor too.
  for (Operation *op : llvm::reverse(ordered)) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    if (uses.empty())
      continue;
    // The list of uses starts with the newest.
    for (OpOperand *use : llvm::drop_begin(llvm::reverse(uses))) {
      OpBuilder builder(op);
      builder.setInsertionPointAfter(copies[op].back());
      Operation *copy = builder.clone(*op);
      use->set(copy->getResult(0));
      copies[op].push_back(copy);
    }
  }
}

DenseSet<Operation *> ConstantCopies::getAll() const {
  DenseSet<Operation *> all;
  for (const auto &[original, same] : copies)
    all.insert(same.begin(), same.end());
  return all;
}

void ConstantCopies::merge() {
  for (auto &[original, all] : copies) {
    SmallVector<Operation *> kept;
    for (Operation *op : all) {
      Operation **same = llvm::find_if(kept, [&](Operation *other) {
        return op->getOperands() == other->getOperands() &&
               dist::getSharding(op->getResult(0)) ==
                   dist::getSharding(other->getResult(0));
      });
      if (same == kept.end()) {
        kept.push_back(op);
        continue;
      }
      op->getResult(0).replaceAllUsesWith((*same)->getResult(0));
      op->erase();
    }
  }
  copies.clear();
}
