//===- StepCollectives.cpp - Communication of a step ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLowering.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

SmallVector<int64_t> StepLowering::stridedAxesOf(dist::AxesAttr axes) const {
  SmallVector<int64_t> pairs;
  for (const AxisRef &ref : axes.toAxes(mesh)) {
    AxisDigit axis = mesh.digit(ref);
    pairs.append({axis.stride, axis.size});
  }
  return pairs;
}

/// Product of the sizes from `begin` to `end`.
static int64_t product(ArrayRef<int64_t> shape, int64_t begin, int64_t end) {
  int64_t result = 1;
  for (int64_t i = begin; i < end; ++i)
    result *= shape[i];
  return result;
}

static int64_t getRuntimeReduction(dist::ReductionKind kind) {
  switch (kind) {
  case dist::ReductionKind::Sum:
    return TESSERA_RT_SUM;
  case dist::ReductionKind::Max:
    return TESSERA_RT_MAX;
  case dist::ReductionKind::Min:
    return TESSERA_RT_MIN;
  }
  llvm_unreachable("unknown reduction");
}

void StepLowering::lowerStart(dist::StartOp op) {
  Operation *inner = &op.getBody().front().front();
  auto collective = cast<dist::CollectiveOpInterface>(inner);
  auto type = cast<RankedTensorType>(op.getInput().getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t rank = type.getRank(), count = type.getNumElements();
  int64_t source = offsetOf(op.getInput()), target = offsetOf(op.getFuture());
  int64_t slot = op->getAttrOfType<IntegerAttr>(RTDialect::kSlotAttr).getInt();
  SmallVector<int64_t> axes = stridedAxesOf(collective.getAxes());
  Type element = type.getElementType();
  int64_t number = sequence++;
  llvm::TypeSwitch<Operation *>(inner)
      .Case([&](dist::AllGatherOp g) {
        int64_t dim = g.getDim();
        rt::AllGatherStartOp::create(
            b, slot, number, axes, product(shape, 0, dim),
            product(shape, dim, rank), source, target, element);
      })
      .Case([&](dist::ReduceScatterOp r) {
        int64_t dim = r.getDim();
        auto result = cast<RankedTensorType>(r.getResult().getType());
        rt::ReduceScatterStartOp::create(
            b, slot, number, axes, getRuntimeReduction(r.getKind()),
            product(shape, 0, dim), product(result.getShape(), dim, rank),
            source, target, element);
      })
      .Case([&](dist::AllReduceOp r) {
        rt::AllReduceStartOp::create(b, slot, number, axes,
                                     getRuntimeReduction(r.getKind()), count,
                                     source, target, element);
      })
      .Case([&](dist::AllToAllOp a) {
        rt::AllToAllStartOp::create(b, slot, number, axes, shape,
                                    a.getSplitDim(), a.getGatherDim(), source,
                                    target, element);
      })
      .Case([&](dist::CollectivePermuteOp p) {
        SmallVector<int64_t> pairs;
        for (auto [from, to] : llvm::enumerate(p.getTargets()))
          pairs.append({int64_t(from), to});
        rt::PermuteStartOp::create(b, slot, number, axes, pairs, count, source,
                                   target, element);
      })
      .Case([&](dist::BroadcastOp c) {
        rt::BroadcastStartOp::create(b, slot, number, axes, c.getRoot(), count,
                                     source, target, element);
      });
}

void StepLowering::atCoordinate(AxisDigit axis, int64_t coordinate,
                                llvm::function_ref<void()> build,
                                llvm::function_ref<void()> otherwise) {
  Value here = rt::AxisOffsetOp::create(
      b, b.getIndexType(), ArrayRef<int64_t>{axis.stride, axis.size}, 1);
  Value isHere =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, here,
                            arith::ConstantIndexOp::create(b, coordinate));
  auto branch = scf::IfOp::create(b, isHere, /*withElse=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  build();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

void StepLowering::lowerSend(dist::SendOp op) {
  AxisDigit axis = mesh.digit(mesh.fullAxis(*mesh.find(op.getAxis())));
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t number = sequence++;
  atCoordinate(
      axis, op.getFrom(),
      [&] {
        rt::SendStartOp::create(b, rt::kTransferSlot, number,
                                ArrayRef<int64_t>{axis.stride, axis.size},
                                op.getTo(), op.getTag(), type.getNumElements(),
                                offsetOf(op.getInput()), type.getElementType());
        rt::WaitOp::create(b, rt::kTransferSlot);
      },
      nullptr);
}

void StepLowering::lowerRecv(dist::RecvOp op) {
  AxisDigit axis = mesh.digit(mesh.fullAxis(*mesh.find(op.getAxis())));
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t number = sequence++;
  int64_t target = offsetOf(op.getResult());
  atCoordinate(
      axis, op.getTo(),
      [&] {
        rt::RecvStartOp::create(
            b, rt::kTransferSlot, number,
            ArrayRef<int64_t>{axis.stride, axis.size}, op.getFrom(),
            op.getTag(), type.getNumElements(), target, type.getElementType());
        rt::WaitOp::create(b, rt::kTransferSlot);
      },
      [&] {
        rt::CallFillOp::create(b, rt::getElementBytes(type.getElementType()),
                               type.getNumElements(), /*bits=*/0, target);
      });
}
