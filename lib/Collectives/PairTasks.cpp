//===- PairTasks.cpp - F and BW of two micro-batches in one function ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An action such as F0.3|BW1.2 runs two independent tasks. One function has the
// ops of both, so that collectives of one can run during the work of the other.
// The next op is taken from the task that has done the smaller share of its
// work:
//
//     F    a: 2 s, R, b: 2 s          a   c   R   S   b   d
//     BW   c: 3 s, S, d: 3 s     =>
//     done before the op, of F        0  1/2 1/2 1/2 1/2  1
//                         of BW       0   0  1/2 1/2 1/2 1/2
//
// One task may be ahead by some share, where that takes less time.
//
//===----------------------------------------------------------------------===//

#include "OverlapBuilder.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Schedule/ActionList.h"
#include <set>

namespace tessera {
#define GEN_PASS_DEF_PAIRTASKSPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::PlaceKind;
using rt::RTDialect;
using schedule::Action;
using schedule::ActionKind;

/// The step of the shares of its work by which F may be ahead of BW, or behind.
static constexpr double kStep = 0.05;
static constexpr int kSteps = 18;

namespace {

/// The ops of a task in order, and the share of its work done before each.
struct TaskOps {
  explicit TaskOps(func::FuncOp func);
  SmallVector<std::pair<Operation *, double>> ops;
  /// The op that ends the task.
  Operation *end;
};

/// Creates the functions of the pairs of one pipeline.
class Pairing {
public:
  explicit Pairing(rt::PipelineOp op) : op(op) {}
  LogicalResult run();

private:
  func::FuncOp findTask(int64_t kind, int64_t chunk);
  func::FuncOp pair(func::FuncOp forward, func::FuncOp backward);
  void addArguments(func::FuncOp made, func::FuncOp task, IRMapping &mapping,
                    int64_t firstResult, bool isBeside);

  rt::PipelineOp op;
};

} // namespace

TaskOps::TaskOps(func::FuncOp func) : end(func.front().getTerminator()) {
  BlockTasks tasks = buildOverlapTasks(func.front());
  llvm::DenseMap<Operation *, double> seconds;
  double total = 0;
  for (auto [task, op] : llvm::zip_equal(tasks.problem.tasks, tasks.ops))
    if (!task.isTransfer()) {
      seconds[op] = task.seconds;
      total += task.seconds;
    }
  double done = 0;
  for (Operation &inner : func.front().without_terminator()) {
    ops.push_back({&inner, total > 0 ? done / total : 0});
    done += seconds.lookup(&inner);
  }
}

func::FuncOp Pairing::findTask(int64_t kind, int64_t chunk) {
  for (func::FuncOp func : op.getTaskFunctions()) {
    auto task = func->getAttrOfType<rt::TaskAttr>(RTDialect::kTaskAttr);
    if (task.getKind() == kind && task.getChunk() == chunk)
      return func;
  }
  return nullptr;
}

/// True if the task has a collective, which the other task's work can hide.
static bool communicates(func::FuncOp task) {
  return task
      .walk([](dist::CollectiveOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Returns the results of the pipeline that a task writes.
static llvm::SmallDenseSet<int64_t> findWritten(func::FuncOp task) {
  llvm::SmallDenseSet<int64_t> written;
  for (unsigned i = 0; i < task.getNumArguments(); ++i) {
    auto place = task.getArgAttrOfType<rt::PlaceAttr>(i, RTDialect::kPlaceAttr);
    if (place.getKind() == PlaceKind::Sum ||
        place.getKind() == PlaceKind::Slice)
      written.insert(place.getIndex());
  }
  return written;
}

void Pairing::addArguments(func::FuncOp made, func::FuncOp task,
                           IRMapping &mapping, int64_t firstResult,
                           bool isBeside) {
  Builder b(made.getContext());
  for (BlockArgument argument : task.getArguments()) {
    unsigned number = made.getNumArguments();
    (void)made.insertArgument(number, argument.getType(),
                              task.getArgAttrDict(argument.getArgNumber()),
                              argument.getLoc());
    if (auto result = made.getArgAttrOfType<IntegerAttr>(
            number, dist::DistDialect::kDonateAttr))
      made.setArgAttr(number, dist::DistDialect::kDonateAttr,
                      b.getI64IntegerAttr(firstResult + result.getInt()));
    if (isBeside)
      made.setArgAttr(number, RTDialect::kBesideAttr, b.getUnitAttr());
    mapping.map(argument, made.getArgument(number));
  }
}

/// Clones the ops of both tasks. The first is ahead by a share of its work.
static void mergeTasks(Block &block, const TaskOps &first,
                       const TaskOps &second, IRMapping mapping, double lead) {
  OpBuilder b = OpBuilder::atBlockEnd(&block);
  auto next = first.ops.begin(), other = second.ops.begin();
  while (next != first.ops.end() || other != second.ops.end()) {
    bool takeFirst =
        other == second.ops.end() ||
        (next != first.ops.end() && next->second - lead <= other->second);
    b.clone(*(takeFirst ? next++ : other++)->first, mapping);
  }
  SmallVector<Value> results;
  for (const TaskOps *task : {&first, &second})
    for (Value result : task->end->getOperands())
      results.push_back(mapping.lookup(result));
  func::ReturnOp::create(b, first.end->getLoc(), results);
}

/// Returns the seconds of a block after its collectives are overlapped, beyond
/// those of its kernels.
static double getExposedSeconds(Block &block) {
  BlockTasks tasks = buildOverlapTasks(block);
  OverlapTimes blocking =
      timeOverlap(tasks.problem, getBlockingOrder(tasks.problem));
  double slack = static_cast<double>(blocking.peakBytes) * kOverlapSlackShare;
  OverlapOrder order = scheduleOverlap(
      tasks.problem, blocking.peakBytes + static_cast<int64_t>(slack));
  double seconds = timeOverlap(tasks.problem, order).seconds;
  for (const OverlapTask &task : tasks.problem.tasks)
    seconds -= task.isTransfer() ? 0 : task.seconds;
  return seconds;
}

func::FuncOp Pairing::pair(func::FuncOp forward, func::FuncOp backward) {
  OpBuilder b(op.getContext());
  auto backwardTask =
      backward->getAttrOfType<rt::TaskAttr>(RTDialect::kTaskAttr);
  std::string name =
      (forward.getName() + "_BW" + Twine(backwardTask.getChunk())).str();
  b.setInsertionPointAfter(backward);
  auto made = func::FuncOp::create(b, forward.getLoc(), name,
                                   b.getFunctionType({}, {}));
  made->setDiscardableAttrs(forward->getDiscardableAttrDictionary());
  made->setAttr(RTDialect::kBesideAttr, backwardTask);
  if (auto list = CollectiveList::read(forward)) {
    list->add(CollectiveList::read(backward).value_or(CollectiveList()));
    list->write(made);
  }
  made.setPrivate();
  SymbolTable(op->getParentOfType<ModuleOp>()).insert(made);
  b.setInsertionPointToStart(made.addEntryBlock());

  IRMapping arguments;
  addArguments(made, forward, arguments, /*firstResult=*/0, /*isBeside=*/false);
  addArguments(made, backward, arguments, forward.getNumResults(),
               /*isBeside=*/true);
  TaskOps first(forward), second(backward);
  auto merge = [&](double lead) {
    mergeTasks(made.front(), first, second, arguments, lead);
    double seconds = getExposedSeconds(made.front());
    while (!made.front().empty())
      made.front().back().erase();
    return seconds;
  };
  double best = 0, least = merge(0);
  auto tryLead = [&](double lead) {
    if (double seconds = merge(lead); seconds < least) {
      best = lead;
      least = seconds;
    }
  };
  for (int step = 1; step <= kSteps; ++step) {
    tryLead(step * kStep);
    tryLead(-step * kStep);
  }
  mergeTasks(made.front(), first, second, arguments, best);
  Operation *end = made.front().getTerminator();
  ValueRange results = end->getOperands();
  made.setFunctionType(
      b.getFunctionType(made.front().getArgumentTypes(), results.getTypes()));
  return made;
}

LogicalResult Pairing::run() {
  auto actions = schedule::parseActions(op.getList());
  if (!actions)
    return op.emitOpError(llvm::toString(actions.takeError()));
  // The chunks of F and of BW.
  std::set<std::pair<int, int>> seen;
  SmallVector<Attribute> tasks(op.getTasks().begin(), op.getTasks().end());
  for (const Action &action : *actions) {
    if (action.kind != ActionKind::Overlapped ||
        !seen.insert({action.chunk, action.backwardChunk}).second)
      continue;
    func::FuncOp forward = findTask(TESSERA_RT_TASK_F, action.chunk);
    func::FuncOp backward = findTask(TESSERA_RT_TASK_BW, action.backwardChunk);
    if (!forward || !backward ||
        (!communicates(forward) && !communicates(backward)))
      continue;
    llvm::SmallDenseSet<int64_t> written = findWritten(forward);
    if (llvm::any_of(findWritten(backward),
                     [&](int64_t i) { return written.contains(i); }))
      continue;
    tasks.push_back(FlatSymbolRefAttr::get(pair(forward, backward)));
  }
  op.setTasksAttr(ArrayAttr::get(op.getContext(), tasks));
  return success();
}

namespace {
struct PairTasksPass : tessera::impl::PairTasksPassBase<PairTasksPass> {
  void runOnOperation() override {
    SmallVector<rt::PipelineOp> ops;
    getOperation().walk([&](rt::PipelineOp op) { ops.push_back(op); });
    for (rt::PipelineOp op : ops)
      if (failed(Pairing(op).run()))
        return signalPassFailure();
  }
};
} // namespace
