//===- BucketRewrite.cpp - Collectives become one bucket ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketRewrite.h"
#include "dialects/Dist/Dist.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tessera;

void tessera::forEachRead(Operation *op,
                          llvm::function_ref<void(Value)> callback) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      callback(operand);
  });
}

void tessera::joinAsBucket(ArrayRef<Operation *> members) {
  Block &block = *members.front()->getBlock();
  Operation *first = members.front(), *lastReady = nullptr;
  for (Operation *op : members) {
    if (op->isBeforeInBlock(first))
      first = op;
    Operation *made = op->getOperand(0).getDefiningOp();
    if (made && made->getBlock() == &block &&
        (!lastReady || lastReady->isBeforeInBlock(made)))
      lastReady = made;
  }
  bool isReady = !lastReady || lastReady->isBeforeInBlock(first);
  llvm::SmallPtrSet<Operation *, 16> late(members.begin(), members.end());
  SmallVector<Operation *> moved;
  for (Operation *op = isReady ? nullptr : first; op;
       op = op == lastReady ? nullptr : op->getNextNode()) {
    bool isLate = false;
    forEachRead(op, [&](Value value) {
      isLate |= late.contains(value.getDefiningOp());
    });
    if (isLate && late.insert(op).second)
      moved.push_back(op);
  }

  OpBuilder builder(block.getParentOp()->getContext());
  if (isReady)
    builder.setInsertionPoint(first);
  else
    builder.setInsertionPointAfter(lastReady);
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
  for (Operation *op : moved) {
    op->moveAfter(last);
    last = op;
  }
  for (auto [op, result] : llvm::zip_equal(members, bucket.getResults())) {
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}
