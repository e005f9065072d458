//===- ValueNumbers.cpp - Value numbering of ops --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValueNumbers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

unsigned ValueNumbers::get(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, count);
  count += isNew;
  return it->second;
}

SmallVector<unsigned> ValueNumbers::getSorted(ValueRange values) {
  SmallVector<unsigned> sorted =
      llvm::map_to_vector(values, [&](Value value) { return get(value); });
  llvm::sort(sorted);
  return sorted;
}

void ValueNumbers::add(Block &block) {
  for (Operation &op : block)
    add(&op);
}

bool ValueNumbers::isEqual(Operation *a, Operation *b) {
  // Maps values in the regions of a to values in the regions of b.
  llvm::DenseMap<Value, Value> inner;
  return OperationEquivalence::isEquivalentTo(
      a, b,
      [&](Value left, Value right) {
        auto it = inner.find(left);
        return success(it != inner.end() ? it->second == right
                                         : get(left) == get(right));
      },
      [&](Value left, Value right) { inner[left] = right; },
      OperationEquivalence::IgnoreLocations);
}

void ValueNumbers::add(Operation *op) {
  if (!added.try_emplace(op, true).second || !isMemoryEffectFree(op))
    return;
  size_t hash = OperationEquivalence::computeHash(
      op, [&](Value value) { return llvm::hash_value(get(value)); },
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
  auto &candidates = byHash[hash];
  for (Operation *other : candidates)
    if (isEqual(other, op)) {
      for (auto [mine, theirs] :
           llvm::zip_equal(op->getResults(), other->getResults()))
        numbers[mine] = get(theirs);
      return;
    }
  candidates.push_back(op);
}
