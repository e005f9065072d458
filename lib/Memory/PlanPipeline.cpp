//===- PlanPipeline.cpp - The arenas of pipelines and of their tasks ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A task knows its memory by offsets in segments, each of which is elsewhere
// for each micro-batch; what is the same for all is at its place in the arena:
//
//     offsets of a task    0 .. arena   | scratch | frame  | received | sent
//     rt.segments                        ^         ^        ^          ^
//     bases of a call                    2048      4096     8192       9216
//
// Scratch, frames and boundaries of all micro-batches are blocks of the step's
// one arena problem, whose time goes over the positions of the list.
//
//===----------------------------------------------------------------------===//

#include "ArenaAttributes.h"
#include "tessera/Memory/ListEntries.h"
#include "tessera/Memory/Passes.h"
#include "tessera/Schedule/ActionList.h"
#include "tessera/Schedule/PeakBytes.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {
#define GEN_PASS_DEF_PLANPIPELINEPASS
#include "tessera/Memory/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::PlaceKind;
using rt::RTDialect;
using schedule::Action;
using schedule::ActionKind;
using schedule::HeldBlock;
using schedule::Slot;

namespace {

/// Values side by side, as a frame or a boundary has them.
struct Layout {
  /// By index; -1 of a value that nobody writes.
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
};

/// A segment is memory of a kind; of the batch and of stacked results one for
/// each operand, or result.
struct SegmentKey {
  PlaceKind kind;
  int64_t operand;
  bool operator==(const SegmentKey &o) const {
    return kind == o.kind && operand == o.operand;
  }
};

/// A task function.
struct Task {
  Task(func::FuncOp func, bool reuse, int64_t canary)
      : func(func), blocks(func, reuse, canary) {}

  rt::PlaceAttr getPlace(unsigned argument) {
    return func.getArgAttrOfType<rt::PlaceAttr>(argument,
                                                RTDialect::kPlaceAttr);
  }
  rt::TaskAttr getTask() {
    return func->getAttrOfType<rt::TaskAttr>(RTDialect::kTaskAttr);
  }
  bool reads(PlaceKind kind) {
    return llvm::any_of(
        llvm::seq<unsigned>(0, func.getNumArguments()),
        [&](unsigned i) { return getPlace(i).getKind() == kind; });
  }

  func::FuncOp func;
  StepBlocks blocks;
  /// Of all blocks but those of arguments.
  ArenaPlan scratch;
  SmallVector<SegmentKey> segments;
};

/// A step function with a pipeline.
struct PPRank {
  PPRank(func::FuncOp func, bool reuse, int64_t canary)
      : func(func), pipeline(findPipeline(func)), blocks(func, reuse, canary) {}

  func::FuncOp func;
  rt::PipelineOp pipeline;
  StepBlocks blocks;
  std::vector<std::unique_ptr<Task>> tasks;
  ArenaPlan plan;

  Task *findTask(int64_t kind, int64_t chunk) {
    for (auto &task : tasks)
      if (task->getTask().getKind() == kind &&
          task->getTask().getChunk() == chunk)
        return task.get();
    return nullptr;
  }
};

/// Plans all pp ranks of one program.
class PipelinePlanner {
public:
  PipelinePlanner(bool reuse, bool watched)
      : reuse(reuse), canary(watched ? TESSERA_RT_CANARY_BYTES : 0),
        watched(watched) {}
  LogicalResult run(ModuleOp module);

private:
  LogicalResult read(ModuleOp module);
  LogicalResult planTask(Task &task);
  Layout getLayout(Task *writer, PlaceKind kind);
  Layout getHeldLayout(int rank, HeldBlock::Kind kind, int chunk,
                       int microBatch);
  Layout getLayoutOf(int rank, Task &task, SegmentKey key, int microBatch);
  SmallVector<TaskCall, 2> getCalls(int rank, const Action &action);
  schedule::BoundaryReaders getReaders(PPRank &rank, int chunk);
  void annotate(int number, Task &task);
  int64_t getBase(int rank, SegmentKey key, const TaskCall &call);
  SmallVector<int64_t> findFreeSlots(PPRank &rank);
  LogicalResult plan(int number);

  bool reuse;
  int64_t canary;
  bool watched;
  std::vector<std::unique_ptr<PPRank>> ranks;
  schedule::ScheduleProblem problem;
  schedule::Schedule schedule;
  /// Of the pp rank that is being planned: where each held block is.
  std::map<std::tuple<HeldBlock::Kind, int, int>, int64_t> held;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

LogicalResult PipelinePlanner::read(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isPrivate() && findPipeline(func))
      ranks.push_back(std::make_unique<PPRank>(func, reuse, canary));
  if (ranks.empty())
    return success();
  auto getNumber = [](const std::unique_ptr<PPRank> &rank) {
    auto attr =
        rank->func->getAttrOfType<IntegerAttr>(dist::DistDialect::kPPRankAttr);
    return attr ? attr.getInt() : 0;
  };
  llvm::sort(ranks, [&](const auto &lhs, const auto &rhs) {
    return getNumber(lhs) < getNumber(rhs);
  });
  for (auto &rank : ranks) {
    auto actions = schedule::parseActions(rank->pipeline.getList());
    if (!actions)
      return rank->pipeline.emitOpError(llvm::toString(actions.takeError()));
    schedule.ranks.push_back(std::move(*actions));
  }
  rt::PipelineOp first = ranks.front()->pipeline;
  auto found =
      schedule::findProblem(first.getStageRanks(), first.getMicroBatches());
  if (!found)
    return first.emitOpError(llvm::toString(found.takeError()));
  problem = *found;
  if (problem.ranks != static_cast<int>(ranks.size()))
    return first.emitOpError("expects a function for each of ")
           << problem.ranks << " pp ranks but got " << ranks.size();
  if (llvm::Error error =
          schedule::verify(problem, schedule, schedule::SendMode::Posted))
    return first.emitOpError("list: ") << llvm::toString(std::move(error));
  return success();
}

/// Plans what a task has for itself. The blocks of its arguments come first.
LogicalResult PipelinePlanner::planTask(Task &task) {
  if (failed(checkBoundary(task.func)) || failed(task.blocks.build()))
    return failure();
  ArenaProblem scratch;
  scratch.blocks.assign(task.blocks.problem.blocks.begin() +
                            task.func.getNumArguments(),
                        task.blocks.problem.blocks.end());
  FailureOr<ArenaPlan> plan = planChecked(task.func, scratch);
  if (failed(plan))
    return failure();
  task.scratch = std::move(*plan);
  for (unsigned i = 0; i < task.func.getNumArguments(); ++i) {
    rt::PlaceAttr place = task.getPlace(i);
    PlaceKind kind = place.getKind();
    if (kind == PlaceKind::Captured || kind == PlaceKind::Sum)
      continue;
    bool isSlice = kind == PlaceKind::Batch || kind == PlaceKind::Slice;
    SegmentKey key{kind, isSlice ? place.getIndex() : 0};
    if (!llvm::is_contained(task.segments, key))
      task.segments.push_back(key);
  }
  return success();
}

/// What a task writes at places of a kind, side by side.
Layout PipelinePlanner::getLayout(Task *writer, PlaceKind kind) {
  SmallVector<int64_t> bytes;
  for (unsigned i = 0; writer && i < writer->func.getNumArguments(); ++i) {
    rt::PlaceAttr place = writer->getPlace(i);
    if (place.getKind() != kind)
      continue;
    if (static_cast<int64_t>(bytes.size()) <= place.getIndex())
      bytes.resize(place.getIndex() + 1, -1);
    bytes[place.getIndex()] = rt::getTensorBytes(
        cast<RankedTensorType>(writer->func.getArgumentTypes()[i]));
  }
  Layout layout;
  for (int64_t size : bytes) {
    layout.offsets.push_back(size < 0 ? -1 : layout.bytes);
    layout.bytes +=
        llvm::alignTo(std::max<int64_t>(size, 0), TESSERA_RT_ARENA_ALIGNMENT);
  }
  return layout;
}

/// The layout of what `rank` holds of a chunk. A boundary is laid out by the
/// task that sends it.
Layout PipelinePlanner::getHeldLayout(int rank, HeldBlock::Kind kind, int chunk,
                                      int microBatch) {
  auto getBackward = [&](Slot slot) {
    Task *b = ranks[slot.rank]->findTask(TESSERA_RT_TASK_B, slot.chunk);
    return b ? b : ranks[slot.rank]->findTask(TESSERA_RT_TASK_BW, slot.chunk);
  };
  auto getForward = [&](Slot slot) {
    return ranks[slot.rank]->findTask(TESSERA_RT_TASK_F, slot.chunk);
  };
  Slot slot{rank, chunk};
  int stage = problem.stageOf(slot);
  switch (kind) {
  case HeldBlock::ForwardToInputGrad:
    return getLayout(getForward(slot), PlaceKind::ForwardToInputGrad);
  case HeldBlock::ForwardToWeightGrad:
    return getLayout(getForward(slot), PlaceKind::ForwardToWeightGrad);
  case HeldBlock::InputGradToWeightGrad:
    return getLayout(getBackward(slot), PlaceKind::InputGradToWeightGrad);
  case HeldBlock::Activation:
    return getLayout(getForward(problem.slotOf(stage - 1, microBatch)),
                     PlaceKind::Send);
  case HeldBlock::Gradient:
    return getLayout(getBackward(problem.slotOf(stage + 1, microBatch)),
                     PlaceKind::Send);
  case HeldBlock::SentActivation:
    return getLayout(getForward(slot), PlaceKind::Send);
  case HeldBlock::SentGradient:
    return getLayout(getBackward(slot), PlaceKind::Send);
  }
  llvm_unreachable("unknown kind");
}

schedule::BoundaryReaders PipelinePlanner::getReaders(PPRank &rank, int chunk) {
  schedule::BoundaryReaders readers;
  for (auto &task : rank.tasks) {
    if (task->getTask().getChunk() != chunk)
      continue;
    int64_t kind = task->getTask().getKind();
    ActionKind last = kind == TESSERA_RT_TASK_F   ? ActionKind::Forward
                      : kind == TESSERA_RT_TASK_W ? ActionKind::WeightGrad
                                                  : ActionKind::InputGrad;
    if (task->reads(PlaceKind::Activation))
      readers.activation = std::max(readers.activation, last);
    if (task->reads(PlaceKind::Gradient))
      readers.gradient = std::max(readers.gradient, last);
  }
  return readers;
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// What is held at places of a kind.
static HeldBlock::Kind getHeldKind(PlaceKind kind) {
  switch (kind) {
  case PlaceKind::ForwardToInputGrad:
    return HeldBlock::ForwardToInputGrad;
  case PlaceKind::ForwardToWeightGrad:
    return HeldBlock::ForwardToWeightGrad;
  case PlaceKind::InputGradToWeightGrad:
    return HeldBlock::InputGradToWeightGrad;
  case PlaceKind::Activation:
    return HeldBlock::Activation;
  case PlaceKind::Gradient:
    return HeldBlock::Gradient;
  default:
    llvm_unreachable("expects frames and received boundaries");
  }
}

Layout PipelinePlanner::getLayoutOf(int rank, Task &task, SegmentKey key,
                                    int microBatch) {
  if (key.kind == PlaceKind::Send)
    return getLayout(&task, PlaceKind::Send);
  if (key.kind == PlaceKind::Batch || key.kind == PlaceKind::Slice) {
    // One value, the slice.
    Layout layout;
    layout.offsets.assign(key.operand + 1, 0);
    rt::PipelineOp op = ranks[rank]->pipeline;
    Value whole = key.kind == PlaceKind::Batch ? op.getBatches()[key.operand]
                                               : op.getInits()[key.operand];
    layout.bytes = rt::getTensorBytes(cast<RankedTensorType>(whole.getType())) /
                   problem.microBatches;
    return layout;
  }
  return getHeldLayout(rank, getHeldKind(key.kind), task.getTask().getChunk(),
                       microBatch);
}

/// Sets offsets of a task: captured values and sums have those of the arena,
/// all else is in segments after it.
void PipelinePlanner::annotate(int number, Task &task) {
  PPRank &rank = *ranks[number];
  auto offsetOf = [&](Value value) {
    std::optional<unsigned> block = rank.blocks.getBlock(value);
    return rank.plan.offsets[*block] + rank.blocks.getOffsetInBlock(value);
  };
  Slot slot{number, static_cast<int>(task.getTask().getChunk())};
  int microBatch = problem.firstMicroBatchOf(slot);
  int64_t scratchBegin =
      llvm::alignTo(rank.plan.bytes, TESSERA_RT_ARENA_ALIGNMENT);
  SmallVector<int64_t> begins{scratchBegin};
  int64_t end = scratchBegin + task.scratch.bytes;
  SmallVector<Layout> layouts;
  for (SegmentKey key : task.segments) {
    layouts.push_back(getLayoutOf(number, task, key, microBatch));
    begins.push_back(end);
    end += llvm::alignTo(layouts.back().bytes + canary,
                         TESSERA_RT_ARENA_ALIGNMENT);
  }
  ArenaPlan plan;
  for (unsigned i = 0; i < task.func.getNumArguments(); ++i) {
    rt::PlaceAttr place = task.getPlace(i);
    PlaceKind kind = place.getKind();
    if (kind == PlaceKind::Captured || kind == PlaceKind::Sum) {
      ValueRange values = kind == PlaceKind::Captured
                              ? ValueRange(rank.pipeline.getCaptured())
                              : ValueRange(rank.pipeline.getInits());
      plan.offsets.push_back(offsetOf(values[place.getIndex()]));
      continue;
    }
    bool isSlice = kind == PlaceKind::Batch || kind == PlaceKind::Slice;
    SegmentKey key{kind, isSlice ? place.getIndex() : 0};
    size_t segment = llvm::find(task.segments, key) - task.segments.begin();
    plan.offsets.push_back(begins[segment + 1] +
                           layouts[segment].offsets[place.getIndex()]);
  }
  for (int64_t offset : task.scratch.offsets)
    plan.offsets.push_back(scratchBegin + offset);
  annotateOffsets(task.func, task.blocks, plan);
  Builder b(task.func.getContext());
  task.func->setAttr(RTDialect::kArenaBytesAttr,
                     b.getI64IntegerAttr(task.scratch.bytes));
  task.func->setAttr(RTDialect::kSegmentsAttr, b.getDenseI64ArrayAttr(begins));
  if (watched)
    annotateLifetimes(
        task.func, task.blocks, plan,
        llvm::seq<unsigned>(task.func.getNumArguments(), plan.offsets.size()));
}

/// The address of a segment for one call, in the arena.
int64_t PipelinePlanner::getBase(int number, SegmentKey key,
                                 const TaskCall &call) {
  PPRank &rank = *ranks[number];
  if (key.kind == PlaceKind::Batch || key.kind == PlaceKind::Slice) {
    Value whole = key.kind == PlaceKind::Batch
                      ? rank.pipeline.getBatches()[key.operand]
                      : rank.pipeline.getInits()[key.operand];
    std::optional<unsigned> block = rank.blocks.getBlock(whole);
    int64_t row = rt::getTensorBytes(cast<RankedTensorType>(whole.getType())) /
                  problem.microBatches;
    return rank.plan.offsets[*block] + rank.blocks.getOffsetInBlock(whole) +
           call.microBatch * row;
  }
  // What has no bytes is nowhere.
  auto find = [&](HeldBlock::Kind kind, int chunk) {
    auto it = held.find({kind, chunk, call.microBatch});
    return it == held.end() ? 0 : it->second;
  };
  if (key.kind != PlaceKind::Send)
    return find(getHeldKind(key.kind), call.chunk);
  bool isForward = call.kind == TESSERA_RT_TASK_F;
  int stage = problem.stageOf({number, call.chunk});
  Slot to = problem.slotOf(isForward ? stage + 1 : stage - 1, call.microBatch);
  if (to.rank == number)
    return find(isForward ? HeldBlock::Activation : HeldBlock::Gradient,
                to.chunk);
  return find(isForward ? HeldBlock::SentActivation : HeldBlock::SentGradient,
              call.chunk);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// What an action calls, without addresses.
SmallVector<TaskCall, 2> PipelinePlanner::getCalls(int number,
                                                   const Action &action) {
  SmallVector<TaskCall, 2> calls;
  auto add = [&](tessera_rt_task kind, int chunk, int microBatch) {
    PPRank &rank = *ranks[number];
    Task *task = rank.findTask(kind, chunk);
    auto it = llvm::find_if(
        rank.tasks, [&](const auto &other) { return other.get() == task; });
    calls.push_back({it - rank.tasks.begin(), kind, chunk, microBatch, {}});
  };
  switch (action.kind) {
  case ActionKind::Forward:
    add(TESSERA_RT_TASK_F, action.chunk, action.microBatch);
    break;
  case ActionKind::InputGrad:
    add(TESSERA_RT_TASK_B, action.chunk, action.microBatch);
    break;
  case ActionKind::WeightGrad:
    add(TESSERA_RT_TASK_W, action.chunk, action.microBatch);
    break;
  case ActionKind::Backward:
    add(TESSERA_RT_TASK_BW, action.chunk, action.microBatch);
    break;
  case ActionKind::Overlapped:
    add(TESSERA_RT_TASK_F, action.chunk, action.microBatch);
    add(TESSERA_RT_TASK_BW, action.backwardChunk, action.backwardMicroBatch);
    break;
  default:
    break;
  }
  return calls;
}

/// Slots that neither tasks use nor collectives in flight around the pipeline,
/// from the highest on.
SmallVector<int64_t> PipelinePlanner::findFreeSlots(PPRank &rank) {
  llvm::SmallBitVector taken(rt::kTransferSlot);
  auto take = [&](Operation *op) {
    taken.set(op->getAttrOfType<IntegerAttr>(RTDialect::kSlotAttr).getInt());
  };
  for (auto &task : rank.tasks)
    task->func.walk([&](dist::StartOp start) { take(start); });
  for (auto start : rank.func.front().getOps<dist::StartOp>())
    if (start->isBeforeInBlock(rank.pipeline) &&
        rank.pipeline->isBeforeInBlock(getWait(start)))
      take(start);
  SmallVector<int64_t> free;
  for (int64_t slot = rt::kTransferSlot - 1; slot >= 0; --slot)
    if (!taken.test(slot))
      free.push_back(slot);
  return free;
}

LogicalResult PipelinePlanner::plan(int number) {
  PPRank &rank = *ranks[number];
  ArenaProblem &arena = rank.blocks.problem;
  unsigned own = arena.blocks.size();
  int64_t first = rank.blocks.getTime(rank.pipeline);
  int64_t last = 0;
  for (const ArenaBlock &block : arena.blocks)
    last = std::max(last, block.end);
  auto add = [&](int64_t bytes, size_t begin, size_t end) {
    int64_t from = first + static_cast<int64_t>(begin),
            to = first + static_cast<int64_t>(end);
    int64_t padded = llvm::alignTo(bytes, TESSERA_RT_ARENA_ALIGNMENT);
    arena.blocks.push_back(
        {padded + canary, reuse ? from : 0, reuse ? to : last});
    rank.blocks.categories.push_back(Activations);
    return arena.blocks.size() - 1;
  };

  // Blocks of the list: what is held, then scratch.
  std::vector<schedule::BoundaryReaders> readers;
  for (int chunk = 0; chunk < problem.chunks; ++chunk)
    readers.push_back(getReaders(rank, chunk));
  std::vector<HeldBlock> blocks =
      schedule::findHeld(problem, schedule, number, readers);
  std::map<std::pair<HeldBlock::Kind, int>, int64_t> sizes;
  SmallVector<std::pair<const HeldBlock *, unsigned>> numbers;
  for (const HeldBlock &block : blocks) {
    auto [it, isNew] = sizes.try_emplace({block.kind, block.chunk}, 0);
    if (isNew)
      it->second =
          getHeldLayout(number, block.kind, block.chunk, block.microBatch)
              .bytes;
    if (it->second)
      numbers.push_back({&block, add(it->second, block.begin, block.end)});
  }
  const std::vector<Action> &actions = schedule.ranks[number];
  ListMemory list;
  list.calls.resize(actions.size());
  list.boundaries.resize(actions.size());
  std::vector<std::optional<unsigned>> scratch(actions.size());
  for (auto [position, action] : llvm::enumerate(actions)) {
    list.calls[position] = getCalls(number, action);
    int64_t bytes = 0;
    for (const TaskCall &call : list.calls[position])
      bytes = std::max(bytes, rank.tasks[call.function]->scratch.bytes);
    if (bytes)
      scratch[position] = add(bytes, position, position);
  }

  FailureOr<ArenaPlan> plan = planChecked(rank.func, arena);
  if (failed(plan))
    return failure();
  rank.plan = std::move(*plan);
  annotateOffsets(rank.func, rank.blocks, rank.plan);
  annotateArena(rank.func, rank.blocks, rank.plan);

  held.clear();
  for (auto [block, arenaBlock] : numbers) {
    int64_t offset = rank.plan.offsets[arenaBlock];
    held[{block->kind, block->chunk, block->microBatch}] = offset;
    if (watched)
      list.watched.push_back({offset, arena.blocks[arenaBlock].bytes - canary,
                              block->begin, block->end});
  }
  for (auto &task : rank.tasks)
    annotate(number, *task);

  // Addresses of calls and transfers.
  for (auto [position, action] : llvm::enumerate(actions)) {
    int64_t at = scratch[position] ? rank.plan.offsets[*scratch[position]] : 0;
    for (TaskCall &call : list.calls[position]) {
      call.bases.push_back(at);
      for (SegmentKey key : rank.tasks[call.function]->segments)
        call.bases.push_back(getBase(number, key, call));
    }
    if (!schedule::isTransfer(action.kind))
      continue;
    HeldBlock::Kind kind =
        action.kind == ActionKind::SendActivation ? HeldBlock::SentActivation
        : action.kind == ActionKind::SendGradient ? HeldBlock::SentGradient
        : action.kind == ActionKind::ReceiveActivation ? HeldBlock::Activation
                                                       : HeldBlock::Gradient;
    auto it = held.find({kind, action.chunk, action.microBatch});
    if (it != held.end())
      list.boundaries[position] = {it->second, sizes.at({kind, action.chunk})};
  }
  list.freeSlots = findFreeSlots(rank);
  auto entries = writeEntries(problem, schedule, number, list);
  if (!entries)
    return rank.pipeline.emitOpError(llvm::toString(entries.takeError()));
  Builder b(rank.func.getContext());
  rank.pipeline->setAttr(RTDialect::kEntriesAttr,
                         b.getDenseI64ArrayAttr(*entries));
  if (watched)
    annotateLifetimes(rank.func, rank.blocks, rank.plan,
                      llvm::seq<unsigned>(0, own));
  return success();
}

LogicalResult PipelinePlanner::run(ModuleOp module) {
  if (failed(read(module)))
    return failure();
  for (auto &rank : ranks) {
    if (failed(checkBoundary(rank->func)) || failed(rank->blocks.build()))
      return failure();
    for (func::FuncOp func : rank->pipeline.getTaskFunctions()) {
      rank->tasks.push_back(std::make_unique<Task>(func, reuse, canary));
      if (failed(planTask(*rank->tasks.back())))
        return failure();
    }
  }
  for (size_t number = 0; number < ranks.size(); ++number)
    if (failed(plan(number)))
      return failure();
  return success();
}

namespace {
struct PlanPipelinePass
    : tessera::impl::PlanPipelinePassBase<PlanPipelinePass> {
  using PlanPipelinePassBase::PlanPipelinePassBase;
  void runOnOperation() override {
    if (failed(PipelinePlanner(reuse, check).run(getOperation())))
      signalPassFailure();
  }
};
} // namespace
