//===- OverlapBuilder.cpp - A block of ops as work and transfers ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values share memory as in the arena's planner, so that the peak of an order
// is the planner's, except for gaps. An op is a task; a start and its wait are
// one task. A block of memory lists the tasks that write or read it, which give
// its live interval in any order:
//
//     op                               task  after  over  blocks touched
//     %1 = rt.kernel @a(%0)            0     -      -     %0, %1
//     %f = dist.start %1 {all_gather}  1     0      dp    %1, %3
//     %2 = rt.kernel @b(%0)            2     -      -     %0, %2
//     %3 = dist.wait %f, %1            1
//     %4 = rt.kernel @c(%2, %3)        3     2, 1   -     %2, %3, %4
//
// "after" has the true dependences. Values that share memory add
// anti-dependences (R. Allen, K. Kennedy: Optimizing Compilers for Modern
// Architectures, 2001, section 2.2): if @c wrote %4 over %2, it would also come
// after all readers of %2.
//
//===----------------------------------------------------------------------===//

#include "OverlapBuilder.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Collectives/CollectiveReport.h"
#include "tessera/Collectives/Makespan.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tessera;

dist::WaitOp tessera::findWait(dist::StartOp start) {
  if (!start.getFuture().hasOneUse())
    return {};
  auto wait = dyn_cast<dist::WaitOp>(*start.getFuture().getUsers().begin());
  return wait && wait->getBlock() == start->getBlock() ? wait : dist::WaitOp();
}

namespace {

class TaskBuilder {
public:
  explicit TaskBuilder(Block &block)
      : block(block), rates(getWorkRates(block.getParentOp())) {}
  BlockTasks build();

private:
  void number();
  void addTask(Operation &op);
  void readTime(Operation &op, OverlapTask &task);
  void addOrder(Operation &op, unsigned task);
  Operation *firstCollective(Operation &op) const;

  void depend(unsigned task, unsigned on) {
    if (on < task && !llvm::is_contained(problem().tasks[task].after, on))
      problem().tasks[task].after.push_back(on);
  }
  unsigned blockOf(Value value);
  void touch(unsigned memory, unsigned task);
  void addResults(Operation &op, unsigned task);
  bool reuse(Operation &op, unsigned task, OpResult result);
  int64_t lastUse(Value value) const;
  void forEachKept(llvm::function_ref<void(Value, Value)> fn);
  void keepWritesLast();

  OverlapProblem &problem() { return out.problem; }

  Block &block;
  WorkRates rates;
  BlockTasks out;
  CollectivePricer pricer;
  llvm::DenseMap<Operation *, unsigned> taskOf;
  llvm::StringMap<int> communicators;
  /// The memory number of each value. Values from outside have memory without
  /// bytes.
  llvm::DenseMap<Value, unsigned> memoryOf;
  SmallVector<int64_t> memoryEnd;
  /// Values stored at the address of another one.
  llvm::DenseSet<Value> kept;
};

} // namespace

/// Returns the value that `value` is a view of, or null.
static Value getViewed(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return op->getOperand(0);
  return {};
}

/// True for a part of a collective's result, before memory is planned: it will
/// become a view.
static bool isPartOfCollective(Operation &op) {
  auto copy = dyn_cast<rt::CopyOp>(op);
  if (!copy || !copy.mayBeInPlace() ||
      copy->hasAttr(rt::RTDialect::kOffsetsAttr))
    return false;
  Value root = copy.getSource();
  while (Value viewed = getViewed(root))
    root = viewed;
  return isa_and_nonnull<dist::WaitOp, dist::CollectiveOpInterface>(
      root.getDefiningOp());
}

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

/// Returns all values that an op reads: its operands, and the values from
/// outside that its regions read.
static llvm::SetVector<Value> getReads(Operation &op) {
  llvm::SetVector<Value> reads(op.operand_begin(), op.operand_end());
  for (Region &region : op.getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!region.isAncestor(operand.getParentRegion()))
          reads.insert(operand);
    });
  return reads;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// A wait belongs to the task of its start.
void TaskBuilder::number() {
  for (Operation &op : block) {
    if (auto wait = dyn_cast<dist::WaitOp>(op)) {
      auto start = wait.getFuture().getDefiningOp<dist::StartOp>();
      if (start && taskOf.count(start)) {
        taskOf[&op] = taskOf.lookup(start);
        continue;
      }
    }
    taskOf[&op] = out.ops.size();
    out.ops.push_back(&op);
  }
}

/// Returns the collective that an op is or starts; null if it moves nothing.
Operation *TaskBuilder::firstCollective(Operation &op) const {
  Operation *inner = &op;
  if (auto start = dyn_cast<dist::StartOp>(op))
    inner = findWait(start) ? &start.getBody().front().front() : nullptr;
  auto collective = dyn_cast_or_null<dist::CollectiveOpInterface>(inner);
  return collective && collective.getCollectiveKind() ? inner : nullptr;
}

static double getBytes(Value value) {
  return static_cast<double>(
      rt::getTensorBytes(cast<RankedTensorType>(value.getType())));
}

/// True if a tensor has several rows before this dimension.
static bool hasRows(Value value, uint64_t dim) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  return llvm::any_of(shape.take_front(dim),
                      [](int64_t size) { return size > 1; });
}

/// Returns the seconds of the reordering of a collective's chunks.
static double getReorderTime(Operation *collective, const WorkRates &rates) {
  Value input = collective->getOperand(0), result = collective->getResult(0);
  double before = getReorderSeconds(getBytes(input), rates),
         after = getReorderSeconds(getBytes(result), rates);
  if (auto gather = dyn_cast<dist::AllGatherOp>(collective))
    return hasRows(input, gather.getDim()) ? after : 0;
  if (auto scatter = dyn_cast<dist::ReduceScatterOp>(collective))
    return hasRows(input, scatter.getDim()) ? before : 0;
  if (auto exchange = dyn_cast<dist::AllToAllOp>(collective))
    return (hasRows(input, exchange.getSplitDim()) ? before : 0) +
           (hasRows(result, exchange.getGatherDim()) ? after : 0);
  return 0;
}

bool tessera::crossesStages(dist::CollectiveOpInterface op) {
  dist::MeshOp meshOp = dist::lookupMesh(op, op.getMeshAttr());
  if (!meshOp)
    return false;
  Mesh mesh = meshOp.getMesh().toMesh();
  return mesh.stageAxis &&
         llvm::any_of(op.getAxes().toAxes(mesh), [&](const AxisRef &ref) {
           return ref.axis == *mesh.stageAxis;
         });
}

/// Returns the time of an order if the device itself moves a share of its
/// hidden transfers. That share does not overlap with its kernels:
///
///     kernels    |k k k k k|        6 s of transfers, 4 of them hidden:
///     transfers    |t t t t|t t|    7 s, and 4 x share more
static double getSeconds(const OverlapProblem &problem,
                         const OverlapTimes &times, const WorkRates &rates) {
  double kernels = 0, transfers = 0;
  for (const OverlapTask &task : problem.tasks)
    (task.isTransfer() ? transfers : kernels) += task.seconds;
  double hidden = std::max(0.0, transfers - (times.seconds - kernels));
  return times.seconds + rates.transferShare * hidden;
}

void TaskBuilder::readTime(Operation &op, OverlapTask &task) {
  if (Operation *collective = firstCollective(op)) {
    auto moved = cast<dist::CollectiveOpInterface>(collective);
    CollectiveUse use = *pricer.price(moved);
    task.seconds = use.time + getReorderTime(collective, rates);
    if (crossesStages(moved)) {
      task.isBarrier = true;
      return;
    }
    task.communicator =
        communicators.insert({use.axes, static_cast<int>(communicators.size())})
            .first->second;
    out.transfers[taskOf.lookup(&op)] = {stringifyCollective(use.kind),
                                         use.axes, use.bytes};
    return;
  }
  // Ops with effects, and loops, keep their position.
  task.isBarrier =
      op.hasTrait<OpTrait::IsTerminator>() || !isMemoryEffectFree(&op) ||
      (op.getNumRegions() && isa<scf::ForOp, dist::AccumulateOp>(op));
  if (auto exchange = dyn_cast<dist::ExchangeOp>(op)) {
    task.seconds = getExchangeSeconds(exchange);
    return;
  }
  if (!isa<scf::ForOp, dist::AccumulateOp>(op)) {
    task.seconds = isPartOfCollective(op) ? 0 : getKernelSeconds(&op, rates);
    return;
  }
  BlockTasks inside = buildOverlapTasks(op.getRegion(0).front());
  OverlapTimes times = timeOverlap(inside.problem, inside.order);
  task.seconds = static_cast<double>(getNumRuns(&op)) *
                 getSeconds(inside.problem, times, rates);
  task.insideBytes = times.peakBytes;
}

void TaskBuilder::addTask(Operation &op) {
  unsigned number = taskOf.lookup(&op);
  readTime(op, problem().tasks[number]);
  for (Value value : getReads(op)) {
    if (Operation *producer = value.getDefiningOp())
      if (auto it = taskOf.find(producer); it != taskOf.end())
        depend(number, it->second);
    if (isTensor(value))
      touch(blockOf(value), number);
  }
  addResults(op, number);
}

void TaskBuilder::addOrder(Operation &op, unsigned task) {
  if (isa<dist::WaitOp>(op) && out.ops[task] != &op) {
    if (problem().tasks[task].isTransfer())
      out.order.push_back({OverlapEvent::Wait, task});
  } else if (!problem().tasks[task].isTransfer()) {
    out.order.push_back({OverlapEvent::Run, task});
  } else {
    out.order.push_back({OverlapEvent::Start, task});
    if (!isa<dist::StartOp>(op))
      out.order.push_back({OverlapEvent::Wait, task});
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Returns the last task that reads the value or a view of it.
int64_t TaskBuilder::lastUse(Value value) const {
  int64_t last = -1;
  for (Operation *user : value.getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (!here)
      continue;
    last = std::max<int64_t>(last, taskOf.lookup(here));
    for (Value result : user->getResults())
      if (getViewed(result) == value)
        last = std::max(last, lastUse(result));
  }
  return last;
}

unsigned TaskBuilder::blockOf(Value value) {
  auto [it, isNew] = memoryOf.insert({value, memoryEnd.size()});
  if (isNew) {
    // A value from outside lives as long as the block.
    memoryEnd.push_back(INT64_MAX);
    problem().blocks.emplace_back();
  }
  return it->second;
}

void TaskBuilder::touch(unsigned memory, unsigned task) {
  auto &tasks = problem().blocks[memory].tasks;
  if (!llvm::is_contained(tasks, task))
    tasks.push_back(task);
}

/// True if the result is written over an operand that dies here. All other
/// tasks that use that memory then come before: a write after read must wait
/// for the reads.
///
///     0  %1 = a(%0)
///     1  %2 = b(%1)
///     2  %3 = c(%1)     may write over %1, which is read here last
///                       comes after 0, which writes %1, and 1, which reads it
bool TaskBuilder::reuse(Operation &op, unsigned task, OpResult result) {
  auto iface = dyn_cast<rt::ReuseOpInterface>(op);
  bool reducesInPlace = isa_and_nonnull<dist::AllReduceOp>(firstCollective(op));
  if (!iface && !reducesInPlace)
    return false;
  int64_t bytes = rt::getTensorBytes(cast<RankedTensorType>(result.getType()));
  for (OpOperand &operand : op.getOpOperands()) {
    if (!isTensor(operand.get()) ||
        (iface &&
         !iface.mayReuse(result.getResultNumber(), operand.getOperandNumber())))
      continue;
    unsigned memory = memoryOf.lookup(operand.get());
    bool isShared = llvm::any_of(op.getOpOperands(), [&](OpOperand &other) {
      return &other != &operand && isTensor(other.get()) &&
             memoryOf.lookup(other.get()) == memory;
    });
    bool isTaken = llvm::any_of(op.getResults(), [&](Value other) {
      auto it = memoryOf.find(other);
      return it != memoryOf.end() && it->second == memory;
    });
    int64_t placeBytes =
        rt::getTensorBytes(cast<RankedTensorType>(operand.get().getType()));
    if (memoryEnd[memory] != task || placeBytes != bytes || isShared || isTaken)
      continue;
    for (unsigned other : problem().blocks[memory].tasks)
      depend(task, other);
    memoryOf[result] = memory;
    memoryEnd[memory] = std::max(memoryEnd[memory], lastUse(result));
    return true;
  }
  return false;
}

void TaskBuilder::addResults(Operation &op, unsigned task) {
  // The result of a start is the result of its wait.
  Operation *maker = &op;
  if (auto start = dyn_cast<dist::StartOp>(op))
    if (dist::WaitOp wait = findWait(start))
      maker = wait;
  for (OpResult result : maker->getResults()) {
    if (!isTensor(result))
      continue;
    if (Value viewed = getViewed(result)) {
      memoryOf[result] = blockOf(viewed);
      continue;
    }
    // A loop-carried value is stored at the address of its start value.
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned memory = blockOf(loop.getInits()[result.getResultNumber()]);
      memoryOf[result] = memory;
      memoryEnd[memory] = std::max(memoryEnd[memory], lastUse(result));
      touch(memory, task);
      continue;
    }
    if (!kept.contains(result) && reuse(op, task, result))
      continue;
    unsigned memory = blockOf(result);
    if (kept.contains(result))
      continue;
    memoryEnd[memory] = std::max<int64_t>(task, lastUse(result));
    problem().blocks[memory].bytes = llvm::alignTo(
        rt::getTensorBytes(cast<RankedTensorType>(result.getType())), 64);
    touch(memory, task);
  }
}

/// Calls `fn` with each value that is stored in the memory of another one, and
/// with the value written there: loop-carried values, and results that
/// overwrite an argument.
void TaskBuilder::forEachKept(llvm::function_ref<void(Value, Value)> fn) {
  auto visit = [&](Value memory, Value written) {
    while (Value viewed = getViewed(written))
      written = viewed;
    Operation *op = written.getDefiningOp();
    if (isTensor(memory) && op && op->getBlock() == &block &&
        !isa<scf::ForOp>(op))
      fn(memory, written);
  };
  Operation *terminator = block.getTerminator();
  if (auto loop = dyn_cast<scf::ForOp>(block.getParentOp())) {
    for (auto [argument, yielded] :
         llvm::zip(loop.getRegionIterArgs(), terminator->getOperands()))
      visit(argument, yielded);
    return;
  }
  auto func = dyn_cast<FunctionOpInterface>(block.getParentOp());
  if (!func)
    return;
  for (BlockArgument argument : block.getArguments())
    if (auto result = func.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), dist::DistDialect::kDonateAttr))
      visit(argument, terminator->getOperand(result.getInt()));
}

/// Orders an op that writes into the memory of another value after all readers
/// of that value.
void TaskBuilder::keepWritesLast() {
  forEachKept([&](Value memory, Value written) {
    auto found = memoryOf.find(memory);
    if (found == memoryOf.end())
      return;
    unsigned writer = taskOf.lookup(written.getDefiningOp());
    for (unsigned reader : problem().blocks[found->second].tasks)
      depend(writer, reader);
  });
}

BlockTasks TaskBuilder::build() {
  number();
  forEachKept([&](Value, Value written) { kept.insert(written); });
  problem().tasks.resize(out.ops.size());
  for (Operation &op : block) {
    unsigned task = taskOf.lookup(&op);
    if (out.ops[task] == &op)
      addTask(op);
    else if (isa<dist::WaitOp>(op))
      // The source of a transfer lives until the wait, even without another
      // reader.
      touch(blockOf(op.getOperand(1)), task);
    addOrder(op, task);
  }
  keepWritesLast();
  limitPrefetch(out);
  // Blocks without tasks or bytes are not part of the problem.
  llvm::erase_if(problem().blocks, [](const OverlapBlock &memory) {
    return memory.tasks.empty() || memory.bytes == 0;
  });
  return std::move(out);
}

BlockTasks tessera::buildOverlapTasks(Block &block) {
  return TaskBuilder(block).build();
}

llvm::DenseMap<Operation *, double>
tessera::getExposedShares(FunctionOpInterface func) {
  llvm::DenseMap<Operation *, double> shares;
  llvm::SetVector<Block *> blocks;
  func->walk([&](dist::StartOp start) { blocks.insert(start->getBlock()); });
  for (Block *block : blocks) {
    BlockTasks tasks = buildOverlapTasks(*block);
    OverlapTimes times = timeOverlap(tasks.problem, tasks.order);
    for (auto [i, op] : llvm::enumerate(tasks.ops))
      if (isa<dist::StartOp>(op) && tasks.problem.tasks[i].isTransfer())
        shares[op] =
            tasks.problem.tasks[i].seconds > 0
                ? times.spans[i].exposed / tasks.problem.tasks[i].seconds
                : 1;
  }
  return shares;
}

double tessera::getMakespan(ModuleOp module) {
  double most = 0;
  for (auto func : module.getOps<FunctionOpInterface>()) {
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      continue;
    BlockTasks tasks = buildOverlapTasks(func.getFunctionBody().front());
    OverlapTimes times = timeOverlap(tasks.problem, tasks.order);
    most =
        std::max(most, getSeconds(tasks.problem, times, getWorkRates(module)));
  }
  return most;
}
