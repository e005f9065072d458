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
#include <cmath>

namespace tessera {
#define GEN_PASS_DEF_PACKROWSPASS
#include "tessera/Experts/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The rows of a tensor by expert. A token has one for each choice, and for
/// each held expert at most. With `perEven` there is room for so many times an
/// even load of these `all` experts.
static int64_t getRoom(RankedTensorType ids, RankedTensorType values,
                       int64_t all, double perEven) {
  int64_t choices = ids.getShape().back();
  int64_t experts = values.getDimSize(values.getRank() - 2);
  int64_t tokens = 1;
  for (int64_t size : ids.getShape().drop_back())
    tokens *= size;
  int64_t most = tokens * std::min(choices, experts);
  if (perEven <= 0 || all <= 0)
    return most;
  double even =
      double(tokens) * double(choices) * double(experts) / double(all);
  return std::min(most, static_cast<int64_t>(std::ceil(perEven * even)));
}

/// Marks an op that was inserted for `op` as a part of the same pass.
static void markAs(Operation *inserted, Operation *op) {
  if (Attribute backward = op->getAttr(dist::DistDialect::kBackwardAttr))
    inserted->setAttr(dist::DistDialect::kBackwardAttr, backward);
}

namespace {
/// How much room rows get.
struct Room {
  double perEven = 0;
  /// The number of all experts, by the ids that choose among them.
  llvm::DenseMap<Value, int64_t> experts;
};
} // namespace

static void packResult(nn::RoutedOpInterface op, Value values,
                       const Room &given) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : values.getUses())
    uses.push_back(&use);
  if (uses.empty())
    return;
  Value ids = op.getIds(), offset = op.getOffset();
  auto type = cast<RankedTensorType>(values.getType());
  int64_t room = getRoom(cast<RankedTensorType>(ids.getType()), type,
                         given.experts.lookup(ids), given.perEven);
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
    Room room;
    if (auto plan = getOperation()->getAttrOfType<dist::PlanAttr>(
            dist::DistDialect::kPlanAttr))
      room.perEven = plan.getPlan().moeRoom;
    for (nn::RoutedOpInterface op : ops)
      if (std::optional<int64_t> all = op.getNumExperts())
        room.experts[op.getIds()] = *all;
    for (nn::RoutedOpInterface op : ops)
      for (Value values : op.getRowResults())
        packResult(op, values, room);
  }
};
} // namespace
