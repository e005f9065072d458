//===- ConvertGPUToNVVM.cpp - GPU kernels to the NVVM dialect -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/ConvertGPUToNVVM.h"
#include "dialects/RT/RT.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tessera/Codegen/IntegerDivision.h"
#include "tessera/Codegen/IntegerPower.h"
#include "tessera/Codegen/MathFunctions.h"
#include "tessera/Codegen/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_CONVERTGPUTONVVMPASS
#include "tessera/Codegen/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Makes shared memory external: the launch gives its size.
static void describeShared(gpu::GPUModuleOp device) {
  for (auto global : device.getOps<LLVM::GlobalOp>())
    if (global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared))
      global.setLinkage(LLVM::Linkage::External);
}

/// Tensors of one launch do not overlap (a result that overwrites an operand is
/// the same argument) and have the arena's alignment.
static void describeArguments(gpu::GPUModuleOp device) {
  Builder b(device.getContext());
  for (auto kernel : device.getOps<LLVM::LLVMFuncOp>())
    for (auto [i, type] :
         llvm::enumerate(kernel.getFunctionType().getParams())) {
      if (!isa<LLVM::LLVMPointerType>(type))
        continue;
      kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        b.getUnitAttr());
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(64));
    }
}

void tessera::registerConversionInterfaces(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
}

/// Expands sin and cos: libdevice's versions keep a table on the stack for
/// large arguments, and branch.
static LogicalResult expandAngles(gpu::GPUModuleOp device) {
  RewritePatternSet patterns(device.getContext());
  populateMathF32ExpansionPatterns(patterns, [](StringRef name) {
    return name == math::SinOp::getOperationName() ||
           name == math::CosOp::getOperationName();
  });
  populateAnglePatterns(patterns);
  return applyPatternsGreedily(device, std::move(patterns));
}

namespace {
struct ConvertGPUToNVVMPass
    : tessera::impl::ConvertGPUToNVVMPassBase<ConvertGPUToNVVMPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (rt::getTarget(module) != rt::Target::Cuda)
      return;
    defineIntegerDivisions(module);
    expandIntegerPowers(module);
    for (auto device : module.getOps<gpu::GPUModuleOp>())
      if (failed(expandAngles(device)))
        return signalPassFailure();
    OpPassManager passes(ModuleOp::getOperationName());
    OpPassManager &inDevice = passes.nest<gpu::GPUModuleOp>();
    inDevice.addPass(createSCFToControlFlowPass());
    ConvertGpuOpsToNVVMOpsOptions options;
    options.useBarePtrCallConv = true;
    options.indexBitwidth = 64;
    inDevice.addPass(createConvertGpuOpsToNVVMOps(options));
    inDevice.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(passes, module)))
      return signalPassFailure();
    for (auto device : module.getOps<gpu::GPUModuleOp>()) {
      describeArguments(device);
      describeShared(device);
    }
  }
};
} // namespace
