//===- StartCollectives.cpp - Splits collectives into start and wait ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts all other collectives and waits for them at once. Each start and its
// wait get a slot of the runtime. The ops between starts and waits were chosen
// before.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Collectives/StartCollective.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {
#define GEN_PASS_DEF_STARTCOLLECTIVESPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Maximum number of collectives in flight.
static constexpr unsigned kNumSlots = rt::kTransferSlot;

/// Minimum number of free slots for a loop.
static constexpr unsigned kLoopSlots = 16;

/// Assigns the lowest free slot to each collective in flight. If all are taken,
/// the oldest wait moves up. `taken` has the slots of collectives in flight
/// around the block.
static void assignSlots(Block &block, llvm::SmallBitVector taken) {
  SmallVector<dist::StartOp> inFlight;
  auto slotAttr = [&](unsigned slot) {
    return IntegerAttr::get(
        IntegerType::get(block.getParentOp()->getContext(), 64), slot);
  };
  auto release = [&](dist::StartOp start) {
    taken.reset(
        start->getAttrOfType<IntegerAttr>(rt::RTDialect::kSlotAttr).getInt());
    llvm::erase(inFlight, start);
  };
  auto waitForOldest = [&](Operation *before) {
    dist::StartOp oldest = inFlight.front();
    (*oldest.getFuture().getUsers().begin())->moveBefore(before);
    release(oldest);
  };
  // Iterates over the original order: a wait that moved up is already handled.
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
    // An exchange sends and receives at once: a slot for its send.
    if (isa<dist::ExchangeOp>(op)) {
      if (taken.all())
        waitForOldest(op);
      op->setAttr(rt::RTDialect::kSlotAttr, slotAttr(taken.find_first_unset()));
    }
    auto start = dyn_cast<dist::StartOp>(op);
    if (!start)
      continue;
    if (taken.all())
      waitForOldest(start);
    unsigned slot = taken.find_first_unset();
    taken.set(slot);
    inFlight.push_back(start);
    start->setAttr(rt::RTDialect::kSlotAttr, slotAttr(slot));
    (*start.getFuture().getUsers().begin())
        ->setAttr(rt::RTDialect::kSlotAttr, slotAttr(slot));
  }
}

/// Moves the reduce-scatter of a sum right after the sum if nothing else reads
/// it. Otherwise the whole sum would stay live until then.
static void scatterEarly(Block &block) {
  // Other pp ranks run other functions, which communicate with this one in its
  // order.
  for (Operation &op : block)
    if (isa<dist::ExchangeOp, dist::SendOp, dist::RecvOp, rt::PipelineOp>(op))
      return;
  for (auto scatter :
       llvm::make_early_inc_range(block.getOps<dist::ReduceScatterOp>())) {
    Value sum = scatter.getInput();
    Operation *made = sum.getDefiningOp();
    if (made && made->getBlock() == &block && sum.hasOneUse())
      scatter->moveAfter(made);
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
      if (!isa<dist::StartOp>(collective->getParentOp()))
        ops.push_back(collective);
    });
    func.walk([](Block *block) { scatterEarly(*block); });
    for (dist::CollectiveOpInterface op : ops)
      startCollective(op);
    assignSlots(func.front(), llvm::SmallBitVector(kNumSlots));
  }
};
} // namespace
