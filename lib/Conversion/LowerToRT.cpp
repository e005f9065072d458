//===- LowerToRT.cpp - Lowers the step to calls on offsets ----------------===//
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
      // A loop-carried value has one offset.
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
          .Case([&](rt::RouteOp o) { return lowerRoute(o), true; })
          .Case([&](rt::ExpertCapacityOp o) {
            return lowerExpertCapacity(o), true;
          })
          .Case<rt::ExpertsOp, rt::ExpertsBackwardOp,
                rt::ExpertsWeightGradientOp>(
              [&](auto o) { return lowerExperts(o), true; })
          .Case([&](rt::CopyOp o) { return lowerCopy(o), true; })
          .Case([&](rt::ConcatOp o) { return lowerConcat(o), true; })
          .Case([&](rt::AssembleOp o) { return lowerAssemble(o), true; })
          .Case([&](dist::StartOp o) { return lowerStart(o), true; })
          .Case([&](dist::SendOp o) { return lowerSend(o), true; })
          .Case([&](dist::RecvOp o) { return lowerRecv(o), true; })
          .Case([&](dist::ExchangeOp o) { return lowerExchange(o), true; })
          .Case([&](rt::PipelineOp o) { return lowerPipeline(o), true; })
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
  b.clone(*op, scalars)->setLoc(b.getLoc());
  return success();
}

/// Builds a loop over calls that reads its flag before each iteration.
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

/// Builds a loop over calls; the loop-carried values are in memory.
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

/// Lowers every op of a block, with calls at the begin and end of memory
/// blocks.
LogicalResult StepLowering::lowerAll(Block &block) {
  auto forEach = [](Operation &op, StringRef name, auto body) {
    auto triples = op.getAttrOfType<DenseI64ArrayAttr>(name);
    for (int64_t i = 0; triples && i < triples.size(); i += 3)
      body(triples[i], triples[i + 1], triples[i + 2] != 0);
  };
  for (Operation &op : block) {
    b.setLoc(NameLoc::get(b.getStringAttr(names.describe(&op)), op.getLoc()));
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

SmallVector<int64_t> StepLowering::getResultOffsets() {
  return llvm::map_to_vector(step.front().getTerminator()->getOperands(),
                             [&](Value value) { return offsetOf(value); });
}

LogicalResult StepLowering::run(StringRef name) {
  b.setInsertionPoint(step);
  auto func = func::FuncOp::create(b, name, b.getFunctionType({}, {}));
  func->setAttr(RTDialect::kStepAttr, b.getUnitAttr());
  for (StringRef attr : {RTDialect::kArenaBytesAttr, RTDialect::kSegmentsAttr})
    if (Attribute value = step->getAttr(attr))
      func->setAttr(attr, value);
  b.setInsertionPointToStart(func.addEntryBlock());
  if (failed(lowerAll(step.front())))
    return failure();
  func::ReturnOp::create(b);
  return success();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Counts a function's collectives over the stage axis.
static int64_t countOverStages(func::FuncOp step, const Mesh &mesh) {
  int64_t count = 0;
  step.walk([&](dist::CollectiveOpInterface op) {
    count += llvm::any_of(op.getAxes().toAxes(mesh), [&](const AxisRef &ref) {
      return mesh.stageAxis == ref.axis;
    });
  });
  return count;
}

/// Returns the pipeline that a step function runs, or null.
static rt::PipelineOp findPipeline(func::FuncOp step) {
  auto ops = step.front().getOps<rt::PipelineOp>();
  return ops.empty() ? rt::PipelineOp() : *ops.begin();
}

namespace {
/// Lowers a step function and the tasks that it calls.
struct PPRankLowering {
  PPRankLowering(ProgramLowering &program, func::FuncOp func)
      : program(program), func(func),
        numbers{0, countOverStages(func, program.mesh)}, names(func),
        step(program, func, numbers, names) {}
  LogicalResult run(const std::string &name);

  ProgramLowering &program;
  func::FuncOp func;
  SequenceNumbers numbers;
  CallNames names;
  StepLowering step;
};
} // namespace

/// Replaces the functions. Tasks keep their names, since the step calls them.
LogicalResult PPRankLowering::run(const std::string &name) {
  SmallVector<func::FuncOp> tasks;
  rt::PipelineOp pipeline = findPipeline(func);
  if (pipeline)
    tasks = pipeline.getTaskFunctions();
  for (func::FuncOp task : tasks) {
    std::string taskName = task.getName().str();
    task.setName(taskName + "_tensors");
    CallNames taskNames(task, pipeline, names);
    StepLowering lowering(program, task, numbers, taskNames);
    if (failed(lowering.recordOffsets()) || failed(lowering.run(taskName)))
      return failure();
    task.erase();
  }
  if (failed(step.run(name)))
    return failure();
  func.erase();
  return success();
}

/// True for lists and exchanges between pp ranks.
static bool isOfStages(Operation &op) {
  auto pipeline = dyn_cast<rt::PipelineOp>(op);
  return isa<dist::ExchangeOp>(op) ||
         (pipeline &&
          llvm::any_of(pipeline.getStageRanks(), [](const auto &path) {
            return llvm::any_of(path, [](int64_t rank) { return rank != 0; });
          }));
}

/// Checks that a function with lists or exchanges belongs to a coordinate of
/// the stage axis.
static LogicalResult checkStages(func::FuncOp step, const Mesh &mesh) {
  for (Operation &op : step.front()) {
    if (!isOfStages(op))
      continue;
    if (!mesh.stageAxis)
      return op.emitOpError("expects a mesh with a stage axis");
    if (!step->hasAttr(dist::DistDialect::kPPRankAttr))
      return op.emitOpError("expects a function with dist.pp_rank but got @")
             << step.getSymName();
    if (isa<dist::ExchangeOp>(op) && !op.hasAttr(rt::RTDialect::kSlotAttr))
      return op.emitOpError("expects ")
             << rt::RTDialect::kSlotAttr << ", which rt-start-collectives sets";
  }
  return success();
}

/// Lowers all functions of a program.
static LogicalResult lowerProgram(ModuleOp module, const Mesh &mesh,
                                  StringRef name) {
  FailureOr<SmallVector<func::FuncOp>> steps = getStepFunctions(module);
  if (failed(steps))
    return failure();
  ProgramLowering program{module, mesh, {}, {}, {}};
  std::vector<std::unique_ptr<PPRankLowering>> ranks;
  SmallVector<SmallVector<int64_t>> results;
  for (func::FuncOp step : *steps) {
    ranks.push_back(std::make_unique<PPRankLowering>(program, step));
    if (failed(checkStages(step, mesh)) ||
        failed(ranks.back()->step.recordOffsets()))
      return failure();
    results.push_back(ranks.back()->step.getResultOffsets());
  }
  // The manifest's hash is computed on the program before lowering changes it.
  FailureOr<std::string> manifest = buildManifest(*steps, mesh, results, name);
  if (failed(manifest))
    return failure();
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  module->setAttr(RTDialect::kManifestAttr, b.getStringAttr(*manifest));

  b.setInsertionPoint(steps->front());
  if (rt::getTarget(module) != rt::Target::Host)
    program.device = gpu::GPUModuleOp::create(b, RTDialect::kDeviceModule);
  for (auto [number, rank] : llvm::enumerate(ranks)) {
    std::string suffix = steps->size() > 1 ? "_" + std::to_string(number) : "";
    if (failed(rank->run("step" + suffix)))
      return failure();
  }
  // Erases kernels on tensors, which have been lowered to loops.
  SmallPtrSet<Operation *, 16> loops;
  for (auto &entry : program.loops)
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
    FailureOr<Mesh> mesh = getMeshOrSingle(getOperation());
    if (failed(mesh) || failed(lowerProgram(getOperation(), *mesh, program)))
      signalPassFailure();
  }
};
} // namespace
