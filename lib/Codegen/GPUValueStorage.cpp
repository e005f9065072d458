//===- GPUValueStorage.cpp - Storage of values in GPU kernels -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUPlanner.h"
#include "dialects/RT/RT.h"
#include "runtime/include/tessera_rt_cuda.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

/// True if all readers in the kernel traverse the row in the same way as the op
/// that computes it.
bool GPUPlanner::isReadAlike(Value value) const {
  int64_t elements = rowElements(value);
  auto alike = [&](const OpPlan &op, OpOperand &operand) {
    auto linear = access(op, operand);
    return linear && isShared(op) && !op.shared().runs.empty() &&
           readsAlike(op, op.shared(), *linear, elements);
  };
  for (const OpPlan &op : plan.ops)
    for (OpOperand &operand : op.op->getOpOperands()) {
      linalg::GenericOp generic = op.op;
      bool makes = generic.isDpsInit(&operand) &&
                   generic.getTiedOpResult(&operand) == value;
      if ((makes || operand.get() == value) && !alike(op, operand))
        return false;
    }
  return true;
}

void GPUPlanner::chooseStorage() {
  Operation *terminator = kernel.front().getTerminator();
  for (const OpPlan &op : plan.ops)
    for (Value value : op.op->getResults()) {
      bool isResult = llvm::is_contained(terminator->getOperands(), value);
      bool isRead = llvm::any_of(value.getUsers(), [&](Operation *user) {
        return user != terminator;
      });
      ValueStorage &kind = plan.valueStorage[value];
      if (op.work == RowWork::FusedColumnReduction)
        kind = ValueStorage::Memory;
      else if (rowElements(value) == 1)
        kind = ValueStorage::Scalar;
      else if (isRead && plan.unrolled && isReadAlike(value))
        kind = ValueStorage::Registers;
      else
        kind = isResult ? ValueStorage::Memory : ValueStorage::Shared;
    }
}

/// Finds the ops at which threads wait: they read elements that other threads
/// wrote, or overwrite elements that other threads read.
void GPUPlanner::findWaits() {
  SmallPtrSet<Value, 8> written, readByOthers;
  Operation *terminator = kernel.front().getTerminator();
  for (OpPlan &op : plan.ops) {
    linalg::GenericOp generic = op.op;
    auto isAlike = [&](OpOperand &operand) {
      auto linear = access(op, operand);
      return linear && isShared(op) && !op.shared().runs.empty() &&
             readsAlike(op, op.shared(), *linear, rowElements(operand.get()));
    };
    SmallVector<Value> read;
    for (OpOperand &operand : op.op->getOpOperands()) {
      Value value = operand.get();
      auto found = plan.valueStorage.find(value);
      bool inMemory = found != plan.valueStorage.end() &&
                      (found->second == ValueStorage::Shared ||
                       found->second == ValueStorage::Memory);
      if (inMemory && written.contains(value)) {
        auto maker = llvm::find_if(plan.ops, [&](const OpPlan &other) {
          return other.op == value.getDefiningOp();
        });
        op.waits |= maker->work != RowWork::Elements || !isAlike(operand) ||
                    !isReadAlike(value);
      }
      if (isa<BlockArgument>(value) && isa<RankedTensorType>(value.getType()) &&
          !isAlike(operand))
        read.push_back(value);
    }
    for (Value value : generic->getResults())
      for (InPlace pair : inPlace)
        if (terminator->getOperand(pair.result) == value)
          op.waits |= readByOthers.contains(kernel.getArgument(pair.operand));
    if (op.waits) {
      written.clear();
      readByOthers.clear();
      needsBlock = true;
    }
    readByOthers.insert(read.begin(), read.end());
    written.insert(generic->getResults().begin(), generic->getResults().end());
    needsBlock |= op.work == RowWork::ColumnReduction;
  }
}

void GPUPlanner::layOutShared() {
  int64_t next = 0;
  auto take = [&](int64_t bytes) {
    int64_t offset = next;
    next = llvm::alignTo(next + bytes, TESSERA_RT_SHARED_ALIGNMENT);
    return offset;
  };
  for (OpPlan &op : plan.ops) {
    for (Value value : op.op->getResults())
      if (plan.valueStorage.lookup(value) == ValueStorage::Shared)
        plan.sharedOffsets[value] =
            take(rowElements(value) *
                 rt::getElementBytes(getElementTypeOrSelf(value.getType())));
    int64_t partials = 0;
    if (op.work == RowWork::Reduction && plan.threadsPerRow > kWarp)
      partials = plan.threadsPerRow / kWarp;
    if (op.work == RowWork::ColumnReduction && op.splits > 1)
      partials = (op.splits - 1) * op.parallel.size;
    int64_t bytes = 0;
    for (Value value : op.op->getResults())
      bytes += llvm::alignTo(
          partials * rt::getElementBytes(getElementTypeOrSelf(value.getType())),
          TESSERA_RT_SHARED_ALIGNMENT);
    op.scratch = take(bytes);
  }
  plan.sharedBytes = next;
}
