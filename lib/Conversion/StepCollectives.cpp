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
    AxisStride axis = mesh.axisStride(ref);
    pairs.append({axis.stride, axis.size});
  }
  return pairs;
}

/// Returns the product of the sizes from `begin` to `end`.
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

/// Returns the next number for a collective over these axes.
int64_t StepLowering::takeNumber(const AxisList &axes) {
  bool isOverStages = llvm::any_of(
      axes, [&](const AxisRef &ref) { return mesh.stageAxis == ref.axis; });
  return isOverStages ? numbers.overStages++ : numbers.others++;
}

/// Starts `Start` of the tokens that a dispatch or a combine sends.
template <typename Start, typename Op>
void StepLowering::startTokens(int64_t slot, int64_t number,
                               dist::StartOp start, Op op, int64_t outer,
                               int64_t inner) {
  auto ids = cast<RankedTensorType>(start.getInputs()[1].getType());
  auto type = cast<RankedTensorType>(start.getInput().getType());
  Start::create(b, slot, number, stridedAxesOf(op.getAxes()), outer, inner,
                type.getShape().back(), ids.getShape().back(), op.getExperts(),
                stridedAxesOf(op.getAt()), offsetOf(start.getInput()),
                offsetOf(start.getFuture()), offsetOf(start.getInputs()[1]),
                ids.getElementType(), type.getElementType());
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
  int64_t number = takeNumber(collective.getAxes().toAxes(mesh));
  llvm::TypeSwitch<Operation *>(inner)
      .Case([&](dist::AllGatherOp g) {
        int64_t dim = g.getDim();
        rt::AllGatherStartOp::create(
            b, slot, number, axes, product(shape, 0, dim),
            product(shape, dim, rank), source, target, element);
      })
      .Case([&](dist::DispatchOp d) {
        int64_t dim = d.getDim();
        startTokens<rt::DispatchStartOp>(slot, number, op, d,
                                         product(shape, 0, dim),
                                         product(shape, dim, rank));
      })
      .Case([&](dist::CombineOp c) {
        int64_t dim = c.getDim();
        auto result = cast<RankedTensorType>(c.getResult().getType());
        startTokens<rt::CombineStartOp>(slot, number, op, c,
                                        product(shape, 0, dim),
                                        product(result.getShape(), dim, rank));
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

void StepLowering::atCoordinate(AxisStride axis, int64_t coordinate,
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
  AxisStride axis = mesh.axisStride(mesh.fullAxis(*mesh.find(op.getAxis())));
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t number = takeNumber({mesh.fullAxis(*mesh.find(op.getAxis()))});
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
  AxisStride axis = mesh.axisStride(mesh.fullAxis(*mesh.find(op.getAxis())));
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t number = takeNumber({mesh.fullAxis(*mesh.find(op.getAxis()))});
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

//===----------------------------------------------------------------------===//
// Between pp ranks
//===----------------------------------------------------------------------===//

/// The tag of exchanges. Activations have tag 0, gradients 1.
static constexpr int64_t kExchangeTag = 2;

/// Exchanges with each other member, pairs in ascending order. Both directions
/// of a pair are in flight at once, value by value. All members take the pairs
/// in one order, so no cycle of members waits.
void StepLowering::lowerExchange(dist::ExchangeOp op) {
  AxisStride axis = mesh.axisStride(mesh.fullAxis(*mesh.stageAxis));
  int64_t pair[] = {axis.stride, axis.size};
  int64_t here = *op.getPPRank();
  // The slot for transfers has the receive.
  auto sendSlot = static_cast<int32_t>(
      op->getAttrOfType<IntegerAttr>(RTDialect::kSlotAttr).getInt());
  SmallVector<Value> mine(op.getInputs());
  auto send = [&](int64_t peer, size_t number) {
    auto type = cast<RankedTensorType>(mine[number].getType());
    rt::SendStartOp::create(b, sendSlot, numbers.others++, pair, peer,
                            kExchangeTag, type.getNumElements(),
                            offsetOf(mine[number]), type.getElementType());
  };
  auto receive = [&](int64_t peer, Value output) {
    auto type = cast<RankedTensorType>(output.getType());
    rt::RecvStartOp::create(b, rt::kTransferSlot, numbers.others++, pair, peer,
                            kExchangeTag, type.getNumElements(),
                            offsetOf(output), type.getElementType());
  };
  for (int64_t peer : op.getAmong()) {
    if (peer == here)
      continue;
    SmallVector<Value> theirs;
    for (auto [output, from] : llvm::zip(op.getOutputs(), op.getFrom()))
      if (from == peer)
        theirs.push_back(output);
    for (size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i) {
      if (i < theirs.size())
        receive(peer, theirs[i]);
      if (i < mine.size())
        send(peer, i);
      if (i < theirs.size())
        rt::WaitOp::create(b, rt::kTransferSlot);
      if (i < mine.size())
        rt::WaitOp::create(b, sendSlot);
    }
  }
  size_t own = 0;
  for (auto [output, from] : llvm::zip(op.getOutputs(), op.getFrom()))
    if (from == here)
      startFrom(mine[own++], output);
}

/// Calls the list, whose transfers get numbers of their own.
void StepLowering::lowerPipeline(rt::PipelineOp op) {
  // A single pp rank needs no axis.
  AxisStride axis{/*stride=*/1, /*size=*/1};
  if (mesh.stageAxis)
    axis = mesh.axisStride(mesh.fullAxis(*mesh.stageAxis));
  auto planned = op->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kEntriesAttr);
  SmallVector<int64_t> entries;
  rt::forEachEntry(planned, [&](ArrayRef<int64_t> entry) {
    size_t begin = entries.size();
    llvm::append_range(entries, entry);
    if (entry[0] == TESSERA_RT_ENTRY_SEND || entry[0] == TESSERA_RT_ENTRY_RECV)
      entries[begin + rt::kEntrySequence] = numbers.others++;
  });
  rt::RunListOp::create(b, op.getTasks(),
                        ArrayRef<int64_t>{axis.stride, axis.size}, entries);
}
