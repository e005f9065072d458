//===- HoistGathers.cpp - Hoists gathers out of loops ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HoistGathers.h"
#include "OverlapBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Remarks.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace tessera;

/// Maximum number of ops that compute a gather's operand: a bucket has one op
/// for each member, and one for its shape.
static constexpr size_t kMaxOps = 256;

/// Maximum number of a loop's gathers to try: each try takes as long as the
/// pass.
static constexpr size_t kMaxTried = 2;

/// Minimum share of the loop's time that a candidate must save.
static constexpr double kLeastShare = 1e-3;

namespace {

/// The start of a gather, its wait and the ops that compute its operand, in
/// order.
using Chain = SmallVector<Operation *>;

/// A gather of a loop that can move before the loop.
struct GatherCandidate {
  dist::WaitOp wait;
  /// Seconds that this would save if nothing else changed.
  double saved = 0;
};

} // namespace

static bool isGatherStart(Operation *op) {
  auto start = dyn_cast<dist::StartOp>(op);
  return start && isa<dist::AllGatherOp>(start.getBody().front().front());
}

/// Adds the ops in the loop that compute `value`. Returns false if one depends
/// on an iteration or has other effects.
static bool addMakers(scf::ForOp loop, Value value,
                      llvm::SetVector<Operation *> &ops) {
  if (!loop.getRegion().isAncestor(value.getParentRegion()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != loop.getBody() || ops.size() > kMaxOps)
    return false;
  if (ops.contains(op))
    return true;
  bool isGather = isGatherStart(op) || isa<dist::WaitOp>(op);
  if (!isGather && (op->getNumRegions() || !isMemoryEffectFree(op)))
    return false;
  for (Value operand : op->getOperands())
    if (!addMakers(loop, operand, ops))
      return false;
  ops.insert(op);
  return true;
}

static std::optional<Chain> getChain(scf::ForOp loop, dist::WaitOp wait) {
  llvm::SetVector<Operation *> ops;
  if (!addMakers(loop, wait.getResult(), ops))
    return std::nullopt;
  return ops.takeVector();
}

/// Finds ops of `block`, after `from` if it is given, that are equivalent to
/// the chain but not in it; nothing if there are none.
static std::optional<Chain> findEqual(const Chain &chain, Block &block,
                                      Operation *from) {
  llvm::DenseMap<Value, Value> same;
  auto isSame = [&](Value a, Value b) {
    auto it = same.find(a);
    return success(a == b || (it != same.end() && it->second == b));
  };
  Chain equal;
  for (Operation *op : chain) {
    if (op->getNumOperands() == 0)
      return std::nullopt;
    Value operand = op->getOperand(0);
    if (Value other = same.lookup(operand))
      operand = other;
    Operation *found = nullptr;
    for (Operation *user : operand.getUsers()) {
      if (user->getBlock() != &block || llvm::is_contained(chain, user) ||
          (from && !from->isBeforeInBlock(user)) ||
          (found && !user->isBeforeInBlock(found)))
        continue;
      llvm::DenseMap<Value, Value> before = same;
      if (OperationEquivalence::isEquivalentTo(
              op, user, isSame, [&](Value a, Value b) { same[a] = b; },
              OperationEquivalence::IgnoreLocations))
        found = user;
      else
        same = std::move(before);
    }
    if (!found)
      return std::nullopt;
    for (auto [a, b] : llvm::zip_equal(op->getResults(), found->getResults()))
      same[a] = b;
    equal.push_back(found);
  }
  return equal;
}

/// Moves the chain before the loop. Equivalent ops in the loop and after it use
/// its result.
static void hoist(scf::ForOp loop, dist::WaitOp wait) {
  auto func = loop->getParentOfType<FunctionOpInterface>();
  std::optional<CollectiveList> list = CollectiveList::read(func);
  CollectiveList before = CollectiveList::collect(func);
  Chain chain = *getChain(loop, wait);
  for (Operation *op : chain)
    op->moveBefore(loop);
  auto mergeAll = [&](Block &block, Operation *from) {
    while (std::optional<Chain> equal = findEqual(chain, block, from)) {
      equal->back()->getResult(0).replaceAllUsesWith(wait.getResult());
      for (Operation *op : llvm::reverse(*equal))
        if (op->use_empty())
          op->erase();
    }
  };
  mergeAll(*loop.getBody(), nullptr);
  mergeAll(*loop->getBlock(), loop);
  if (list) {
    list->takeOff(before, CollectiveList::collect(func));
    list->write(func);
  }
}

/// Returns the exposed gathers that save the most time, best first.
static SmallVector<GatherCandidate> findCandidates(scf::ForOp loop,
                                                   int64_t slack) {
  BlockTasks tasks = buildOverlapTasks(*loop.getBody());
  OverlapTimes blocking =
      timeOverlap(tasks.problem, getBlockingOrder(tasks.problem));
  OverlapOrder order =
      scheduleOverlap(tasks.problem, blocking.peakBytes + slack);
  OverlapTimes times = timeOverlap(tasks.problem, order);
  auto runs = static_cast<double>(getNumRuns(loop));
  SmallVector<GatherCandidate> candidates;
  for (auto [i, op] : llvm::enumerate(tasks.ops)) {
    double exposed = times.spans[i].exposed;
    if (!tasks.problem.tasks[i].isTransfer() || exposed <= 0 ||
        !isGatherStart(op))
      continue;
    dist::WaitOp wait = findWait(cast<dist::StartOp>(op));
    std::optional<Chain> chain = getChain(loop, wait);
    if (!chain)
      continue;
    // A gather after the loop, for the last micro-batch, also saves its time.
    bool isAfter = findEqual(*chain, *loop->getBlock(), loop).has_value();
    double saved = (runs + isAfter) * exposed - tasks.problem.tasks[i].seconds;
    if (saved > kLeastShare * runs * times.seconds)
      candidates.push_back({wait, saved});
  }
  llvm::stable_sort(candidates,
                    [](const GatherCandidate &a, const GatherCandidate &b) {
                      return a.saved > b.saved;
                    });
  if (candidates.size() > kMaxTried)
    candidates.resize(kMaxTried);
  return candidates;
}

/// Treats times that differ by rounding as equal. No order at all is the
/// longest.
static bool isShorter(std::optional<double> a, std::optional<double> b) {
  return a && (!b || *a < *b * (1 - 1e-9));
}

static void tell(GatherCandidate candidate, std::optional<double> before,
                 std::optional<double> after) {
  auto options =
      remark::RemarkOpts::name("HoistedGather").category("partition");
  auto add = [&](auto &&remark, StringRef why) {
    remark << remark::add("all_gather of {0} before the loop{1}",
                          llvm::to_string(candidate.wait.getType()), why.str());
    if (before && after)
      remark << remark::metric("us", *after * 1e6)
             << remark::metric("usLess", (*before - *after) * 1e6);
  };
  Location loc = candidate.wait.getFuture().getLoc();
  if (isShorter(after, before))
    add(remark::passed(loc, options), "");
  else if (after)
    add(remark::missed(loc, options), ": the step takes no less time");
  else
    add(remark::missed(loc, options), ": it takes too much memory");
}

/// Returns the seconds of a copy of the function with the gather before the
/// loop.
static std::optional<double> tryHoisted(func::FuncOp func, scf::ForOp loop,
                                        dist::WaitOp wait,
                                        EvaluateOverlap evaluate) {
  OpBuilder builder(func);
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(builder.clone(*func, mapping));
  if (wait)
    hoist(cast<scf::ForOp>(mapping.lookup(loop.getOperation())),
          cast<dist::WaitOp>(mapping.lookup(wait.getOperation())));
  std::optional<double> seconds = evaluate(copy);
  copy.erase();
  return seconds;
}

void tessera::hoistExposedGathers(func::FuncOp func, int64_t slack,
                                  EvaluateOverlap evaluate) {
  SmallVector<scf::ForOp> loops(func.getOps<scf::ForOp>());
  for (scf::ForOp loop : loops) {
    SmallVector<GatherCandidate> candidates = findCandidates(loop, slack);
    if (candidates.empty())
      continue;
    std::optional<double> best = tryHoisted(func, loop, {}, evaluate);
    for (const GatherCandidate &candidate : candidates) {
      // Hoisting another gather may have removed this one.
      auto waits = loop.getBody()->getOps<dist::WaitOp>();
      if (!llvm::is_contained(waits, candidate.wait))
        continue;
      std::optional<double> seconds =
          tryHoisted(func, loop, candidate.wait, evaluate);
      tell(candidate, best, seconds);
      if (!isShorter(seconds, best))
        continue;
      hoist(loop, candidate.wait);
      best = seconds;
    }
  }
}
