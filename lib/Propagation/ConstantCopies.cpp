//===- ConstantCopies.cpp - Copies constants for each use -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A constant that two ops share would tie their shardings to each other,
// although every device can compute it for itself. So each use of an op that is
// built from constants alone gets its own copy of that op and its constants:
//
//     c --> d --> x, y      becomes     c --> d --> x     c' --> d' --> y
//
// Copies double with each op of a chain that uses its predecessor twice, so an
// op that would need more than kMostCopies copies stays shared.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Interfaces/RuleInputs.h"
#include "tessera/Propagation/ProblemBuilder.h"

using namespace mlir;
using namespace tessera;

/// The most copies of an op that is built from constants.
static constexpr size_t kMostCopies = 1024;

/// True if the op makes a tensor from `constants` and scalars alone, at a cost
/// proportional to the size of its result.
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
  // Accepts fills, broadcasts and casts, but no reductions.
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

/// The uses of an op that need a copy each, in program order: an op that reads
/// the same dimensions of one value several times needs one for all.
static std::vector<SmallVector<OpOperand *, 1>> groupUses(Operation *op) {
  std::vector<SmallVector<OpOperand *, 1>> groups;
  // The list of uses starts with the newest.
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op->getUses())
    uses.push_back(&use);
  auto isSame = [](OpOperand *use, OpOperand *other) {
    Operation *user = use->getOwner();
    if (user != other->getOwner() || !isa<ShardingRuleOpInterface>(user) ||
        user->getNumRegions() != 0)
      return false;
    ShardingRule rule = getShardingRule(user);
    unsigned a = use->getOperandNumber(), b = other->getOperandNumber();
    return std::max(a, b) < rule.operands.size() &&
           rule.operands[a] == rule.operands[b];
  };
  for (OpOperand *use : llvm::reverse(uses)) {
    if (!groups.empty() && isSame(groups.back().front(), use))
      groups.back().push_back(use);
    else
      groups.push_back({use});
  }
  return groups;
}

/// The ops of a block that are copied, in program order.
static SmallVector<Operation *> findConstants(Block &block) {
  DenseSet<Operation *> constants;
  SmallVector<Operation *> ordered, kept;
  for (Operation &op : block)
    if (makesConstant(&op, constants)) {
      constants.insert(&op);
      ordered.push_back(&op);
    }
  llvm::DenseMap<Operation *, size_t> needed;
  for (Operation *op : llvm::reverse(ordered)) {
    size_t count = 0;
    for (const auto &group : groupUses(op)) {
      auto user = needed.find(group.front()->getOwner());
      count += user == needed.end() ? 1 : user->second;
    }
    bool isMade = llvm::any_of(getRuleInputs(op), [](Value operand) {
      return isa<RankedTensorType>(operand.getType());
    });
    if (isMade && count > kMostCopies)
      continue;
    needed[op] = count;
    kept.push_back(op);
  }
  return SmallVector<Operation *>(llvm::reverse(kept));
}

void ConstantCopies::split(Block &block) {
  SmallVector<Operation *> ordered = findConstants(block);
  for (Operation *op : ordered)
    copies[op].push_back(op);
  // Visits users before their operands, so that a copied fill copies its tensor
  // too.
  for (Operation *op : llvm::reverse(ordered)) {
    std::vector<SmallVector<OpOperand *, 1>> groups = groupUses(op);
    if (groups.empty())
      continue;
    for (const auto &group : llvm::drop_begin(groups)) {
      OpBuilder builder(op);
      builder.setInsertionPointAfter(copies[op].back());
      Operation *copy = builder.clone(*op);
      for (OpOperand *use : group)
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
