//===- ConvertRTToLLVM.cpp - Everything becomes LLVM dialect --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels and scalars by upstream conversions with bare pointers; then the
// step, by hand, because each call's status is checked: it may have some
// hundred thousand ops, so it is expanded where no further pass reads it. Then
// the entries of kernels, which unpack the arguments that the runtime passes.
//
//===----------------------------------------------------------------------===//

#include "DeviceProgram.h"
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
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_CONVERTRTTOLLVMPASS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::CallArgument;
using rt::RTDialect;

static constexpr StringLiteral kEntrySuffix = "_entry";
static constexpr StringLiteral kStepName = "tessera_program_step";

//===----------------------------------------------------------------------===//
// The step function
//===----------------------------------------------------------------------===//

namespace {

class StepToLLVM {
public:
  explicit StepToLLVM(LLVM::LLVMFuncOp step)
      : step(step), module(step->getParentOfType<ModuleOp>()),
        b(step.getLoc(), step.getContext()),
        pointer(LLVM::LLVMPointerType::get(step.getContext())) {}
  void run();

private:
  LLVM::LLVMFuncOp declare(StringRef name, Type result, TypeRange arguments);
  Value table(ArrayRef<int64_t> values);
  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(b, b.getI64Type(), value);
  }
  /// What an index has become; its cast goes with the others.
  Value toInt64(Value index) {
    return UnrealizedConversionCastOp::create(b, b.getI64Type(), index)
        .getResult(0);
  }
  Value address(int64_t offset);
  Value store(ArrayRef<Value> arguments);
  Value lower(const CallArgument &argument);
  void lower(rt::RuntimeCallOpInterface op);
  void lower(rt::AxisOffsetOp op);

  LLVM::LLVMFuncOp step;
  ModuleOp module;
  ImplicitLocOpBuilder b;
  Type pointer;
  Value context, arena;
  /// Stack space for the packed arguments of one call.
  Value packed;
  /// Returns a status that is not 0; null if nothing can fail.
  Block *failed = nullptr;
  llvm::StringMap<LLVM::LLVMFuncOp> declared;
  llvm::MapVector<Attribute, StringRef> tables;
};

} // namespace

LLVM::LLVMFuncOp StepToLLVM::declare(StringRef name, Type result,
                                     TypeRange arguments) {
  LLVM::LLVMFuncOp &function = declared[name];
  if (function || (function = module.lookupSymbol<LLVM::LLVMFuncOp>(name)))
    return function;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  SmallVector<Type> types(arguments);
  return function = LLVM::LLVMFuncOp::create(
             b, name, LLVM::LLVMFunctionType::get(result, types));
}

/// A constant array; equal ones are one.
Value StepToLLVM::table(ArrayRef<int64_t> values) {
  if (values.empty())
    return LLVM::ZeroOp::create(b, pointer);
  auto [it, isNew] =
      tables.insert({b.getDenseI64ArrayAttr(values), StringRef()});
  if (isNew) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI64Type(), values.size());
    auto data = DenseElementsAttr::get(
        RankedTensorType::get({int64_t(values.size())}, b.getI64Type()),
        values);
    auto global = LLVM::GlobalOp::create(
        b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
        "descriptor_" + std::to_string(tables.size() - 1), data,
        /*alignment=*/8);
    it->second = global.getSymName();
  }
  return LLVM::AddressOfOp::create(b, pointer, it->second);
}

Value StepToLLVM::address(int64_t offset) {
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), arena,
                             ValueRange{constant(offset)});
}

/// Writes arguments to the stack and gives their address.
Value StepToLLVM::store(ArrayRef<Value> values) {
  for (auto [i, value] : llvm::enumerate(values)) {
    Value address = LLVM::GEPOp::create(b, pointer, b.getI64Type(), packed,
                                        ArrayRef<LLVM::GEPArg>{int32_t(i)});
    LLVM::StoreOp::create(b, value, address);
  }
  return packed;
}

Value StepToLLVM::lower(const CallArgument &argument) {
  switch (argument.kind) {
  case CallArgument::Int32:
    return LLVM::ConstantOp::create(b, b.getI32Type(),
                                    b.getI32IntegerAttr(argument.integer));
  case CallArgument::Int64:
    return constant(argument.integer);
  case CallArgument::Address:
    return address(argument.integer);
  case CallArgument::Array:
    return table(argument.array);
  case CallArgument::Scalar:
    return toInt64(argument.scalars[0]);
  case CallArgument::Function: {
    std::string name = (argument.symbol + kEntrySuffix).str();
    declare(name, LLVM::LLVMVoidType::get(b.getContext()),
            {pointer, b.getI64Type(), b.getI64Type()});
    return LLVM::AddressOfOp::create(b, pointer, name);
  }
  case CallArgument::Null:
    return LLVM::ZeroOp::create(b, pointer);
  case CallArgument::Packed: {
    SmallVector<Value> values;
    for (int64_t offset : argument.array)
      values.push_back(
          LLVM::PtrToIntOp::create(b, b.getI64Type(), address(offset)));
    for (Value scalar : argument.scalars)
      values.push_back(toInt64(scalar));
    return store(values);
  }
  case CallArgument::Starts: {
    SmallVector<Value> values(argument.array[0], constant(0));
    values[argument.integer] = toInt64(argument.scalars[0]);
    return store(values);
  }
  case CallArgument::Result:
    return packed;
  }
  llvm_unreachable("unknown argument");
}

/// A call, a branch to the function's end where its status is not 0, and the
/// result that it has left.
void StepToLLVM::lower(rt::RuntimeCallOpInterface op) {
  b.setLoc(op.getLoc());
  b.setInsertionPoint(op);
  SmallVector<Value> arguments{context};
  for (const CallArgument &argument : op.getCallArguments())
    arguments.push_back(lower(argument));
  LLVM::LLVMFuncOp callee =
      declare(op.getCallee(), b.getI32Type(), ValueRange(arguments).getTypes());
  Value status = LLVM::CallOp::create(b, callee, arguments).getResult();
  Value zero = LLVM::ConstantOp::create(b, b.getI32Type(), 0);
  Value good = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, status, zero);
  Block *next = op->getBlock()->getNextNode();
  LLVM::CondBrOp::create(b, good, next, ValueRange(), failed,
                         ValueRange(status));
  if (op->getNumResults()) {
    b.setInsertionPointToStart(next);
    Value left = LLVM::LoadOp::create(b, b.getI64Type(), packed);
    op->getResult(0).replaceAllUsesWith(
        LLVM::TruncOp::create(b, b.getI1Type(), left));
  }
  op.erase();
}

void StepToLLVM::lower(rt::AxisOffsetOp op) {
  b.setLoc(op.getLoc());
  b.setInsertionPoint(op);
  SmallVector<Value> arguments{
      context, table(op.getAxes()),
      LLVM::ConstantOp::create(b, b.getI32Type(),
                               b.getI32IntegerAttr(op.getAxes().size() / 2)),
      constant(op.getLocalSize())};
  LLVM::LLVMFuncOp callee = declare("tessera_rt_axis_offset", b.getI64Type(),
                                    ValueRange(arguments).getTypes());
  Value value = LLVM::CallOp::create(b, callee, arguments).getResult();
  auto index = UnrealizedConversionCastOp::create(b, b.getIndexType(), value);
  op.replaceAllUsesWith(index.getResult(0));
  op.erase();
}

void StepToLLVM::run() {
  SmallVector<Operation *> ops;
  int64_t maxPacked = 1;
  step.walk([&](Operation *op) {
    if (isa<rt::AxisOffsetOp>(op))
      ops.push_back(op);
    if (auto call = dyn_cast<rt::RuntimeCallOpInterface>(op)) {
      ops.push_back(op);
      for (const CallArgument &argument : call.getCallArguments())
        maxPacked = std::max(maxPacked, argument.kind == CallArgument::Starts
                                            ? argument.array[0]
                                            : int64_t(argument.array.size() +
                                                      argument.scalars.size()));
    }
  });
  // A block ends after each call; the last is split first, so that few ops
  // move.
  for (Operation *op : llvm::reverse(ops))
    if (isa<rt::RuntimeCallOpInterface>(op))
      op->getBlock()->splitBlock(op->getNextNode());
  step.setName(kStepName);
  step.setFunctionType(LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer}));
  Block &entry = step.front();
  context = entry.addArgument(pointer, step.getLoc());
  b.setInsertionPointToStart(&entry);
  packed =
      LLVM::AllocaOp::create(b, pointer, b.getI64Type(), constant(maxPacked));
  arena = LLVM::CallOp::create(b, declare("tessera_rt_arena", pointer, pointer),
                               context)
              .getResult();
  bool makesCalls = llvm::any_of(
      ops, [](Operation *op) { return isa<rt::RuntimeCallOpInterface>(op); });
  if (makesCalls) {
    failed = new Block();
    step.getBody().push_back(failed);
    failed->addArgument(b.getI32Type(), step.getLoc());
    b.setInsertionPointToEnd(failed);
    LLVM::ReturnOp::create(b, failed->getArgument(0));
  }
  step.walk([&](LLVM::ReturnOp op) {
    if (op.getNumOperands())
      return;
    b.setInsertionPoint(op);
    Value zero = LLVM::ConstantOp::create(b, b.getI32Type(), 0);
    LLVM::ReturnOp::create(b, zero);
    op.erase();
  });
  for (Operation *op : ops) {
    if (auto offset = dyn_cast<rt::AxisOffsetOp>(op))
      lower(offset);
    else
      lower(cast<rt::RuntimeCallOpInterface>(op));
  }
  step->removeAttr(RTDialect::kStepAttr);
  step->removeAttr(RTDialect::kArenaBytesAttr);
}

//===----------------------------------------------------------------------===//
// Kernels, manifest
//===----------------------------------------------------------------------===//

/// Gives the entry of a kernel its body: unpack the arguments, call.
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

/// What a program for a device, or for the emulator of one, says of its
/// kernels.
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

/// Kernels are called by their entries only; tensors of one call do not overlap
/// (a result that overwrites an operand is the same argument) and are aligned
/// as the arena is.
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
    auto entry = module.lookupSymbol<LLVM::LLVMFuncOp>(
        (kernel.getSymName() + kEntrySuffix).str());
    defineEntry(entry, kernel);
  }
  if (!isHost)
    describeDevice(module, emulated);
}

/// The step is a list of calls, up to some ten thousand, each made once: there
/// is nothing to optimize, and passes that are not linear in the length of a
/// function took longer for it than for all kernels.
static void finishStep(ModuleOp module) {
  if (auto step = module.lookupSymbol<LLVM::LLVMFuncOp>(kStepName)) {
    step.setNoInline(true);
    step.setOptimizeNone(true);
  }
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

/// exp, tanh, log and the like become polynomials, which are vectors where the
/// loop is; narrow floats are computed in f32. What is not named here, and f64,
/// calls the library: of the other polynomials of MLIR, those of atan and erfc
/// have wrong digits, those of atan2 and cbrt divide, which is wrong for
/// infinities and zeros, and those that MathFunctions.h stands in for are wrong
/// for the largest and the least numbers.
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
  // The conversion to LLVM subtracts 1 from an exponential, and adds 1 to what
  // it takes the logarithm of.
  SmallVector<Operation *> inF64;
  module.walk([&](Operation *op) {
    if (isa<math::ExpM1Op, math::Log1pOp>(op))
      inF64.push_back(op);
  });
  RewritePatternSet calls(context);
  populateMathToLibmConversionPatterns(calls);
  if (failed(applyOpPatternsGreedily(inF64, std::move(calls), config)))
    return failure();
  // Exponentials and logarithms that the polynomials have left.
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
    for (auto func :
         llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
      if (func->hasAttr(RTDialect::kStepAttr))
        StepToLLVM(func).run();
    OpPassManager finish(ModuleOp::getOperationName());
    finish.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(finish, module)))
      return signalPassFailure();
    finishKernels(module);
    finishStep(module);
    createManifest(module);
    // The mesh has done its work: what it says is in the manifest.
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (op.getName().getDialectNamespace() == "dist")
        op.erase();
  }
};
} // namespace
