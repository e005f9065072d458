//===- ConvertRTToLLVM.cpp - Lowers a program to the LLVM dialect ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream conversions with bare pointers lower kernels and scalars, then
// StepToLLVM lowers steps. Last, each kernel gets an entry that unpacks the
// arguments from the runtime.
//
//===----------------------------------------------------------------------===//

#include "DeviceProgram.h"
#include "StepToLLVM.h"
#include "dialects/RT/RT.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "runtime/include/tessera_rt_cuda.h"
#include "tessera/Codegen/IntegerDivision.h"
#include "tessera/Codegen/IntegerPower.h"
#include "tessera/Codegen/MathFunctions.h"
#include "tessera/Conversion/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_CONVERTRTTOLLVMPASS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

//===----------------------------------------------------------------------===//
// Kernels, manifest
//===----------------------------------------------------------------------===//

/// Gives the entry of a kernel its body: unpacks the arguments and calls the
/// kernel.
static void defineEntry(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp kernel) {
  ImplicitLocOpBuilder b(kernel.getLoc(), entry.getContext());
  entry.setLinkage(LLVM::Linkage::Internal);
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Value> arguments;
  ArrayRef<Type> types = kernel.getFunctionType().getParams();
  for (auto [i, type] : llvm::enumerate(types.drop_back(2))) {
    Value address =
        LLVM::GEPOp::create(b, pointer, b.getI64Type(), block->getArgument(0),
                            ArrayRef<LLVM::GEPArg>{int32_t(i)});
    Value argument = LLVM::LoadOp::create(b, b.getI64Type(), address);
    arguments.push_back(isa<LLVM::LLVMPointerType>(type)
                            ? LLVM::IntToPtrOp::create(b, type, argument)
                            : argument);
  }
  arguments.push_back(block->getArgument(1));
  arguments.push_back(block->getArgument(2));
  LLVM::CallOp::create(b, kernel, arguments);
  LLVM::ReturnOp::create(b, ValueRange());
}

/// Defines the tables of kernels in a program for a device, or for the emulator
/// of one.
static void describeDevice(ModuleOp module,
                           ArrayRef<LLVM::LLVMFuncOp> emulated) {
  SmallVector<StringRef> names;
  for (LLVM::LLVMFuncOp kernel : emulated)
    names.push_back(kernel.getSymName());
  for (auto device : module.getOps<gpu::GPUModuleOp>())
    for (auto kernel : device.getOps<LLVM::LLVMFuncOp>())
      if (!kernel.isExternal())
        names.push_back(kernel.getSymName());
  defineKernelNames(module, names);
  bool isEmulated = rt::getTarget(module) == rt::Target::CudaEmulated;
  defineEmulatedKernels(module, isEmulated, emulated);
  if (isEmulated)
    defineImages(module, {});
}

/// Only entries call kernels. Tensors of one call do not overlap (a result that
/// overwrites an operand is the same argument) and have the arena's alignment.
static void finishKernels(ModuleOp module) {
  OpBuilder b(module.getContext());
  bool isHost = rt::getTarget(module) == rt::Target::Host;
  SmallVector<LLVM::LLVMFuncOp> emulated;
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!kernel->hasAttr(RTDialect::kKernelAttr))
      continue;
    kernel->removeAttr(RTDialect::kKernelAttr);
    kernel.setLinkage(LLVM::Linkage::Internal);
    kernel.setNoInline(true);
    for (auto [i, type] :
         llvm::enumerate(kernel.getFunctionType().getParams())) {
      if (!isa<LLVM::LLVMPointerType>(type))
        continue;
      kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        b.getUnitAttr());
      // The last pointer of an emulated kernel is the shared memory.
      bool isShared = !isHost && i + 1 == kernel.getNumArguments();
      kernel.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(isShared
                                                ? TESSERA_RT_SHARED_ALIGNMENT
                                                : TESSERA_RT_ARENA_ALIGNMENT));
    }
    if (!isHost) {
      emulated.push_back(kernel);
      continue;
    }
    // A kernel that is never launched has no entry.
    if (auto entry = module.lookupSymbol<LLVM::LLVMFuncOp>(
            (kernel.getSymName() + kEntrySuffix).str()))
      defineEntry(entry, kernel);
  }
  if (!isHost)
    describeDevice(module, emulated);
}

static void createManifest(ModuleOp module) {
  auto text = module->getAttrOfType<StringAttr>(RTDialect::kManifestAttr);
  if (!text)
    return;
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  b.setInsertionPointToStart(module.getBody());
  std::string terminated = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size());
  LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::External,
                         "tessera_program_manifest",
                         b.getStringAttr(terminated));
  module->removeAttr(RTDialect::kManifestAttr);
}

/// Lowers exp, tanh, log and similar functions to polynomials, which LLVM
/// vectorizes inside a vectorized loop. Narrow floats are computed in f32.
/// Other functions, and f64, call the library. MLIR's other polynomials are not
/// accurate enough: atan and erfc have wrong digits, atan2 and cbrt divide,
/// which is wrong for infinities and zeros, and those that MathFunctions.h
/// replaces are wrong for the largest and the smallest numbers.
static LogicalResult approximateMath(ModuleOp module) {
  MLIRContext *context = module.getContext();
  keepSignsOfErrorFunctions(module);
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  auto always = [](StringRef) { return true; };
  RewritePatternSet own(context);
  populateMathF32ExpansionPatterns(own, always);
  populateExponentialPatterns(own);
  populateAnglePatterns(own);
  populateInfinityPatterns(own);
  math::populateExpansionPatterns(own, {"rsqrt"});
  FrozenRewritePatternSet frozen(std::move(own));
  if (failed(applyPatternsGreedily(module, frozen, config)))
    return failure();
  SmallVector<Operation *> inF32;
  module.walk([&](Operation *op) {
    if (isa<math::AcosOp, math::AsinOp, math::ErfOp, math::ExpM1Op,
            math::Log1pOp, math::TanhOp>(op) &&
        op->getResult(0).getType().isF32())
      inF32.push_back(op);
  });
  RewritePatternSet polynomials(context);
  populateMathPolynomialApproximationPatterns(polynomials, always);
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  if (failed(applyOpPatternsGreedily(inF32, std::move(polynomials), config)))
    return failure();
  // Calls the library for the other expm1 and log1p: the conversion to LLVM
  // would compute exp(x) - 1 and log(1 + x).
  SmallVector<Operation *> inF64;
  module.walk([&](Operation *op) {
    if (isa<math::ExpM1Op, math::Log1pOp>(op))
      inF64.push_back(op);
  });
  RewritePatternSet calls(context);
  populateMathToLibmConversionPatterns(calls);
  if (failed(applyOpPatternsGreedily(inF64, std::move(calls), config)))
    return failure();
  // Lowers the exponentials and logarithms that the polynomials introduced.
  config.setStrictness(GreedyRewriteStrictness::AnyOp);
  return applyPatternsGreedily(module, frozen, config);
}

namespace {
struct ConvertRTToLLVMPass
    : tessera::impl::ConvertRTToLLVMPassBase<ConvertRTToLLVMPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpPassManager toLLVM(ModuleOp::getOperationName());
    toLLVM.addPass(createLowerAffinePass());
    toLLVM.addPass(createSCFToControlFlowPass());
    if (rt::getTarget(module) == rt::Target::CudaEmulated)
      toLLVM.addPass(createConvertVectorToLLVMPass());
    toLLVM.addPass(createConvertMathToLLVMPass());
    toLLVM.addPass(createConvertMathToLibmPass());
    toLLVM.addPass(createArithToLLVMConversionPass());
    toLLVM.addPass(createFinalizeMemRefToLLVMConversionPass());
    ConvertFuncToLLVMPassOptions bare;
    bare.useBarePtrCallConv = true;
    toLLVM.addPass(createConvertFuncToLLVMPass(bare));
    toLLVM.addPass(createConvertControlFlowToLLVMPass());
    defineIntegerDivisions(module);
    expandIntegerPowers(module);
    if (failed(approximateMath(module)) || failed(runPipeline(toLLVM, module)))
      return signalPassFailure();
    convertSteps(module);
    OpPassManager finish(ModuleOp::getOperationName());
    finish.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(finish, module)))
      return signalPassFailure();
    finishKernels(module);
    createManifest(module);
    // The mesh is no longer needed: the manifest has its contents.
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (op.getName().getDialectNamespace() == "dist")
        op.erase();
  }
};
} // namespace
