//===- FuseCollectives.cpp - Joins and cancels collectives ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Local rewrites of a local program, each of which moves fewer bytes:
//
//  * an all-reduce whose only uses slice it alike over the same axes is a
//    reduce-scatter;
//  * a slice of a gather over the same axes and dimension is the gather's
//    operand;
//  * a collective that a dominating one computes already is that one, unless
//    it reads an argument: a parameter is gathered for each use on purpose.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Partition/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FUSECOLLECTIVESPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static void remarkFused(Operation *op, StringRef what) {
  remark::passed(
      op->getLoc(),
      remark::RemarkOpts::name("FuseCollectives").category("partition"))
      << remark::add("{0}", what.str());
}

/// all_reduce, then the same slice everywhere.
static bool scatterReduction(dist::AllReduceOp reduce) {
  dist::SliceOp first;
  for (Operation *user : reduce->getUsers()) {
    auto slice = dyn_cast<dist::SliceOp>(user);
    if (!slice || slice.getAxes() != reduce.getAxes() ||
        (first && slice.getDim() != first.getDim()))
      return false;
    first = first ? first : slice;
  }
  if (!first)
    return false;
  OpBuilder builder(reduce);
  Value scattered = dist::ReduceScatterOp::create(
      builder, reduce.getLoc(), first.getType(), reduce.getInput(),
      first.getDim(), reduce.getKind(), reduce.getAxes(), reduce.getMesh(),
      /*from=*/dist::ShardingAttr(), /*to=*/dist::ShardingAttr());
  for (Operation *user : llvm::make_early_inc_range(reduce->getUsers())) {
    user->getResult(0).replaceAllUsesWith(scattered);
    user->erase();
  }
  remarkFused(reduce, "all_reduce and slice to reduce_scatter");
  reduce->erase();
  return true;
}

/// all_gather, then a slice that undoes it.
static bool cancelGather(dist::SliceOp slice) {
  auto gather = slice.getInput().getDefiningOp<dist::AllGatherOp>();
  if (!gather || gather.getDim() != slice.getDim() ||
      gather.getAxes() != slice.getAxes())
    return false;
  remarkFused(slice, "all_gather and slice cancel");
  slice.getResult().replaceAllUsesWith(gather.getInput());
  slice->erase();
  if (gather->use_empty())
    gather->erase();
  return true;
}

/// Merges equal collectives of one operand within a block.
static bool mergeEqual(Block &block) {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
    if (!collective || isa<BlockArgument>(op.getOperand(0)))
      continue;
    for (Operation *other : op.getOperand(0).getUsers()) {
      if (other == &op || other->getName() != op.getName() ||
          other->getBlock() != &block ||
          other->getPropertiesAsAttribute() != op.getPropertiesAsAttribute() ||
          other->getResultTypes() != op.getResultTypes() ||
          !other->isBeforeInBlock(&op))
        continue;
      remarkFused(&op, "equal collectives merged");
      op.replaceAllUsesWith(other);
      op.erase();
      changed = true;
      break;
    }
  }
  return changed;
}

namespace {
struct FuseCollectivesPass
    : tessera::impl::FuseCollectivesPassBase<FuseCollectivesPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<FunctionOpInterface>()) {
      if (!func->hasAttr(dist::DistDialect::kLocalAttr))
        continue;
      for (Block *block : dist::getBlocks(func))
        runOnBlock(*block);
    }
  }

  void runOnBlock(Block &block) {
    bool changed = true;
    while (changed) {
      changed = mergeEqual(block);
      for (auto op : llvm::make_early_inc_range(block.getOps<dist::SliceOp>()))
        changed |= cancelGather(op);
      SmallVector<dist::AllReduceOp> reductions(
          block.getOps<dist::AllReduceOp>());
      for (dist::AllReduceOp op : reductions)
        changed |= scatterReduction(op);
    }
  }
};
} // namespace
