//===- FenceState.cpp - Marks where a step begins to change state ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the planned bytes of results with those of donated arguments, so
// that neither names nor the way to a result matter. Views write nothing.
//
//===----------------------------------------------------------------------===//

#include "ArenaAttributes.h"
#include "OccupiedRanges.h"
#include "dialects/RT/RT.h"
#include "tessera/Memory/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FENCESTATEPASS
#include "tessera/Memory/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

/// Returns the bytes of a step's donated arguments of more than one element.
static AddressSet getDonated(func::FuncOp step) {
  AddressSet donated;
  auto offsets =
      step->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kOffsetsAttr);
  for (auto [i, offset] : llvm::enumerate(offsets.asArrayRef())) {
    auto type = cast<RankedTensorType>(step.getArgument(i).getType());
    if (step.getArgAttr(i, dist::DistDialect::kDonateAttr) &&
        type.getNumElements() > 1)
      donated.insert({offset, offset + rt::getTensorBytes(type)});
  }
  return donated;
}

static bool overlaps(const AddressSet &set, AddressRange range) {
  return llvm::any_of(set.getRanges(), [&](const AddressRange &other) {
    return range.begin < other.end && other.begin < range.end;
  });
}

/// Returns the tensors that an op writes, in the order of its `rt.offsets`.
static SmallVector<Value> getWritten(Operation *op) {
  if (isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          dist::WaitOp>(op))
    return {};
  if (auto copy = dyn_cast<rt::CopyOp>(op); copy && copy.isInPlace())
    return {};
  if (auto start = dyn_cast<dist::StartOp>(op))
    return {getWait(start).getResult()};
  return llvm::to_vector_of<Value>(op->getResults());
}

/// True if the op, or one of its regions, writes into `set`. Offsets from
/// `limit` on are not of the arena.
static bool writes(Operation *op, const AddressSet &set,
                   int64_t limit = INT64_MAX) {
  auto writesItself = [&](Operation *inner) {
    auto offsets =
        inner->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kOffsetsAttr);
    SmallVector<Value> written = getWritten(inner);
    if (!offsets || written.empty())
      return false;
    return llvm::any_of(
        llvm::zip_equal(written, offsets.asArrayRef()), [&](auto pair) {
          auto [value, offset] = pair;
          auto type = dyn_cast<RankedTensorType>(value.getType());
          return type && offset < limit &&
                 overlaps(set, {offset, offset + rt::getTensorBytes(type)});
        });
  };
  return op
      ->walk([&](Operation *inner) {
        return writesItself(inner) ? WalkResult::interrupt()
                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Checks that the list of a pipeline changes no state: neither its sums nor
/// its tasks, which write the arena before their first segment.
static LogicalResult checkPipeline(rt::PipelineOp pipeline,
                                   const AddressSet &donated) {
  if (writes(pipeline, donated))
    return pipeline.emitOpError("expects results outside the blocks of donated "
                                "arguments");
  for (func::FuncOp task : pipeline.getTaskFunctions()) {
    auto segments =
        task->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kSegmentsAttr);
    if (!segments)
      return task.emitError("expects a task with a planned arena: "
                            "rt-plan-pipeline has not run");
    int64_t limit = segments.empty() ? INT64_MAX : segments[0];
    for (Operation &op : task.front())
      if (writes(&op, donated, limit))
        return op.emitOpError("expects a task that writes into no donated "
                              "argument of its step");
  }
  return success();
}

static LogicalResult fence(func::FuncOp step) {
  if (!step->hasAttr(RTDialect::kOffsetsAttr) ||
      !step->hasAttr(RTDialect::kArenaBytesAttr))
    return step.emitError("expects a function with a planned arena: "
                          "rt-plan-arena has not run");
  AddressSet donated = getDonated(step);
  if (donated.getRanges().empty())
    return success();
  for (auto pipeline : step.front().getOps<rt::PipelineOp>())
    if (failed(checkPipeline(pipeline, donated)))
      return failure();
  for (Operation &op : step.front()) {
    if (!writes(&op, donated))
      continue;
    OpBuilder b(&op);
    rt::StateFenceOp::create(b, op.getLoc());
    return success();
  }
  return success();
}

namespace {
struct FenceStatePass : tessera::impl::FenceStatePassBase<FenceStatePass> {
  using FenceStatePassBase::FenceStatePassBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && !func->hasAttr(RTDialect::kKernelAttr) &&
          !func->hasAttr(RTDialect::kTaskAttr) && failed(fence(func)))
        return signalPassFailure();
  }
};
} // namespace
