//===- PackRows.cpp - Keeps only used rows of tensors by expert -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Experts/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_PACKROWSPASS
#include "tessera/Experts/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The most rows of a tensor by expert: a token has one for each choice, and
/// for each held expert at most.
static int64_t getRoom(RankedTensorType ids, RankedTensorType values) {
  int64_t choices = ids.getShape().back();
  int64_t experts = values.getDimSize(values.getRank() - 2);
  int64_t tokens = 1;
  for (int64_t size : ids.getShape().drop_back())
    tokens *= size;
  return tokens * std::min(choices, experts);
}

/// Marks an op that was inserted for `op` as a part of the same pass.
static void markAs(Operation *inserted, Operation *op) {
  if (Attribute backward = op->getAttr(dist::DistDialect::kBackwardAttr))
    inserted->setAttr(dist::DistDialect::kBackwardAttr, backward);
}

static void packResult(nn::RoutedOpInterface op, Value values) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : values.getUses())
    uses.push_back(&use);
  if (uses.empty())
    return;
  Value ids = op.getIds(), offset = op.getOffset();
  auto type = cast<RankedTensorType>(values.getType());
  int64_t room = getRoom(cast<RankedTensorType>(ids.getType()), type);
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  auto pack = dist::PackRowsOp::create(
      b, op.getLoc(), type.clone({room, type.getShape().back()}), values, ids,
      offset);
  markAs(pack, op);
  for (OpOperand *use : uses) {
    b.setInsertionPoint(use->getOwner());
    auto unpack =
        dist::UnpackRowsOp::create(b, op.getLoc(), type, pack, ids, offset);
    markAs(unpack, use->getOwner());
    use->set(unpack);
  }
}

/// Numbers the ops of the forward whose loads are counted, from `layer` on.
static void numberLayers(FunctionOpInterface func, int64_t &layer) {
  Builder b(func.getContext());
  func.walk([&](nn::ExpertsOp op) {
    if (!op->hasAttr(dist::DistDialect::kBackwardAttr))
      op->setAttr(dist::DistDialect::kLayerAttr, b.getI64IntegerAttr(layer++));
  });
}

namespace {
struct PackRowsPass : tessera::impl::PackRowsPassBase<PackRowsPass> {
  void runOnOperation() override {
    SmallVector<nn::RoutedOpInterface> ops;
    int64_t layer = 0;
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (func->hasAttr(dist::DistDialect::kLocalAttr)) {
        func.walk([&](nn::RoutedOpInterface op) { ops.push_back(op); });
        numberLayers(func, layer);
      }
    for (nn::RoutedOpInterface op : ops)
      for (Value values : op.getRowResults())
        packResult(op, values);
  }
};
} // namespace
