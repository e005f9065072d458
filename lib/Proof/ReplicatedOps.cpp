//===- ReplicatedOps.cpp - Regions that run whole on each device ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplicatedOps.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tessera;

/// True if it is, or contains, an op that differs between devices, or whose
/// name does not fully determine it.
static bool hasPlaces(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool isPlace =
            isa_and_nonnull<dist::DistDialect>(inner->getDialect()) ||
            isa<CallOpInterface>(inner);
        return isPlace ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether every device has all of the value, including any padding.
static bool isWhole(Value value, const StateMap &states) {
  const ShardState *found = states.findWithEnds(value);
  if (!found)
    return false;
  const ShardState &state = *found;
  return !state.isPartial() && state.share == 1 && state.value >= 0 &&
         !findOtherEnd(state, value.getType()) &&
         llvm::all_of(state.dims, [](const DimState &dim) {
           return dim.uniform || dim.placement == Placements::kWhole;
         });
}

/// True if all inputs are the same on each device; needs no reference.
static bool isReplicatedAlone(Operation *op, const ReferenceValues &reference,
                              const StateMap &states) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  auto whole = [&](Value value) {
    return isWhole(value, states) &&
           reference.getValue(states.getNumber(value)).type == value.getType();
  };
  return llvm::all_of(op->getOperands(), whole) &&
         llvm::all_of(captured, whole);
}

/// The op of the reference that equals `op` on whole values; null if there is
/// none.
static const ReferenceOp *findReplicated(Operation *op,
                                         const ReferenceValues &reference,
                                         const StateMap &states) {
  SmallVector<int, 4> numbers;
  for (Value operand : op->getOperands())
    numbers.push_back(states.getNumber(operand));
  // A value of the reference's type has no padding.
  auto isSame = [&](Value mine, Value theirs) {
    return mine.getType() == theirs.getType() && isWhole(mine, states) &&
           states.getNumber(mine) == reference.lookup(theirs);
  };
  for (unsigned index :
       reference.find(op->getName(), op->getOperands(), numbers)) {
    const ReferenceOp &target = reference.getOp(index);
    bool isAlike = target.op->getName() == op->getName() &&
                   target.op->getNumOperands() == op->getNumOperands() &&
                   target.op->getNumRegions() == op->getNumRegions() &&
                   target.op->getResultTypes() == op->getResultTypes() &&
                   haveSameProperties(target.op, op);
    if (!isAlike ||
        !llvm::all_of_zip(op->getOperands(), target.op->getOperands(), isSame))
      continue;
    if (llvm::all_of_zip(op->getRegions(), target.op->getRegions(),
                         [&](Region &mine, Region &theirs) {
                           return isSameRegion(
                               mine, theirs, isSame, [&](Operation *inner) {
                                 return reference.wasDecomposedInto(inner);
                               });
                         }))
      return &target;
  }
  return nullptr;
}

std::optional<SmallVector<ShardState>>
tessera::matchReplicated(Operation *op, ReferenceValues &reference,
                         const StateMap &states, bool isAlone) {
  if (op->getNumRegions() == 0 || isa<ShardingRuleOpInterface>(op) ||
      !isMemoryEffectFree(op) || hasPlaces(op))
    return std::nullopt;
  const ReferenceOp *target =
      isAlone ? nullptr : findReplicated(op, reference, states);
  if (isAlone ? !isReplicatedAlone(op, reference, states) : !target)
    return std::nullopt;
  SmallVector<ShardState> made(op->getNumResults());
  for (auto [i, result, state] : llvm::enumerate(op->getResults(), made)) {
    state.value = target ? target->results[i]
                         : reference.addValue(result.getType(), op->getLoc());
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      state.dims.resize(type.getRank());
  }
  return made;
}
