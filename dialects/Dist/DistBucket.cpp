//===- DistBucket.cpp - Several collectives as one ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the members of dist.bucket. Each member's op defines its own effect;
// the expansion of the bucket merges them.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

SmallVector<CollectiveOpInterface> BucketOp::getMembers() {
  SmallVector<CollectiveOpInterface> members;
  for (Operation &op : getBody().front().without_terminator())
    members.push_back(cast<CollectiveOpInterface>(op));
  return members;
}

/// The reduction of a collective; none for one that moves whole elements.
static std::optional<dist::ReductionKind> getReduction(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return reduce.getKind();
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getKind();
  return std::nullopt;
}

/// Checks C3 for one member against the first.
static LogicalResult verifyAlike(BucketOp bucket, CollectiveOpInterface first,
                                 CollectiveOpInterface member) {
  if (!isa<AllReduceOp, ReduceScatterOp, AllGatherOp>(member))
    return bucket.emitOpError("(C3) expects all-reduces, reduce-scatters or "
                              "all-gathers but got ")
           << member->getName();
  if (member->getName() != first->getName())
    return bucket.emitOpError("(C3) expects members of one kind but got ")
           << first->getName() << " and " << member->getName();
  if (member.getAxes() != first.getAxes() ||
      member.getMeshAttr() != first.getMeshAttr())
    return bucket.emitOpError("(C3) expects members over one set of axes but "
                              "got ")
           << first.getAxes() << " and " << member.getAxes();
  if (getReduction(member) != getReduction(first))
    return bucket.emitOpError("(C3) expects members of one reduction");
  Type mine = getElementTypeOrSelf(member->getOperand(0)),
       others = getElementTypeOrSelf(first->getOperand(0));
  if (mine != others)
    return bucket.emitOpError("(C3) expects members of one element type but "
                              "got ")
           << others << " and " << mine;
  return success();
}

LogicalResult BucketOp::verifyRegions() {
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.back());
  size_t count = getInputs().size();
  if (!yield || count == 0 || block.getNumArguments() != count ||
      yield.getNumOperands() != count ||
      llvm::range_size(block.without_terminator()) != count)
    return emitOpError("(C1) expects a region with one collective of each "
                       "operand, at least one, and a dist.yield");
  for (auto [i, op] : llvm::enumerate(block.without_terminator())) {
    auto member = dyn_cast<CollectiveOpInterface>(op);
    if (!member || member.getFromAttr() ||
        op.getOperand(0) != block.getArgument(i) ||
        yield.getOperand(i) != op.getResult(0))
      return emitOpError("(C1) expects a local collective of the region's "
                         "argument ")
             << i << " and a dist.yield of its result";
    if (failed(verifyAlike(*this, cast<CollectiveOpInterface>(block.front()),
                           member)))
      return failure();
  }
  if (block.getArgumentTypes() != getInputs().getTypes() ||
      yield.getOperandTypes() != getResultTypes())
    return emitOpError("(C2) expects the region to take ")
           << getInputs().getTypes() << " and to yield " << getResultTypes()
           << " but got " << block.getArgumentTypes() << " and "
           << yield.getOperandTypes();
  return success();
}
