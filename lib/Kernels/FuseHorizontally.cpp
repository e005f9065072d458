//===- FuseHorizontally.cpp - Horizontal fusion of small kernels ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits ops in program order. Open batches are levels: a kernel joins the
// level after the last one that it reads from. An op that reads from a level
// without joining one closes that level and all before it, so that they run
// before the op. So a kernel only moves down, and never past its readers.
//
// Kernels that may not wait can still be launched with their neighbours:
// consecutive small kernels that do not depend on each other, such as the final
// sums of one kernel's partial sums.
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Kernels/StepFunction.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {
#define GEN_PASS_DEF_FUSEHORIZONTALLYPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

namespace {

/// Bytes of tensors that may live a little longer.
constexpr int64_t kSmall = 256 * 1024;
/// Parameters of a launch: CUDA takes 32764 bytes of them.
constexpr size_t kMaxArguments = 4000;
/// Bytes of the tensors of a kernel that leaves most of a GPU idle.
constexpr int64_t kLittle = 32 * 1024 * 1024;
/// Kernels merged into one function: each is a branch, and the GPU tracks only
/// few branches at a time without spilling.
constexpr size_t kMaxKernels = 8;

class Batcher {
public:
  /// `count` is the number of batches so far, for their names.
  Batcher(ModuleOp module, Block &block, unsigned &count)
      : module(module), symbols(module), block(block), count(count) {}
  void run();

private:
  struct Batch {
    SmallVector<rt::KernelOp> calls;
    llvm::SmallPtrSet<Operation *, 8> members;
    llvm::StringSet<> callees;
    size_t arguments = 0;
    /// True if one of its calls reads from a batch, maybe a closed one.
    bool follows = false;

    bool hasRoom(rt::KernelOp call) const {
      size_t more = call.getNumOperands() + call.getNumResults();
      return arguments + more <= kMaxArguments &&
             (callees.contains(call.getCallee()) ||
              callees.size() < kMaxKernels);
    }
    void add(rt::KernelOp call) {
      calls.push_back(call);
      members.insert(call);
      callees.insert(call.getCallee());
      arguments += call.getNumOperands() + call.getNumResults();
    }
  };

  void batchNeighbours();
  bool isBatch(rt::KernelOp op) const;
  bool isLittle(rt::KernelOp op) const;
  bool mayWait(rt::KernelOp op) const;
  bool hasLaterReader(Value value, Operation *op) const;
  int lastLevel(Operation *op) const;
  void close(size_t count, Operation *before);
  void build(const Batch &batch, Operation *before);
  DenseI64ArrayAttr findReuse(func::FuncOp func) const;

  ModuleOp module;
  SymbolTable symbols;
  Block &block;
  SmallVector<Batch, 0> open;
  unsigned &count;
};

} // namespace

/// True if the memory of a value is read after `op`, under any shape.
bool Batcher::hasLaterReader(Value value, Operation *op) const {
  auto isView = [](Operation *other) {
    return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
        other);
  };
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (isa<BlockArgument>(value))
    return true;
  SmallVector<Value> same{value};
  while (!same.empty())
    for (Operation *user : same.pop_back_val().getUsers()) {
      Operation *reader = block.findAncestorOpInBlock(*user);
      if (isView(user))
        same.push_back(user->getResult(0));
      else if (reader && op->isBeforeInBlock(reader))
        return true;
    }
  return false;
}

/// True if running the kernel later keeps no large tensors alive.
bool Batcher::mayWait(rt::KernelOp op) const {
  if (op.getNumOperands() == 0)
    return false;
  // The next step is the first reader of a step's result. A loop's result has
  // a reader in the next iteration.
  bool makesResults = isa<FunctionOpInterface>(block.getParentOp()) &&
                      llvm::all_of(op->getUsers(), [&](Operation *user) {
                        return user == block.getTerminator();
                      });
  if (makesResults)
    return true;
  int64_t made = 0;
  for (Type type : op.getResultTypes())
    made += rt::getTensorBytes(cast<RankedTensorType>(type));
  return made <= kSmall && llvm::all_of(op.getOperands(), [&](Value operand) {
           auto type = dyn_cast<RankedTensorType>(operand.getType());
           return !type || rt::getTensorBytes(type) <= kSmall ||
                  hasLaterReader(operand, op);
         });
}

/// Returns the last open level that the op, or one in its regions, reads from,
/// or -1.
int Batcher::lastLevel(Operation *op) const {
  int last = -1;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      for (int level = last + 1; level < int(open.size()); ++level)
        if (open[level].members.contains(operand.getDefiningOp()))
          last = level;
  });
  return last;
}

/// Allows result r of the batch to overwrite argument a if its call allows it,
/// and nothing else in the batch reads the argument.
DenseI64ArrayAttr Batcher::findReuse(func::FuncOp func) const {
  SmallVector<int64_t> pairs;
  Operation *terminator = func.front().getTerminator();
  for (OpOperand &returned : terminator->getOpOperands()) {
    auto result = cast<OpResult>(returned.get());
    auto call = cast<rt::KernelOp>(result.getOwner());
    for (OpOperand &operand : call->getOpOperands())
      if (operand.get().hasOneUse() &&
          call.mayReuse(result.getResultNumber(), operand.getOperandNumber()))
        pairs.append(
            {int64_t(returned.getOperandNumber()),
             int64_t(cast<BlockArgument>(operand.get()).getArgNumber())});
  }
  return DenseI64ArrayAttr::get(func.getContext(), pairs);
}

void Batcher::build(const Batch &batch, Operation *before) {
  if (batch.calls.size() == 1) {
    // A kernel that reads from a batch must follow it.
    if (batch.follows)
      batch.calls.front()->moveBefore(before);
    return;
  }
  SmallVector<Value> operands;
  SmallVector<Value> results;
  llvm::SetVector<Value> tensors, scalars;
  for (rt::KernelOp call : batch.calls) {
    for (Value operand : call.getOperands())
      (isa<RankedTensorType>(operand.getType()) ? tensors : scalars)
          .insert(operand);
    llvm::append_range(results, call.getResults());
  }
  llvm::append_range(operands, tensors);
  llvm::append_range(operands, scalars);
  rt::KernelOp first = batch.calls.front();
  ImplicitLocOpBuilder b(first.getLoc(), module.getContext());
  auto func =
      func::FuncOp::create(first.getLoc(), "batch_" + std::to_string(count++),
                           b.getFunctionType(ValueRange(operands).getTypes(),
                                             ValueRange(results).getTypes()));
  func.setPrivate();
  func->setAttr(RTDialect::kKernelAttr, b.getUnitAttr());
  func->setAttr(RTDialect::kBatchAttr, b.getUnitAttr());
  b.setInsertionPointToStart(func.addEntryBlock());
  IRMapping mapping;
  mapping.map(operands, func.getArguments());
  SmallVector<Value> made;
  for (rt::KernelOp call : batch.calls)
    llvm::append_range(made, b.clone(*call, mapping)->getResults());
  func::ReturnOp::create(b, made);
  symbols.insert(func, module.getBody()->end());
  func->setAttr(RTDialect::kReuseAttr, findReuse(func));

  b.setInsertionPoint(before);
  auto launch = rt::KernelOp::create(b, ValueRange(results).getTypes(),
                                     func.getSymName(), operands);
  for (auto [value, result] : llvm::zip(results, launch.getResults()))
    value.replaceAllUsesWith(result);
  for (rt::KernelOp call : batch.calls)
    call.erase();
}

/// Closes the first `count` levels.
void Batcher::close(size_t count, Operation *before) {
  for (size_t level = 0; level < count; ++level)
    build(open[level], before);
  open.erase(open.begin(), open.begin() + count);
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

bool Batcher::isBatch(rt::KernelOp op) const {
  return symbols.lookup(op.getCallee())->hasAttr(RTDialect::kBatchAttr);
}

bool Batcher::isLittle(rt::KernelOp op) const {
  int64_t bytes = 0;
  auto add = [&](TypeRange types) {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        bytes += rt::getTensorBytes(tensor);
  };
  add(op->getOperandTypes());
  add(op->getResultTypes());
  return op.getNumOperands() != 0 && bytes <= kLittle;
}

/// Batches consecutive small kernels. Views of their results, and readers that
/// may wait, move after the launch.
void Batcher::batchNeighbours() {
  Batch batch;
  SmallVector<Operation *> followers;
  auto reads = [&](Operation *op) {
    WalkResult result = op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (batch.members.contains(operand.getDefiningOp()))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return result.wasInterrupted();
  };
  auto flush = [&](Operation *before) {
    if (batch.calls.size() > 1) {
      build(batch, before);
      for (Operation *follower : followers)
        follower->moveBefore(before);
    }
    batch = Batch();
    followers.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool readsBatch = reads(&op);
    auto call = dyn_cast<rt::KernelOp>(op);
    if ((call && mayWait(call)) ||
        isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
      if (readsBatch) {
        followers.push_back(&op);
        batch.members.insert(&op);
      }
      continue;
    }
    bool joins = call && isLittle(call);
    if (!joins || readsBatch || !batch.hasRoom(call))
      flush(&op);
    if (joins)
      batch.add(call);
  }
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

void Batcher::run() {
  batchNeighbours();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    int last = op.hasTrait<OpTrait::IsTerminator>() ? int(open.size()) - 1
                                                    : lastLevel(&op);
    auto call = dyn_cast<rt::KernelOp>(op);
    if (!call || isBatch(call) || !mayWait(call)) {
      close(last + 1, &op);
      continue;
    }
    size_t level = last + 1;
    while (level < open.size() && !open[level].hasRoom(call))
      ++level;
    if (level == open.size())
      open.emplace_back();
    Batch &batch = open[level];
    batch.follows |= last >= 0;
    batch.add(call);
  }
}

namespace {
struct FuseHorizontallyPass
    : tessera::impl::FuseHorizontallyPassBase<FuseHorizontallyPass> {
  void runOnOperation() override {
    if (rt::getTarget(getOperation()) == rt::Target::Host)
      return;
    unsigned count = 0;
    for (func::FuncOp func : getFunctionsOfStep(getOperation())) {
      func.walk([&](scf::ForOp loop) {
        Batcher(getOperation(), *loop.getBody(), count).run();
      });
      Batcher(getOperation(), func.front(), count).run();
    }
  }
};
} // namespace
