//===- ReduceBoundary.cpp - Removes partial values at a step's boundary ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program reads and saves whole values: its inputs and outputs must not be
// partial.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "tessera/Kernels/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_REDUCEBOUNDARYPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Returns the sharding without unreduced axes.
static dist::ShardingAttr withoutUnreduced(dist::ShardingAttr sharding) {
  return dist::ShardingAttr::get(sharding.getContext(), sharding.getMesh(),
                                 sharding.getDims(), sharding.getReplicated(),
                                 /*unreduced=*/{}, dist::ReductionKind::Sum);
}

static dist::ReductionKindAttr getKind(dist::ShardingAttr sharding) {
  return dist::ReductionKindAttr::get(sharding.getContext(),
                                      sharding.getReduction());
}

static dist::AxesAttr getUnreduced(dist::ShardingAttr sharding) {
  if (!sharding || sharding.getUnreduced().empty())
    return dist::AxesAttr();
  return dist::AxesAttr::get(sharding.getContext(), sharding.getUnreduced());
}

namespace {
struct ReduceBoundaryPass
    : tessera::impl::ReduceBoundaryPassBase<ReduceBoundaryPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func.isPrivate())
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&func.front());
    for (BlockArgument argument : func.getArguments()) {
      dist::ShardingAttr sharding = dist::getSharding(argument);
      dist::AxesAttr axes = getUnreduced(sharding);
      if (!axes)
        continue;
      dist::setSharding(argument, withoutUnreduced(sharding));
      auto partial = dist::ToPartialOp::create(
          builder, func.getLoc(), argument.getType(), argument, axes,
          getKind(sharding), sharding.getMesh());
      argument.replaceAllUsesExcept(partial.getResult(), partial);
    }
    Operation *terminator = func.front().getTerminator();
    builder.setInsertionPoint(terminator);
    for (OpOperand &operand : terminator->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      dist::ShardingAttr sharding = dist::getResultSharding(func, number);
      dist::AxesAttr axes = getUnreduced(sharding);
      if (!axes)
        continue;
      dist::setResultSharding(func, number, withoutUnreduced(sharding));
      auto type = cast<RankedTensorType>(operand.get().getType());
      addExpected(terminator,
                  listNew<dist::AllReduceOp>(
                      {builder.getNamedAttr("axes", axes),
                       builder.getNamedAttr("kind", getKind(sharding))},
                      type.getNumElements(), type.getElementType()));
      operand.set(dist::AllReduceOp::create(
          builder, func.getLoc(), operand.get().getType(), operand.get(),
          getKind(sharding), axes, sharding.getMesh(),
          /*from=*/dist::ShardingAttr(), /*to=*/dist::ShardingAttr()));
    }
  }
};
} // namespace
