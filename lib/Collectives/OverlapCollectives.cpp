//===- OverlapCollectives.cpp - Overlaps communication with work ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits collectives into starts and waits, and moves ops between them.
// OverlapSchedule.cpp finds the order; the arena's planner checks that its
// memory is within the limit.
//
//     %1 = dist.all_reduce %0              %f = dist.start %0 { all_reduce }
//     %2 = rt.kernel @b(%x)         =>     %2 = rt.kernel @b(%x)
//     %3 = rt.kernel @u(%1, %2)            %1 = dist.wait %f, %0
//                                          %3 = rt.kernel @u(%1, %2)
//
// Loops come before the blocks around them: there, a loop is one op with the
// time of its inner order.
//
//===----------------------------------------------------------------------===//

#include "HoistGathers.h"
#include "OverlapBuilder.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Collectives/StartCollective.h"
#include "tessera/Memory/PlannedBytes.h"

namespace tessera {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

dist::StartOp tessera::startCollective(dist::CollectiveOpInterface op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<Value> sources(op->getOperands());
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto start = dist::StartOp::create(
      builder, loc, dist::FutureType::get(op.getContext(), type), sources);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&start.getBody());
    IRMapping mapping;
    for (Value source : sources)
      mapping.map(source, body->addArgument(source.getType(), loc));
    Operation *inner = builder.clone(*op, mapping);
    dist::YieldOp::create(builder, loc, inner->getResult(0));
  }
  auto wait =
      dist::WaitOp::create(builder, loc, type, start.getFuture(), sources);
  op->getResult(0).replaceAllUsesWith(wait.getResult());
  op.erase();
  return start;
}

/// Maximum number of collectives in flight: without loops, in a loop, and
/// around one.
static constexpr unsigned kElsewhere = rt::kTransferSlot,
                          kInLoop = kElsewhere / 2,
                          kAroundLoop = kElsewhere - kInLoop;

namespace {

/// One function: its blocks with collectives, inner loops first.
class FunctionOverlap {
public:
  FunctionOverlap(func::FuncOp func) : func(func) {}

  /// Splits the collectives. Returns false if there are none.
  bool split();
  /// Finds the blocks.
  void prepare();
  /// Orders each block within `slack` bytes above the peak of the blocking
  /// order. If `slack` is negative, gets below that peak as far as possible.
  void schedule(int64_t slack);
  /// Restores the order from before schedule().
  void restore();
  void remark(std::optional<int64_t> before, std::optional<int64_t> after);

private:
  void apply(Block &block, const BlockTasks &tasks, const OverlapOrder &order);
  void remarkTransfer(const BlockTasks &tasks, const OverlapTimes &times,
                      ArrayRef<unsigned> runs, unsigned task);

  func::FuncOp func;
  SmallVector<Block *> blocks;
  SmallVector<SmallVector<Operation *>> original;
};

} // namespace

bool FunctionOverlap::split() {
  SmallVector<dist::CollectiveOpInterface> collectives;
  func.walk([&](dist::CollectiveOpInterface op) {
    if (op.getCollectiveKind() &&
        !isa<dist::StartOp, dist::BucketOp>(op->getParentOp()) &&
        !crossesStages(op))
      collectives.push_back(op);
  });
  for (dist::CollectiveOpInterface op : collectives)
    startCollective(op);
  return func.walk([](dist::StartOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

void FunctionOverlap::prepare() {
  // A walk visits the blocks inside an op first, so it visits loops before the
  // block around them.
  func.walk([&](Block *block) {
    if (!block->getOps<dist::StartOp>().empty())
      blocks.push_back(block);
  });
  for (Block *block : blocks) {
    original.emplace_back();
    for (Operation &op : *block)
      original.back().push_back(&op);
  }
}

void FunctionOverlap::apply(Block &block, const BlockTasks &tasks,
                            const OverlapOrder &order) {
  for (OverlapEvent event : order) {
    Operation *op = tasks.ops[event.task];
    if (event.kind == OverlapEvent::Wait)
      op = findWait(cast<dist::StartOp>(op));
    op->moveBefore(&block, block.end());
    // One that is no transfer of the problem runs at once.
    if (auto start = dyn_cast<dist::StartOp>(op);
        start && event.kind == OverlapEvent::Run)
      findWait(start)->moveBefore(&block, block.end());
  }
}

void FunctionOverlap::schedule(int64_t slack) {
  for (Block *block : blocks) {
    BlockTasks tasks = buildOverlapTasks(*block);
    bool hasLoop = !block->getOps<scf::ForOp>().empty();
    tasks.problem.maxInFlight = isa<scf::ForOp>(block->getParentOp()) ? kInLoop
                                : hasLoop ? kAroundLoop
                                          : kElsewhere;
    assert(!tasks.problem.check() && "a block in order is a problem");
    OverlapTimes blocking =
        timeOverlap(tasks.problem, getBlockingOrder(tasks.problem));
    OverlapOrder order =
        scheduleOverlap(tasks.problem, blocking.peakBytes + slack);
    assert(!verifyOverlap(tasks.problem, order) && "an order that is wrong");
    apply(*block, tasks, order);
  }
}

void FunctionOverlap::restore() {
  for (auto [block, ops] : llvm::zip_equal(blocks, original))
    for (Operation *op : ops)
      op->moveBefore(block, block->end());
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static remark::RemarkOpts getOptions() {
  return remark::RemarkOpts::name("OverlapCollectives").category("partition");
}

/// Returns the tasks that compute for some time, in execution order.
static SmallVector<unsigned> getRuns(const BlockTasks &tasks) {
  SmallVector<unsigned> runs;
  for (OverlapEvent event : tasks.order)
    if (event.kind == OverlapEvent::Run &&
        tasks.problem.tasks[event.task].seconds > 0)
      runs.push_back(event.task);
  return runs;
}

/// Reports the ops that run between the start of a collective and its wait, and
/// whether they take long enough: "all_gather over dp runs beside 2 ops,
/// longest rt.matmul". Ops run one after the other, so the overlapping ones are
/// consecutive in `runs`.
void FunctionOverlap::remarkTransfer(const BlockTasks &tasks,
                                     const OverlapTimes &times,
                                     ArrayRef<unsigned> runs, unsigned task) {
  const OverlapSpan &span = times.spans[task];
  double seconds = tasks.problem.tasks[task].seconds;
  unsigned beside = 0;
  std::optional<unsigned> longest;
  auto secondsOf = [&](unsigned i) { return tasks.problem.tasks[i].seconds; };
  const unsigned *it = llvm::partition_point(
      runs, [&](unsigned i) { return times.spans[i].end <= span.begin; });
  for (; it != runs.end() && times.spans[*it].begin < span.end; ++it) {
    ++beside;
    if (!longest || secondsOf(*it) > secondsOf(*longest) ||
        (secondsOf(*it) == secondsOf(*longest) && *it < *longest))
      longest = *it;
  }
  const BlockTasks::Transfer &transfer = tasks.transfers.find(task)->second;
  auto start = cast<dist::StartOp>(tasks.ops[task]);
  bool isHidden = span.exposed <= 0.01 * seconds;
  std::string text =
      (transfer.kind + " over " + transfer.axes).str() +
      (beside ? " runs beside " + std::to_string(beside) +
                    (beside == 1 ? " op, " : " ops, longest ") +
                    tasks.ops[*longest]->getName().getStringRef().str()
              : std::string(" runs beside nothing"));
  if (!isHidden)
    for (Operation *user : findWait(start).getResult().getUsers())
      if (user == findWait(start)->getNextNode())
        text += "; " + user->getName().getStringRef().str() + " waits for it";
  auto add = [&](auto &&remark) {
    remark << remark::add("{0}", text)
           << remark::metric("bytes", transfer.bytes)
           << remark::metric("us", seconds * 1e6)
           << remark::metric("exposedUs", span.exposed * 1e6);
  };
  if (isHidden)
    add(remark::passed(start.getLoc(), getOptions()));
  else
    add(remark::missed(start.getLoc(), getOptions()));
}

void FunctionOverlap::remark(std::optional<int64_t> before,
                             std::optional<int64_t> after) {
  if (!func.getContext()->getRemarkEngine())
    return;
  for (Block *block : blocks) {
    BlockTasks tasks = buildOverlapTasks(*block);
    OverlapTimes times = timeOverlap(tasks.problem, tasks.order);
    OverlapTimes blocking =
        timeOverlap(tasks.problem, getBlockingOrder(tasks.problem));
    SmallVector<unsigned> runs = getRuns(tasks);
    double transfers = 0, exposed = 0;
    for (auto [i, task] : llvm::enumerate(tasks.problem.tasks)) {
      if (!task.isTransfer())
        continue;
      transfers += task.seconds;
      exposed += times.spans[i].exposed;
      remarkTransfer(tasks, times, runs, i);
    }
    auto remark =
        remark::analysis(block->getParentOp()->getLoc(), getOptions());
    remark << remark::add("{0}", "an order of starts and waits")
           << remark::metric("us", times.seconds * 1e6)
           << remark::metric("blockingUs", blocking.seconds * 1e6)
           << remark::metric("transferUs", transfers * 1e6)
           << remark::metric("exposedUs", exposed * 1e6);
    if (before && after && block == &func.front())
      remark << remark::metric("blockingBytes", *before)
             << remark::metric("bytes", *after);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct OverlapCollectivesPass
    : tessera::impl::OverlapCollectivesPassBase<OverlapCollectivesPass> {
  using OverlapCollectivesPassBase::OverlapCollectivesPassBase;

  /// Orders the blocks so that the arena is at most `slack` bytes above
  /// `before`, if that is known, and returns the arena's bytes. Keeps the
  /// original order if no other one fits.
  std::optional<int64_t> arrange(FunctionOverlap &work, func::FuncOp func,
                                 std::optional<int64_t> before, int64_t slack) {
    // The scheduler counts live bytes; only the planner sees gaps between them.
    // So the order gets less and less room until the planned arena fits, in the
    // end an eighth of the arena less than the blocking order takes.
    int64_t step = before.value_or(0) / 32;
    for (int64_t tried : {slack, slack / 2, int64_t(0), -step, -4 * step}) {
      work.schedule(tried);
      std::optional<int64_t> after = getPlannedBytes(func);
      if (!before || (after && *after <= *before + slack))
        return after;
      work.restore();
    }
    return getPlannedBytes(func);
  }

  void overlap(func::FuncOp func) {
    FunctionOverlap work(func);
    if (!work.split())
      return;
    std::optional<int64_t> before = getPlannedBytes(func);
    int64_t slack =
        slackBytes >= 0
            ? int64_t(slackBytes)
            : static_cast<int64_t>(double(before.value_or(0)) * slackShare);
    if (before)
      hoistExposedGathers(
          func, slack, [&](func::FuncOp copy) -> std::optional<double> {
            FunctionOverlap trial(copy);
            trial.prepare();
            std::optional<int64_t> after = arrange(trial, copy, before, slack);
            if (!after || *after > *before + slack)
              return std::nullopt;
            BlockTasks tasks = buildOverlapTasks(copy.front());
            return timeOverlap(tasks.problem, tasks.order).seconds;
          });
    work.prepare();
    std::optional<int64_t> after = arrange(work, func, before, slack);
    work.remark(before, after);
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> funcs(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : funcs)
      if (!func.isExternal() && !func->hasAttr(rt::RTDialect::kKernelAttr))
        overlap(func);
  }
};
} // namespace
