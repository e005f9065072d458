//===- EmulateGPU.cpp - GPU kernels as functions of the host --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs every kernel without a GPU: the same code of one thread calls the
// emulator where a GPU reads special registers.
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Codegen/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_EMULATEGPUPASS
#include "tessera/Codegen/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

namespace {

class Emulation {
public:
  explicit Emulation(ModuleOp module)
      : module(module), b(module.getLoc(), module.getContext()) {}
  LogicalResult run(gpu::GPUModuleOp device);

private:
  func::FuncOp declare(StringRef name, TypeRange arguments, TypeRange results);
  Value ask(StringRef name, Type result);
  LogicalResult replace(Operation *op, Value shared);
  LogicalResult lower(gpu::GPUFuncOp kernel, int64_t sharedBytes);

  ModuleOp module;
  ImplicitLocOpBuilder b;
};

} // namespace

func::FuncOp Emulation::declare(StringRef name, TypeRange arguments,
                                TypeRange results) {
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto func =
      func::FuncOp::create(b, name, b.getFunctionType(arguments, results));
  func.setPrivate();
  return func;
}

/// Calls a function without arguments and returns its number as an index.
Value Emulation::ask(StringRef name, Type result) {
  func::FuncOp callee = declare(name, {}, result);
  Value value = func::CallOp::create(b, callee, ValueRange()).getResult(0);
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}

/// Returns the type without its memory space.
static Type inOneMemory(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return type;
  return MemRefType::get(memref.getShape(), memref.getElementType(),
                         memref.getLayout());
}

LogicalResult Emulation::replace(Operation *op, Value shared) {
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  for (Value result : op->getResults())
    result.setType(inOneMemory(result.getType()));
  if (op->getName().getDialectNamespace() != "gpu")
    return success();
  Type word = b.getI32Type();
  Value value;
  if (isa<gpu::ThreadIdOp>(op)) {
    value = ask("tessera_emu_thread_id", word);
  } else if (isa<gpu::BlockIdOp>(op)) {
    value = ask("tessera_emu_block_id", b.getI64Type());
  } else if (isa<gpu::BarrierOp>(op)) {
    func::CallOp::create(b, declare("tessera_emu_barrier", {}, {}),
                         ValueRange());
  } else if (isa<gpu::DynamicSharedMemoryOp>(op)) {
    value = shared;
  } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    func::FuncOp callee =
        declare("tessera_emu_shuffle_xor", {word, word, word}, word);
    value =
        func::CallOp::create(b, callee,
                             ValueRange{shuffle.getValue(), shuffle.getOffset(),
                                        shuffle.getWidth()})
            .getResult(0);
  } else if (isa<gpu::ReturnOp>(op)) {
    func::ReturnOp::create(b);
  } else {
    return op->emitError("expects an op that the emulator knows but got ")
           << op->getName();
  }
  if (value)
    op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return success();
}

LogicalResult Emulation::lower(gpu::GPUFuncOp kernel, int64_t sharedBytes) {
  b.setLoc(kernel.getLoc());
  b.setInsertionPointToEnd(module.getBody());
  // The block's shared memory is an additional argument.
  auto sharedType = MemRefType::get({sharedBytes}, b.getI8Type());
  SmallVector<Type> types(kernel.getArgumentTypes());
  types.push_back(sharedType);
  auto func =
      func::FuncOp::create(b, kernel.getName(), b.getFunctionType(types, {}));
  func.setPrivate();
  func->setAttr(RTDialect::kKernelAttr, b.getUnitAttr());
  func.getBody().takeBody(kernel.getBody());
  Value shared = func.front().addArgument(sharedType, kernel.getLoc());
  b.setInsertionPointToStart(&func.front());
  Value bytes = memref::CastOp::create(
      b, MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), shared);
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (op != func)
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (failed(replace(op, bytes)))
      return failure();
  return success();
}

LogicalResult Emulation::run(gpu::GPUModuleOp device) {
  llvm::StringMap<int64_t> shared;
  module.walk([&](rt::LaunchDeviceOp op) {
    shared[op.getKernel().getLeafReference()] = op.getShared();
  });
  for (auto table :
       llvm::make_early_inc_range(device.getOps<memref::GlobalOp>()))
    table->moveBefore(module.getBody(), module.getBody()->begin());
  SmallVector<gpu::GPUFuncOp> kernels(device.getOps<gpu::GPUFuncOp>());
  device->remove();
  LogicalResult result = success();
  for (gpu::GPUFuncOp kernel : kernels)
    if (succeeded(result))
      result = lower(kernel, shared.lookup(kernel.getName()));
  device->destroy();
  return result;
}

namespace {
struct EmulateGPUPass : tessera::impl::EmulateGPUPassBase<EmulateGPUPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (rt::getTarget(module) != rt::Target::CudaEmulated)
      return;
    for (auto device :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>()))
      if (failed(Emulation(module).run(device)))
        return signalPassFailure();
  }
};
} // namespace
