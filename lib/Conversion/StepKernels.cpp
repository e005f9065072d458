//===- StepKernels.cpp - Launches of kernels ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepLowering.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

/// Finds the results of a call that overwrite one of its operands.
static SmallVector<InPlace>
findInPlace(rt::KernelOp op, llvm::function_ref<int64_t(Value)> operandOffset,
            llvm::function_ref<int64_t(unsigned)> resultOffset) {
  SmallVector<InPlace> inPlace;
  for (unsigned r = 0; r < op.getNumResults(); ++r)
    for (OpOperand &operand : op->getOpOperands())
      if (op.mayReuse(r, operand.getOperandNumber()) &&
          operandOffset(operand.get()) == resultOffset(r)) {
        inPlace.push_back({r, operand.getOperandNumber()});
        break;
      }
  return inPlace;
}

void StepLowering::lowerKernelCall(rt::KernelOp op) {
  auto kernel = module.lookupSymbol<func::FuncOp>(op.getCallee());
  if (kernel->hasAttr(RTDialect::kBatchAttr))
    return lowerBatch(op, kernel);
  SmallVector<int64_t> addresses;
  SmallVector<Value> scalarValues;
  std::string name = op.getCallee().str() + (device ? "" : "_loops");
  for (Value operand : op.getOperands()) {
    if (isa<RankedTensorType>(operand.getType()))
      addresses.push_back(offsetOf(operand));
    else
      scalarValues.push_back(scalars.lookup(operand));
  }
  SmallVector<InPlace> inPlace = findInPlace(
      op, [&](Value operand) { return offsetOf(operand); },
      [&](unsigned r) { return offsetOf(op.getResult(r)); });
  for (OpResult result : op.getResults()) {
    unsigned r = result.getResultNumber();
    auto *pair =
        llvm::find_if(inPlace, [&](InPlace p) { return p.result == r; });
    if (pair != inPlace.end())
      name +=
          "_" + std::to_string(r) + "_over_" + std::to_string(pair->operand);
    else
      addresses.push_back(offsetOf(result));
  }
  if (device)
    return launchOnDevice(kernel, inPlace, name, addresses, scalarValues);
  func::FuncOp &loops = lowered[name];
  if (!loops)
    loops = lowerKernel(kernel, inPlace, name);
  int64_t rows =
      kernel->getAttrOfType<IntegerAttr>(RTDialect::kRowsAttr).getInt();
  rt::LaunchOp::create(b, name, rows, getKernelGrain(kernel), addresses,
                       scalarValues);
}

void StepLowering::launchOnDevice(func::FuncOp kernel,
                                  ArrayRef<InPlace> inPlace, StringRef name,
                                  ArrayRef<int64_t> addresses,
                                  ValueRange scalarValues) {
  int64_t count = deviceKernels.size();
  auto [it, isNew] = deviceKernels.try_emplace(name);
  auto &[made, number] = it->second;
  if (isNew) {
    made = lowerGPUKernel(device, kernel, inPlace, name);
    number = count;
  }
  createLaunch(name, addresses, scalarValues);
}

/// Launches a kernel of the device.
void StepLowering::createLaunch(StringRef name, ArrayRef<int64_t> addresses,
                                ValueRange scalarValues) {
  const auto &[made, number] = deviceKernels.find(name)->second;
  auto symbol =
      SymbolRefAttr::get(b.getContext(), RTDialect::kDeviceModule,
                         {FlatSymbolRefAttr::get(b.getContext(), name)});
  rt::LaunchDeviceOp::create(b, symbol, number, made.grid, made.block,
                             made.sharedBytes, addresses, scalarValues);
}

/// Builds one launch for all calls of a batch. An operand shared by several
/// calls is one argument.
void StepLowering::lowerBatch(rt::KernelOp op, func::FuncOp batch) {
  auto offsetInside = [&](Value value) {
    return offsetOf(op.getOperand(cast<BlockArgument>(value).getArgNumber()));
  };
  SmallVector<Type> types;
  SmallVector<int64_t> addresses;
  SmallVector<Value> scalarValues;
  llvm::DenseMap<Value, unsigned> positions;
  auto addMemory = [&](Value value, int64_t offset) {
    auto type = cast<RankedTensorType>(value.getType());
    auto [it, isNew] = positions.insert({value, types.size()});
    if (isNew) {
      types.push_back(
          MemRefType::get({type.getNumElements()}, type.getElementType()));
      addresses.push_back(offset);
    }
    return it->second;
  };
  SmallVector<BatchMember> members;
  Operation *terminator = batch.front().getTerminator();
  SmallVector<rt::KernelOp> calls(batch.front().getOps<rt::KernelOp>());
  for (rt::KernelOp call : calls) {
    auto resultOffset = [&](unsigned r) {
      for (OpOperand &use : terminator->getOpOperands())
        if (use.get() == call.getResult(r))
          return offsetOf(op.getResult(use.getOperandNumber()));
      llvm_unreachable("a batch returns all that its kernels make");
    };
    BatchMember member;
    member.kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
    member.inPlace = findInPlace(call, offsetInside, resultOffset);
    for (Value operand : call.getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        member.arguments.push_back(addMemory(operand, offsetInside(operand)));
    for (OpResult result : call.getResults())
      if (llvm::none_of(member.inPlace, [&](InPlace pair) {
            return pair.result == result.getResultNumber();
          }))
        member.arguments.push_back(
            addMemory(result, resultOffset(result.getResultNumber())));
    members.push_back(std::move(member));
  }
  // Scalars come after all memory.
  for (auto [member, call] : llvm::zip(members, calls))
    for (Value operand : call.getOperands())
      if (operand.getType().isIndex()) {
        auto [it, isNew] = positions.insert({operand, types.size()});
        if (isNew) {
          types.push_back(operand.getType());
          scalarValues.push_back(scalars.lookup(
              op.getOperand(cast<BlockArgument>(operand).getArgNumber())));
        }
        member.arguments.push_back(it->second);
      }
  // Equal calls in several functions share a kernel if they write in place
  // alike.
  std::string name = op.getCallee().str();
  for (auto [i, member] : llvm::enumerate(members))
    for (InPlace pair : member.inPlace)
      name += llvm::formatv("_{0}_{1}_over_{2}", i, pair.result, pair.operand);
  int64_t number = deviceKernels.size();
  auto [it, isNew] = deviceKernels.try_emplace(name);
  if (isNew)
    it->second = {lowerGPUBatch(device, op.getLoc(), members, types, name),
                  number};
  createLaunch(name, addresses, scalarValues);
}
