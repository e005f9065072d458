//===- LowerToRT.cpp - The step becomes calls on offsets ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"
#include "StepLowering.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Kernels/StepFunction.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tessera {
#define GEN_PASS_DEF_LOWERTORTPASS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

LogicalResult StepLowering::recordOffsets() {
  auto ofArguments =
      step->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kOffsetsAttr);
  if (!ofArguments || !step->hasAttr(RTDialect::kArenaBytesAttr))
    return step.emitError("expects a function with a planned arena: "
                          "rt-plan-arena has not run");
  for (auto [argument, offset] :
       llvm::zip(step.getArguments(), ofArguments.asArrayRef()))
    offsets[argument] = offset;
  WalkResult result = step.getBody().walk([&](Operation *op) {
    auto ofResults =
        op->getAttrOfType<DenseI64ArrayAttr>(RTDialect::kOffsetsAttr);
    if (op->getParentOfType<dist::StartOp>())
      return WalkResult::advance();
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      if (!isa<RankedTensorType, dist::FutureType>(result.getType()))
        continue;
      if (!ofResults) {
        op->emitError("expects an op with offsets: rt-plan-arena has not run");
        return WalkResult::interrupt();
      }
      offsets[result] = ofResults[i];
      // What a loop carries has one offset.
      if (auto loop = dyn_cast<scf::ForOp>(op))
        offsets[loop.getRegionIterArg(i)] = ofResults[i];
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

LogicalResult StepLowering::lower(Operation *op) {
  b.setLoc(op->getLoc());
  if (isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          func::ReturnOp, scf::YieldOp>(op))
    return success();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lowerLoop(loop);
  bool known =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([&](rt::KernelOp o) { return lowerKernelCall(o), true; })
          .Case([&](rt::MatmulOp o) { return lowerMatmul(o), true; })
          .Case([&](rt::MatmulFusedOp o) { return lowerMatmulFused(o), true; })
          .Case(
              [&](rt::ScaledMatmulOp o) { return lowerScaledMatmul(o), true; })
          .Case([&](rt::AttentionOp o) {
            return lowerAttention<rt::CallAttentionOp>(o), true;
          })
          .Case([&](rt::AttentionBackwardOp o) {
            return lowerAttention<rt::CallAttentionBackwardOp>(o), true;
          })
          .Case([&](rt::EmbeddingBackwardOp o) {
            return lowerEmbeddingBackward(o), true;
          })
          .Case([&](rt::CopyOp o) { return lowerCopy(o), true; })
          .Case([&](rt::ConcatOp o) { return lowerConcat(o), true; })
          .Case([&](rt::AssembleOp o) { return lowerAssemble(o), true; })
          .Case([&](dist::StartOp o) { return lowerStart(o), true; })
          .Case([&](dist::SendOp o) { return lowerSend(o), true; })
          .Case([&](dist::RecvOp o) { return lowerRecv(o), true; })
          .Case([&](dist::WaitOp o) {
            rt::WaitOp::create(
                b,
                o->getAttrOfType<IntegerAttr>(RTDialect::kSlotAttr).getInt());
            return true;
          })
          .Case([&](dist::AxisOffsetOp o) {
            Value offset = rt::AxisOffsetOp::create(b, b.getIndexType(),
                                                    stridedAxesOf(o.getAxes()),
                                                    o.getLocalSize());
            scalars.map(o.getOffset(), offset);
            return true;
          })
          .Default([](Operation *) { return false; });
  if (known)
    return success();
  auto isTensor = [](Type type) { return isa<ShapedType>(type); };
  if (llvm::any_of(op->getOperandTypes(), isTensor) ||
      llvm::any_of(op->getResultTypes(), isTensor))
    return op->emitError("expects calls and scalars in a step function but "
                         "got ")
           << op->getName();
  b.clone(*op, scalars);
  return success();
}

/// A loop over calls that reads its flag before each iteration.
LogicalResult StepLowering::lowerWhile(scf::ForOp op) {
  auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getBefore());
  Value flag = rt::ReadFlagOp::create(b, b.getI1Type(),
                                      offsetOf(op.getRegionIterArgs().front()));
  scf::ConditionOp::create(b, flag, ValueRange());
  b.createBlock(&loop.getAfter());
  if (failed(lowerAll(*op.getBody())))
    return failure();
  scf::YieldOp::create(b);
  return success();
}

/// A loop over calls; what it carries is in memory.
LogicalResult StepLowering::lowerLoop(scf::ForOp op) {
  if (op->hasAttr(RTDialect::kWhileAttr))
    return lowerWhile(op);
  auto bound = [&](Value value) { return scalars.lookup(value); };
  auto loop =
      scf::ForOp::create(b, bound(op.getLowerBound()),
                         bound(op.getUpperBound()), bound(op.getStep()));
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  return lowerAll(*op.getBody());
}

/// Every op of a block, and calls for the blocks of memory that begin before it
/// and end after it.
LogicalResult StepLowering::lowerAll(Block &block) {
  auto forEach = [](Operation &op, StringRef name, auto body) {
    auto triples = op.getAttrOfType<DenseI64ArrayAttr>(name);
    for (int64_t i = 0; triples && i < triples.size(); i += 3)
      body(triples[i], triples[i + 1], triples[i + 2] != 0);
  };
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    forEach(op, RTDialect::kBeginsAttr,
            [&](int64_t offset, int64_t bytes, bool forget) {
              rt::BlockBeginOp::create(b, offset, bytes, forget);
            });
    if (failed(lower(&op)))
      return failure();
    forEach(op, RTDialect::kEndsAttr,
            [&](int64_t offset, int64_t bytes, bool forget) {
              rt::BlockEndOp::create(b, offset, bytes, forget);
            });
  }
  return success();
}

LogicalResult StepLowering::run(StringRef program) {
  if (failed(recordOffsets()))
    return failure();
  SmallVector<int64_t> results;
  for (Value value : step.front().getTerminator()->getOperands())
    results.push_back(offsetOf(value));
  FailureOr<std::string> manifest = buildManifest(step, mesh, results, program);
  if (failed(manifest))
    return failure();
  module->setAttr(RTDialect::kManifestAttr, b.getStringAttr(*manifest));

  b.setInsertionPoint(step);
  if (rt::getTarget(module) != rt::Target::Host)
    device = gpu::GPUModuleOp::create(b, RTDialect::kDeviceModule);
  auto func = func::FuncOp::create(b, "step", b.getFunctionType({}, {}));
  func->setAttr(RTDialect::kStepAttr, b.getUnitAttr());
  func->setAttr(RTDialect::kArenaBytesAttr,
                step->getAttr(RTDialect::kArenaBytesAttr));
  b.setInsertionPointToStart(func.addEntryBlock());
  if (failed(lowerAll(step.front())))
    return failure();
  func::ReturnOp::create(b);
  step.erase();
  // Kernels on tensors have become loops.
  SmallPtrSet<Operation *, 16> loops;
  for (auto &entry : lowered)
    loops.insert(entry.second);
  for (auto other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (other->hasAttr(RTDialect::kKernelAttr) && !loops.contains(other))
      other.erase();
  return success();
}

namespace {
struct LowerToRTPass : tessera::impl::LowerToRTPassBase<LowerToRTPass> {
  using LowerToRTPassBase::LowerToRTPassBase;
  void runOnOperation() override {
    FailureOr<func::FuncOp> step = getStepFunction(getOperation());
    FailureOr<Mesh> mesh = getMeshOrSingle(getOperation());
    if (failed(step) || failed(mesh) ||
        failed(StepLowering(getOperation(), *step, *mesh).run(program)))
      signalPassFailure();
  }
};
} // namespace
