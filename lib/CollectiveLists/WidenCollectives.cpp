//===- WidenCollectives.cpp - Widens integers for the runtime -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime moves integers of 1, 8, 16, 32 and 64 bits and reduces all of
// these but 16, which NCCL lacks. Other integers are sent as the next wider
// type: sums wrap in the same way, and the order of numbers is kept.
//
//===----------------------------------------------------------------------===//

#include "WireTypes.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tessera/CollectiveLists/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_WIDENCOLLECTIVESPASS
#include "tessera/CollectiveLists/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

Type tessera::getWireType(Type element, bool reduces) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return Type();
  if (rt::getRuntimeType(element) && !(reduces && integer.getWidth() == 16))
    return Type();
  for (unsigned width : {8, 16, 32, 64})
    if (width >= integer.getWidth() && !(reduces && width == 16))
      return IntegerType::get(element.getContext(), width);
  return Type();
}

static void widen(Operation *op) {
  OpBuilder builder(op);
  bool reduces = isa<dist::AllReduceOp, dist::ReduceScatterOp>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    Type wire = type ? getWireType(type.getElementType(), reduces) : Type();
    if (wire)
      operand.set(arith::ExtSIOp::create(builder, op->getLoc(),
                                         type.clone(wire), operand.get()));
  }
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    Type wire = type ? getWireType(type.getElementType(), reduces) : Type();
    if (!wire)
      continue;
    result.setType(type.clone(wire));
    auto narrow = arith::TruncIOp::create(builder, op->getLoc(), type, result);
    result.replaceAllUsesExcept(narrow, narrow);
  }
}

namespace {
struct WidenCollectivesPass
    : tessera::impl::WidenCollectivesPassBase<WidenCollectivesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<dist::SendOp, dist::RecvOp>(op) ||
          (isa<dist::CollectiveOpInterface>(op) && !isa<dist::AllSliceOp>(op)))
        ops.push_back(op);
    });
    llvm::for_each(ops, widen);
  }
};
} // namespace
