//===- BucketRewrite.cpp - Replaces collectives by one bucket -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketRewrite.h"
#include "dialects/Dist/Dist.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tessera;

void tessera::forEachRead(Operation *op,
                          llvm::function_ref<void(Value)> callback) {
  for (Value operand : op->getOperands())
    callback(operand);
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        callback(operand);
    });
}

namespace {
/// The position of the merged collective, and the ops that follow it.
struct BucketMove {
  /// The first of the collectives.
  Operation *first = nullptr;
  /// The last op that computes an operand of the collectives; null if all
  /// operands are ready before the first collective.
  Operation *lastReady = nullptr;
  /// Ops before `lastReady` that need a result, in order.
  SmallVector<Operation *> moved;
};
} // namespace

/// Calls `callback` with the ops of `block` that read results of `op`, or whose
/// bodies do.
static void forEachReader(Operation *op, Block &block,
                          llvm::function_ref<void(Operation *)> callback) {
  for (Operation *user : op->getUsers())
    if (Operation *reader = block.findAncestorOpInBlock(*user))
      callback(reader);
}

/// Finds the ops up to `last` that need results of `members`, directly or
/// through others, in order. Returns false if one of them has effects.
static bool findReaders(ArrayRef<Operation *> members, Operation *last,
                        SmallVectorImpl<Operation *> &found) {
  Block &block = *last->getBlock();
  llvm::SmallPtrSet<Operation *, 16> late(members.begin(), members.end());
  SmallVector<Operation *> rest(members);
  while (!rest.empty())
    forEachReader(rest.pop_back_val(), block, [&](Operation *reader) {
      if (last->isBeforeInBlock(reader) || !late.insert(reader).second)
        return;
      found.push_back(reader);
      rest.push_back(reader);
    });
  llvm::sort(found,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return llvm::all_of(found,
                      [](Operation *op) { return isMemoryEffectFree(op); });
}

/// Finds the same ops in a program where one of them has effects: ops with
/// effects, such as exchanges between pp ranks, keep their order.
static void findReadersInOrder(ArrayRef<Operation *> members, Operation *first,
                               Operation *last,
                               SmallVectorImpl<Operation *> &found) {
  llvm::SmallPtrSet<Operation *, 16> late(members.begin(), members.end());
  bool movesEffects = false;
  for (Operation *op = first; op;
       op = op == last ? nullptr : op->getNextNode()) {
    bool isLate = false;
    forEachRead(op, [&](Value value) {
      isLate = isLate || late.contains(value.getDefiningOp());
    });
    // Most ops are neither late nor after a moved effect: few are asked.
    bool hasEffects = (isLate || movesEffects) && !isMemoryEffectFree(op);
    if (!(isLate || hasEffects) || !late.insert(op).second)
      continue;
    found.push_back(op);
    movesEffects |= hasEffects;
  }
}

static BucketMove findMove(ArrayRef<Operation *> members) {
  Block &block = *members.front()->getBlock();
  BucketMove move;
  move.first = members.front();
  for (Operation *op : members) {
    if (op->isBeforeInBlock(move.first))
      move.first = op;
    Operation *made = op->getOperand(0).getDefiningOp();
    if (made && made->getBlock() == &block &&
        (!move.lastReady || move.lastReady->isBeforeInBlock(made)))
      move.lastReady = made;
  }
  if (!move.lastReady || move.lastReady->isBeforeInBlock(move.first)) {
    move.lastReady = nullptr;
    return move;
  }
  if (!findReaders(members, move.lastReady, move.moved)) {
    move.moved.clear();
    findReadersInOrder(members, move.first, move.lastReady, move.moved);
  }
  return move;
}

int64_t tessera::getKeptBytes(ArrayRef<Operation *> members) {
  BucketMove move = findMove(members);
  if (move.moved.empty())
    return 0;
  Block &block = *members.front()->getBlock();
  llvm::SmallPtrSet<Operation *, 16> late(members.begin(), members.end());
  late.insert(move.moved.begin(), move.moved.end());
  auto isDeadBefore = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      Operation *here = block.findAncestorOpInBlock(*user);
      return late.contains(here) || here->isBeforeInBlock(move.lastReady);
    });
  };
  llvm::SmallPtrSet<Value, 16> kept;
  double bytes = 0;
  for (Operation *op : move.moved)
    forEachRead(op, [&](Value value) {
      Operation *made = value.getDefiningOp();
      if (made && made->getBlock() == &block && !late.contains(made) &&
          isDeadBefore(value) && kept.insert(value).second)
        bytes += getTensorBytes(value.getType());
    });
  return static_cast<int64_t>(bytes);
}

void tessera::joinAsBucket(ArrayRef<Operation *> members) {
  Block &block = *members.front()->getBlock();
  BucketMove move = findMove(members);
  OpBuilder builder(block.getParentOp()->getContext());
  if (move.lastReady)
    builder.setInsertionPointAfter(move.lastReady);
  else
    builder.setInsertionPoint(move.first);
  SmallVector<Value> inputs, results;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (Operation *op : members) {
    inputs.push_back(op->getOperand(0));
    types.push_back(op->getResult(0).getType());
    locations.push_back(op->getLoc());
  }
  Location loc = builder.getFusedLoc(locations);
  auto bucket = dist::BucketOp::create(builder, loc, types, inputs);
  Block *body = builder.createBlock(&bucket.getBody(), {},
                                    ValueRange(inputs).getTypes(), locations);
  for (auto [i, op] : llvm::enumerate(members)) {
    IRMapping mapping;
    mapping.map(inputs[i], body->getArgument(i));
    results.push_back(builder.clone(*op, mapping)->getResult(0));
  }
  dist::YieldOp::create(builder, loc, results);
  Operation *last = bucket;
  for (Operation *op : move.moved) {
    op->moveAfter(last);
    last = op;
  }
  for (auto [op, result] : llvm::zip_equal(members, bucket.getResults())) {
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}
