//===- StepLowering.h - A step function as calls on offsets -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op becomes a call whose operands are offsets in the arena. Kernels,
// library calls and communication have a file each.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_STEPLOWERING_H
#define TESSERA_LIB_CONVERSION_STEPLOWERING_H

#include "CallNames.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Codegen/LowerGPUKernels.h"
#include "tessera/Codegen/LowerKernels.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {

/// The state shared by all functions of a program.
struct ProgramLowering {
  mlir::ModuleOp module;
  const Mesh &mesh;
  /// The host's kernels as loops, by name.
  llvm::StringMap<mlir::func::FuncOp> loops;
  /// The device's kernels, and their number in its module.
  mlir::gpu::GPUModuleOp device;
  llvm::StringMap<std::pair<GPUKernel, int64_t>> deviceKernels;
};

/// Sequence numbers of the collectives of one pp rank. Those over the stage
/// axis come first, so that their numbers are the same on all pp ranks, whose
/// functions differ in the other collectives.
struct SequenceNumbers {
  int64_t overStages = 0, others = 0;
};

/// Lowers a step function whose arena is planned, or a task of it.
class StepLowering {
public:
  StepLowering(ProgramLowering &program, mlir::func::FuncOp step,
               SequenceNumbers &numbers, const CallNames &names)
      : module(program.module), step(step), names(names), mesh(program.mesh),
        b(step.getLoc(), step.getContext()), lowered(program.loops),
        device(program.device), deviceKernels(program.deviceKernels),
        numbers(numbers) {}
  /// Reads the offsets from rt-plan-arena. Emits an error if they are missing.
  mlir::LogicalResult recordOffsets();
  /// Returns the offsets of the results.
  llvm::SmallVector<int64_t> getResultOffsets();
  /// Builds a function of calls, with this name, in front of it.
  mlir::LogicalResult run(llvm::StringRef name);

private:
  int64_t offsetOf(mlir::Value value) const { return offsets.lookup(value); }
  llvm::SmallVector<int64_t> stridedAxesOf(dist::AxesAttr axes) const;
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerAll(mlir::Block &block);
  mlir::LogicalResult lowerLoop(mlir::scf::ForOp op);
  mlir::LogicalResult lowerWhile(mlir::scf::ForOp op);
  void lowerKernelCall(rt::KernelOp op);
  void lowerBatch(rt::KernelOp op, mlir::func::FuncOp batch);
  void createLaunch(llvm::StringRef name, llvm::ArrayRef<int64_t> addresses,
                    mlir::ValueRange scalarValues);
  void launchOnDevice(mlir::func::FuncOp kernel,
                      llvm::ArrayRef<InPlace> inPlace, llvm::StringRef name,
                      llvm::ArrayRef<int64_t> addresses,
                      mlir::ValueRange scalarValues);
  void startFrom(mlir::Value init, mlir::Value result);
  void lowerMatmul(rt::MatmulOp op);
  void lowerMatmulFused(rt::MatmulFusedOp op);
  void lowerScaledMatmul(rt::ScaledMatmulOp op);
  template <typename Call, typename Op> void lowerAttention(Op op);
  void lowerEmbeddingBackward(rt::EmbeddingBackwardOp op);
  llvm::SmallVector<int64_t>
  offsetsOf(llvm::ArrayRef<mlir::Value> tensors) const;
  void lowerRoute(rt::RouteOp op);
  void lowerExpertCapacity(rt::ExpertCapacityOp op);
  void lowerExperts(rt::ExpertsOp op);
  void lowerExperts(rt::ExpertsBackwardOp op);
  void lowerExperts(rt::ExpertsWeightGradientOp op);
  void lowerCopy(rt::CopyOp op);
  void lowerConcat(rt::ConcatOp op);
  void lowerAssemble(rt::AssembleOp op);
  void lowerStart(dist::StartOp op);
  template <typename Start, typename Op>
  void startTokens(int64_t slot, int64_t number, dist::StartOp start, Op op,
                   int64_t outer, int64_t inner);
  void lowerSend(dist::SendOp op);
  void lowerRecv(dist::RecvOp op);
  void lowerExchange(dist::ExchangeOp op);
  void lowerPipeline(rt::PipelineOp op);
  int64_t takeNumber(const AxisList &axes);
  /// Runs `build` on the devices at `coordinate` of an axis, `otherwise` on the
  /// others.
  void atCoordinate(AxisStride axis, int64_t coordinate,
                    llvm::function_ref<void()> build,
                    llvm::function_ref<void()> otherwise);

  mlir::ModuleOp module;
  mlir::func::FuncOp step;
  const CallNames &names;
  const Mesh &mesh;
  /// Calls have the name of their op as location.
  mlir::ImplicitLocOpBuilder b;
  llvm::DenseMap<mlir::Value, int64_t> offsets;
  mlir::IRMapping scalars;
  llvm::StringMap<mlir::func::FuncOp> &lowered;
  mlir::gpu::GPUModuleOp &device;
  llvm::StringMap<std::pair<GPUKernel, int64_t>> &deviceKernels;
  SequenceNumbers &numbers;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_STEPLOWERING_H
