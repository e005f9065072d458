//===- LowerGPUKernels.cpp - Lowers a kernel on tensors to GPU threads ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/LowerGPUKernels.h"
#include "GPUThread.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Function and memory
//===----------------------------------------------------------------------===//

/// Returns the tensors in global memory, in the order of arguments.
SmallVector<Value> GPUThreadCode::memoryValues() const {
  SmallVector<Value> values;
  func::FuncOp func = kernel;
  for (BlockArgument argument : func.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      values.push_back(argument);
  for (OpOperand &operand : func.front().getTerminator()->getOpOperands())
    if (llvm::none_of(inPlace, [&](InPlace pair) {
          return pair.result == operand.getOperandNumber();
        }))
      values.push_back(operand.get());
  return values;
}

SmallVector<Type> GPUThreadCode::argumentTypes() const {
  SmallVector<Type> types;
  for (Value value : memoryValues())
    types.push_back(flat(cast<RankedTensorType>(value.getType())));
  func::FuncOp func = kernel;
  for (BlockArgument argument : func.getArguments())
    if (argument.getType().isIndex())
      types.push_back(argument.getType());
  return types;
}

/// Creates a view of a buffer in the block's shared memory.
Value GPUThreadCode::view(int64_t offset, Type element, int64_t count) {
  auto type = MemRefType::get(
      {count}, element, MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup));
  return memref::ViewOp::create(b, type, shared, index(offset), ValueRange());
}

void GPUThreadCode::createShared() {
  if (!plan.sharedBytes)
    return;
  auto type = MemRefType::get(
      {ShapedType::kDynamic}, b.getI8Type(), MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup));
  shared = gpu::DynamicSharedMemoryOp::create(b, type);
  for (const OpPlan &next : plan.ops)
    for (OpResult value : linalg::GenericOp(next.op)->getResults()) {
      auto offset = plan.sharedOffsets.find(value);
      if (offset == plan.sharedOffsets.end())
        continue;
      auto tensor = cast<RankedTensorType>(value.getType());
      storage[value] = {view(offset->second, tensor.getElementType(),
                             tensor.getNumElements() / plan.rows),
                        SmallVector<int64_t>(tensor.getShape()), next.rowLoops};
    }
}

void GPUThreadCode::emit(OpBuilder point, gpu::GPUModuleOp module, Value block,
                         Value thread, ValueRange arguments) {
  b.restoreInsertionPoint(point.saveInsertionPoint());
  unsigned next = 0;
  for (Value value : memoryValues())
    storage[value] = {arguments[next++],
                      SmallVector<int64_t>(
                          cast<RankedTensorType>(value.getType()).getShape())};
  for (BlockArgument argument : kernel.getArguments())
    if (argument.getType().isIndex())
      scalars.map(argument, arguments[next++]);
  Operation *terminator = kernel.front().getTerminator();
  for (InPlace pair : inPlace)
    storage[terminator->getOperand(pair.result)] =
        storage.lookup(kernel.getArgument(pair.operand));
  for (auto constant : kernel.front().getOps<arith::ConstantOp>())
    createConstant(constant, module);
  createShared();
  if (plan.flat)
    lowerFlat(block, thread);
  else
    lowerRows(block, thread);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Builds the code of each chunk of a thread. In a loop no chunk is inactive;
/// otherwise a thread without a chunk repeats the last one.
void GPUThreadCode::forRounds(
    llvm::function_ref<void(Value, unsigned, Value)> build) {
  if (plan.flat)
    return build(flatChunk, 0, Value());
  if (!plan.unrolled) {
    auto loop = scf::ForOp::create(b, lane, index(op->chunks),
                                   index(plan.threadsPerRow));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    return build(loop.getInductionVar(), 0, Value());
  }
  for (int64_t i = 0; i < op->chunksPerThread; ++i) {
    Value number = i ? add(lane, index(i * plan.threadsPerRow)) : lane;
    Value isActive;
    if ((i + 1) * plan.threadsPerRow > op->chunks) {
      Value end = index(op->chunks);
      isActive =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, end);
      number =
          arith::SelectOp::create(b, isActive, number, index(op->chunks - 1));
    }
    build(number, i, isActive);
  }
}

/// Builds a loop over all reductions, from `begin` on, that carries sums.
SmallVector<Value> GPUThreadCode::sumLoop(
    Value begin, int64_t step, ValueRange starts,
    llvm::function_ref<SmallVector<Value>(ValueRange)> build) {
  auto loop = scf::ForOp::create(b, begin, index(op->reductions.size),
                                 index(step), starts);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  atReduction(loop.getInductionVar());
  // Values loaded in the loop are not available after it.
  auto before = kept;
  scf::YieldOp::create(b, build(loop.getRegionIterArgs()));
  kept = std::move(before);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> GPUThreadCode::startValues() {
  SmallVector<Value> starts;
  for (OpOperand &init : linalg::GenericOp(op->op).getDpsInitsMutable())
    starts.push_back(startValue(init));
  return starts;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

void GPUThreadCode::lower(const OpPlan &next) {
  op = &next;
  b.setLoc(linalg::GenericOp(next.op).getLoc());
  if (next.waits)
    gpu::BarrierOp::create(b);
  atRow();
  parallelIndices.clear();
  reductionIndices.clear();
  parallelIndex = reductionIndex = Value();
  element = round = 0;
  switch (next.work) {
  case RowWork::Scalar:
    return lowerScalar();
  case RowWork::Elements:
    return lowerElements();
  case RowWork::Reduction:
    return lowerReduction();
  case RowWork::Sums:
    return lowerSums();
  case RowWork::ColumnReduction:
    return lowerColumns();
  case RowWork::FusedColumnReduction:
    return lowerCarried();
  }
}

void GPUThreadCode::lowerOps() {
  for (const OpPlan &next : plan.ops)
    lower(next);
}

void GPUThreadCode::lowerFlat(Value block, Value thread) {
  int64_t threads = plan.rows * plan.threadsPerRow;
  Value number = add(scale(block, plan.block), thread);
  Value isInside;
  if (threads % plan.block)
    isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                     index(threads));
  when(isInside, [&] {
    int64_t bound = plan.grid * plan.block;
    row = divide(number, plan.threadsPerRow, bound, /*remainder=*/false);
    flatChunk = divide(number, plan.threadsPerRow, bound, /*remainder=*/true);
    lowerOps();
  });
}

void GPUThreadCode::lowerRows(Value block, Value thread) {
  row = block;
  lane = thread;
  if (plan.rowsPerBlock > 1) {
    Value rowOfBlock =
        divide(thread, plan.threadsPerRow, plan.block, /*remainder=*/false);
    lane = divide(thread, plan.threadsPerRow, plan.block, /*remainder=*/true);
    row = add(scale(block, plan.rowsPerBlock), rowOfBlock);
    int64_t rows = plan.rows / plan.rowsPerSum;
    if (rows % plan.rowsPerBlock) {
      hasRow =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, index(rows));
      row = arith::SelectOp::create(b, hasRow, row, index(rows - 1));
    }
  }
  if (plan.rowsPerSum > 1)
    return lowerRowsInTurn(row);
  lowerOps();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Creates an empty kernel at the end of `module` and moves the builder into
/// it.
static gpu::GPUFuncOp createKernel(ImplicitLocOpBuilder &b,
                                   gpu::GPUModuleOp module, StringRef name,
                                   ArrayRef<Type> types, int64_t block) {
  b.setInsertionPointToEnd(module.getBody());
  auto func = gpu::GPUFuncOp::create(b, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(block), 1, 1}));
  b.setInsertionPointToStart(&func.getBody().front());
  return func;
}

GPUKernel tessera::lowerGPUKernel(gpu::GPUModuleOp module, func::FuncOp kernel,
                                  ArrayRef<InPlace> inPlace, StringRef name) {
  KernelPlan plan = planGPUKernel(kernel, inPlace, /*block=*/0);
  GPUThreadCode code(kernel, inPlace, plan);
  ImplicitLocOpBuilder b(kernel.getLoc(), kernel.getContext());
  gpu::GPUFuncOp func =
      createKernel(b, module, name, code.argumentTypes(), plan.block);
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  gpu::ReturnOp end = gpu::ReturnOp::create(b);
  b.setInsertionPoint(end);
  code.emit(b, module, block, thread, func.getArguments());
  return {func, plan.grid, plan.block, plan.sharedBytes};
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

namespace {

/// The calls of a batch that run the same code.
struct Variant {
  const BatchMember *first;
  SmallVector<const BatchMember *> members;
  KernelPlan plan;
};

} // namespace

/// Returns the arguments of the call with this number within a variant.
static SmallVector<Value> chooseArguments(ImplicitLocOpBuilder &b,
                                          const Variant &variant, Value number,
                                          ValueRange arguments) {
  auto argumentsOf = [&](const BatchMember *member) {
    SmallVector<Value> values;
    for (unsigned argument : member->arguments)
      values.push_back(arguments[argument]);
    return values;
  };
  size_t count = variant.members.size();
  if (count == 1)
    return argumentsOf(variant.first);
  SmallVector<Value> last = argumentsOf(variant.members.back());
  SmallVector<int64_t> cases;
  for (size_t i = 0; i + 1 < count; ++i)
    cases.push_back(i);
  auto choice = scf::IndexSwitchOp::create(b, ValueRange(last).getTypes(),
                                           number, cases, cases.size());
  OpBuilder::InsertionGuard guard(b);
  for (size_t i = 0; i < count; ++i) {
    Region &region =
        i + 1 < count ? choice.getCaseRegions()[i] : choice.getDefaultRegion();
    b.createBlock(&region);
    scf::YieldOp::create(b, argumentsOf(variant.members[i]));
  }
  return SmallVector<Value>(choice.getResults());
}

GPUKernel tessera::lowerGPUBatch(gpu::GPUModuleOp module, Location loc,
                                 ArrayRef<BatchMember> members,
                                 ArrayRef<Type> types, StringRef name) {
  // All members use one block size, so that no thread is idle.
  SmallVector<Variant, 0> variants;
  for (const BatchMember &member : members) {
    auto *known = llvm::find_if(variants, [&](const Variant &variant) {
      return variant.first->kernel == member.kernel &&
             variant.first->inPlace == member.inPlace;
    });
    if (known == variants.end()) {
      variants.push_back(
          {&member,
           {},
           planGPUKernel(member.kernel, member.inPlace, kBlockThreads)});
      known = &variants.back();
    }
    known->members.push_back(&member);
  }
  ImplicitLocOpBuilder b(loc, module.getContext());
  GPUKernel made;
  made.block = kBlockThreads;
  made.func = createKernel(b, module, name, types, kBlockThreads);
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  gpu::ReturnOp end = gpu::ReturnOp::create(b);
  b.setInsertionPoint(end);
  // Blocks are assigned variant by variant, and call by call within a variant.
  int64_t first = 0;
  for (const Variant &variant : variants) {
    int64_t count = variant.members.size() * variant.plan.grid;
    made.sharedBytes = std::max(made.sharedBytes, variant.plan.sharedBytes);
    // The conditions follow each other instead of nesting: the GPU tracks only
    // a limited depth of branches.
    OpBuilder::InsertionGuard guard(b);
    if (variants.size() > 1) {
      Value from = arith::ConstantIndexOp::create(b, first);
      Value within = arith::SubIOp::create(b, block, from);
      Value isHere =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, within,
                                arith::ConstantIndexOp::create(b, count));
      auto branch = scf::IfOp::create(b, isHere, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value local = block;
    if (first)
      local = arith::SubIOp::create(b, block,
                                    arith::ConstantIndexOp::create(b, first));
    Value number = local, within = local;
    Value grid = arith::ConstantIndexOp::create(b, variant.plan.grid);
    if (variant.members.size() > 1) {
      number = arith::DivUIOp::create(b, local, grid);
      within = arith::RemUIOp::create(b, local, grid);
    }
    SmallVector<Value> arguments =
        chooseArguments(b, variant, number, made.func.getArguments());
    GPUThreadCode code(variant.first->kernel, variant.first->inPlace,
                       variant.plan);
    code.emit(b, module, within, thread, arguments);
    first += count;
  }
  made.grid = first;
  return made;
}
