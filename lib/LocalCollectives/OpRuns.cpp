//===- OpRuns.cpp - Numbers of runs of ops, and their sums ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/LocalCollectives/OpRuns.h"
#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "tessera/Interfaces/CostOpInterface.h"

using namespace mlir;
using namespace tessera;

int64_t tessera::getNumRuns(Operation *op) {
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
    return accumulate.getCount();
  if (auto pipeline = dyn_cast<dist::PipelineOp>(op))
    return pipeline.getMicroBatches() / pipeline.getPaths().size();
  auto loop = dyn_cast<scf::ForOp>(op);
  APInt low, high, step;
  if (!loop || !matchPattern(loop.getLowerBound(), m_ConstantInt(&low)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&high)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
      high.isMaxSignedValue() || step.getSExtValue() < 1)
    return 1;
  return std::max<int64_t>(
      llvm::divideCeilSigned(high.getSExtValue() - low.getSExtValue(),
                             step.getSExtValue()),
      0);
}

/// True if at most one of the op's regions runs, as in scf.if.
static bool runsOneRegion(Operation *op) {
  auto branches = dyn_cast<RegionBranchOpInterface>(op);
  if (!branches || op->getNumRegions() < 2)
    return false;
  SmallVector<Attribute> unknown(op->getNumOperands());
  SmallVector<InvocationBounds> bounds;
  branches.getRegionInvocationBounds(unknown, bounds);
  return llvm::all_of(bounds, [](const InvocationBounds &region) {
    return region.getLowerBound() == 0 && region.getUpperBound() == 1;
  });
}

double tessera::sumOverRuns(Operation *op,
                            llvm::function_ref<double(Operation *)> ofOp) {
  if (op->getNumRegions() == 0 || isa<CostOpInterface>(op))
    return ofOp(op);
  bool runsOne = runsOneRegion(op);
  double sum = 0;
  for (Region &region : op->getRegions()) {
    double inside = 0;
    for (Block &block : region)
      for (Operation &inner : block)
        inside += sumOverRuns(&inner, ofOp);
    sum = runsOne ? std::max(sum, inside) : sum + inside;
  }
  return sum > 0 ? static_cast<double>(getNumRuns(op)) * sum : ofOp(op);
}
