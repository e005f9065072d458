//===- StartCollectives.cpp - Splits collectives into start and wait ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts keep the order of the program. A wait moves down to the first use, so
// that what does not need the result runs meanwhile; but not if that keeps much
// more memory than the result takes.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Conversion/Passes.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {
#define GEN_PASS_DEF_STARTCOLLECTIVESPASS
#include "tessera/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Collectives that the runtime has in flight at one time, at most, but one:
/// the last slot is that of sends and receives.
static constexpr unsigned kNumSlots = 63;

/// The first op of the block that uses the value, in program order.
static Operation *getFirstUser(Value value) {
  Block *block = value.getParentBlock();
  Operation *first = block->getTerminator();
  for (Operation *user : value.getUsers()) {
    // A loop that reads it is where it is first used.
    Operation *here = block->findAncestorOpInBlock(*user);
    if (here->isBeforeInBlock(first))
      first = here;
  }
  return first;
}

static void split(dist::CollectiveOpInterface op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value source = op->getOperand(0);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto start = dist::StartOp::create(
      builder, loc, dist::FutureType::get(op.getContext(), type), source);
  Block *body =
      builder.createBlock(&start.getBody(), {}, source.getType(), loc);
  IRMapping mapping;
  mapping.map(source, body->getArgument(0));
  Operation *inner = builder.clone(*op, mapping);
  dist::YieldOp::create(builder, loc, inner->getResult(0));

  builder.setInsertionPoint(getFirstUser(op->getResult(0)));
  auto wait =
      dist::WaitOp::create(builder, loc, type, start.getFuture(), source);
  op->getResult(0).replaceAllUsesWith(wait.getResult());
  op.erase();
}

/// Slots that a loop finds free, at least.
static constexpr unsigned kLoopSlots = 16;

/// Bytes of operands that collectives in flight may keep for themselves.
/// Without an end to it the gradients of a whole micro-batch would wait for the
/// sums that their shards are added to.
static constexpr int64_t kMaxHeldBytes = int64_t(8) << 20;

/// Bytes that are free once the collective is waited for: those of an operand
/// that nothing else reads from here on, less those of the result.
static int64_t getHeldBytes(dist::StartOp start) {
  Value source = start.getInput();
  for (Operation *user : source.getUsers()) {
    Operation *here = start->getBlock()->findAncestorOpInBlock(*user);
    if (!here || (here != start && !isa<dist::WaitOp>(here) &&
                  start->isBeforeInBlock(here)))
      return 0;
  }
  auto wait = cast<dist::WaitOp>(*start.getFuture().getUsers().begin());
  return rt::getTensorBytes(cast<RankedTensorType>(source.getType())) -
         rt::getTensorBytes(cast<RankedTensorType>(wait.getResult().getType()));
}

/// The lowest free slot for each collective in flight. Where all are taken, or
/// too much memory is held, the oldest wait moves up. `taken` are those of
/// collectives that are in flight around the block.
static void assignSlots(Block &block, llvm::SmallBitVector taken) {
  SmallVector<dist::StartOp> inFlight;
  int64_t held = 0;
  auto slotAttr = [&](unsigned slot) {
    return IntegerAttr::get(
        IntegerType::get(block.getParentOp()->getContext(), 64), slot);
  };
  auto release = [&](dist::StartOp start) {
    taken.reset(
        start->getAttrOfType<IntegerAttr>(rt::RTDialect::kSlotAttr).getInt());
    llvm::erase(inFlight, start);
    held -= std::max<int64_t>(getHeldBytes(start), 0);
  };
  auto waitForOldest = [&](Operation *before) {
    dist::StartOp oldest = inFlight.front();
    (*oldest.getFuture().getUsers().begin())->moveBefore(before);
    release(oldest);
  };
  // The order as it was: a wait that moves up has been seen to.
  SmallVector<Operation *> order;
  for (Operation &op : block)
    order.push_back(&op);
  for (Operation *op : order) {
    if (auto wait = dyn_cast<dist::WaitOp>(op)) {
      auto start = wait.getFuture().getDefiningOp<dist::StartOp>();
      if (llvm::is_contained(inFlight, start))
        release(start);
      continue;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      while (taken.count() + kLoopSlots > kNumSlots && !inFlight.empty())
        waitForOldest(op);
      assignSlots(*loop.getBody(), taken);
    }
    auto start = dyn_cast<dist::StartOp>(op);
    if (!start)
      continue;
    if (taken.all())
      waitForOldest(start);
    int64_t bytes = std::max<int64_t>(getHeldBytes(start), 0);
    while (bytes > 0 && held + bytes > kMaxHeldBytes && !inFlight.empty())
      waitForOldest(start);
    held += bytes;
    unsigned slot = taken.find_first_unset();
    taken.set(slot);
    inFlight.push_back(start);
    start->setAttr(rt::RTDialect::kSlotAttr, slotAttr(slot));
    (*start.getFuture().getUsers().begin())
        ->setAttr(rt::RTDialect::kSlotAttr, slotAttr(slot));
  }
}

namespace {
struct StartCollectivesPass
    : tessera::impl::StartCollectivesPassBase<StartCollectivesPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    SmallVector<dist::CollectiveOpInterface> ops;
    func.walk([&](dist::CollectiveOpInterface collective) {
      ops.push_back(collective);
    });
    for (dist::CollectiveOpInterface op : ops)
      split(op);
    assignSlots(func.front(), llvm::SmallBitVector(kNumSlots));
  }
};
} // namespace
