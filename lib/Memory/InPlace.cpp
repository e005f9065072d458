//===- InPlace.cpp - Results that overwrite an operand --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBlocks.h"
#include "dialects/RT/RT.h"

using namespace mlir;
using namespace tessera;

/// Stores a result over an operand that dies here, if the op allows it.
bool StepBlocks::reuse(Operation &op, unsigned result) {
  auto iface = dyn_cast<rt::ReuseOpInterface>(op);
  if (!iface || !reuses)
    return false;
  Value value = op.getResult(result);
  int64_t bytes =
      rt::getTensorBytes(cast<RankedTensorType>(value.getType())) + canary;
  for (OpOperand &operand : op.getOpOperands()) {
    if (!iface.mayReuse(result, operand.getOperandNumber()))
      continue;
    unsigned block = blockOf.lookup(operand.get());
    ArenaBlock &taken = problem.blocks[block];
    bool isShared = llvm::any_of(op.getOpOperands(), [&](OpOperand &other) {
      return &other != &operand && blockOf.count(other.get()) &&
             blockOf.lookup(other.get()) == block;
    });
    bool isTaken = llvm::any_of(op.getResults(), [&](Value other) {
      return blockOf.count(other) && blockOf.lookup(other) == block;
    });
    if (taken.end != position.lookup(&op) || taken.bytes != bytes || isShared ||
        isTaken)
      continue;
    taken.end = std::max(taken.end, lastUse(value));
    setBlock(value, block);
    return true;
  }
  return false;
}

/// Lets an all-reduce overwrite its source if nothing reads that later.
bool StepBlocks::reduceInPlace(dist::StartOp start, dist::WaitOp wait) {
  if (!isa<dist::AllReduceOp>(start.getBody().front().front()) || !reuses)
    return false;
  unsigned block = blockOf.lookup(start.getInput());
  ArenaBlock &taken = problem.blocks[block];
  int64_t bytes =
      rt::getTensorBytes(cast<RankedTensorType>(start.getInput().getType())) +
      canary;
  if (taken.end != position.lookup(wait) || taken.bytes != bytes || bytes == 0)
    return false;
  // Nothing else reads the block while the collective runs.
  for (Value value : valuesIn[block])
    for (Operation *user : value.getUsers())
      if (user != wait && user != start &&
          position.lookup(user) > position.lookup(start))
        return false;
  taken.end = std::max(taken.end, lastUse(wait.getResult()));
  setBlock(wait.getResult(), block);
  return true;
}
