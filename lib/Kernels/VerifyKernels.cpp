//===- VerifyKernels.cpp - The contract of phase `kernels` ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Codegen/ColumnReductions.h"
#include "tessera/Codegen/KernelRows.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Kernels/StepFunction.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// True for calls, views, communication and arithmetic on scalars.
static bool belongsInStep(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "rt" || isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                             func::ReturnOp, scf::YieldOp>(op))
    return true;
  if (dialect == "dist")
    return isa<dist::CollectiveOpInterface, dist::AxisOffsetOp, dist::SendOp,
               dist::RecvOp, dist::ExchangeOp, dist::StartOp, dist::WaitOp>(
               op) &&
           !isa<dist::AllSliceOp>(op);
  // A tensor without elements needs no kernel.
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return llvm::is_contained(empty.getType().getShape(), 0);
  return llvm::none_of(op->getResultTypes(),
                       [](Type type) { return isa<ShapedType>(type); });
}

static LogicalResult verifyBlock(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(verifyBlock(*loop.getBody())))
        return failure();
    } else if (!belongsInStep(&op)) {
      return op.emitError("expects calls of kernels and libraries only in a "
                          "step function but got ")
             << op.getName();
    }
  }
  return success();
}

static LogicalResult verifyStep(func::FuncOp step) {
  for (Type type :
       llvm::concat<const Type>(step.getArgumentTypes(), step.getResultTypes()))
    if (!isa<RankedTensorType>(type))
      return step.emitError("expects tensors as arguments and results but got ")
             << type;
  return verifyBlock(step.front());
}

/// Checks that a batch calls kernels, and returns all their results.
static LogicalResult verifyBatch(func::FuncOp func) {
  size_t made = 0;
  for (Operation &op : func.front()) {
    if (!isa<rt::KernelOp, func::ReturnOp>(op))
      return op.emitError("expects kernels only in a batch but got ")
             << op.getName();
    for (Value operand : op.getOperands())
      if (isa<rt::KernelOp>(op) && !isa<BlockArgument>(operand))
        return op.emitError("expects kernels that do not depend on each other "
                            "in a batch");
    made += op.getNumResults();
  }
  if (made != func.getNumResults())
    return func.emitError("expects a batch to return all ")
           << made << " results of its kernels but got "
           << func.getNumResults();
  return success();
}

static LogicalResult verifyKernel(func::FuncOp func) {
  if (func->hasAttr(rt::RTDialect::kBatchAttr))
    return verifyBatch(func);
  auto rows = func->getAttrOfType<IntegerAttr>(rt::RTDialect::kRowsAttr);
  if (!rows)
    return func.emitError("expects rt.rows on a kernel");
  for (Operation &op : func.front()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic) {
      if (isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp,
              func::ReturnOp>(op))
        continue;
      return op.emitError("expects linalg.generic only in a kernel but got ")
             << op.getName();
    }
    if (!getRowLoops(generic, rows.getInt()))
      return op.emitError("expects an op of ") << rows.getInt() << " rows";
    if (rt::getTarget(func) != rt::Target::Host &&
        !getFusedColumnReduction(generic) && !hasPlainResults(generic))
      return op.emitError("expects results with one element for each iteration "
                          "of the parallel loops: a scan is done in order, and "
                          "for the host alone");
  }
  return success();
}

namespace {
struct VerifyKernelsPass
    : tessera::impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    if (failed(getStepFunctions(getOperation())))
      return signalPassFailure();
    for (func::FuncOp func : getFunctionsOfStep(getOperation()))
      if (failed(verifyStep(func)))
        return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(rt::RTDialect::kKernelAttr) &&
          failed(verifyKernel(func)))
        return signalPassFailure();
  }
};
} // namespace
