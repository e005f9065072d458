//===- KeepBoundaries.cpp - Keeps received values -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//     stage 0    x = f(a)                    x = f(a)
//     stage 1    y = g(x)                    y = g(x)
//     backward   x' = f(a) {recompute}  -->  dy = g'(dz, x)
//                dy = g'(dz, x')
//
//===----------------------------------------------------------------------===//

#include "KeepBoundaries.h"
#include "SumOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;

/// The forward op that a recomputed op is a copy of; null if not found.
/// `originals` maps values of earlier copies to values of the forward.
static Operation *findOriginal(Operation *copy, const IRMapping &originals) {
  SmallVector<Value> operands;
  for (Value operand : copy->getOperands())
    operands.push_back(originals.lookupOrDefault(operand));
  if (operands.empty())
    return nullptr;
  for (Operation *user : operands.front().getUsers())
    if (user->getBlock() == copy->getBlock() && user->isBeforeInBlock(copy) &&
        user->getName() == copy->getName() &&
        !user->hasAttr(dist::DistDialect::kRecomputeAttr) &&
        llvm::equal(user->getOperands(), operands) &&
        user->getResultTypes() == copy->getResultTypes() &&
        user->getPropertiesAsAttribute() == copy->getPropertiesAsAttribute())
      return user;
  return nullptr;
}

static bool isUsedLater(Operation *op, const StageAssignment &stages) {
  return llvm::any_of(op->getUsers(), [&](Operation *inner) {
    Operation *user = op->getBlock()->findAncestorOpInBlock(*inner);
    return stages.getClass(user) == TaskClass::Forward &&
           stages.getStage(user) > stages.getStage(op);
  });
}

void tessera::keepBoundaries(dist::AccumulateOp op,
                             const StageAssignment &stages) {
  Block &body = op.getBody().front();
  IRMapping originals;
  for (Operation &copy : body.without_terminator()) {
    if (!copy.hasAttr(dist::DistDialect::kRecomputeAttr))
      continue;
    Operation *original = findOriginal(&copy, originals);
    if (!original)
      continue;
    for (auto [repeated, value] :
         llvm::zip_equal(copy.getResults(), original->getResults()))
      originals.map(repeated, value);
    if (stages.getClass(original) != TaskClass::Forward ||
        !isUsedLater(original, stages))
      continue;
    copy.replaceAllUsesWith(original);
  }
  removeDead(body);
}
