//===- PlanPipeline.cpp - Arenas of pipelines and their tasks -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A task addresses its memory by offsets in segments, whose base differs for
// each micro-batch. Values common to all micro-batches have offsets in the
// arena:
//
//     offsets of a task    0 .. arena   | scratch | frame  | received | sent
//     rt.segments                        ^         ^        ^          ^
//     bases of a call                    2048      4096     8192       9216
//
// Scratch, frames and boundaries of all micro-batches are blocks in the step's
// one arena problem. Its time includes the positions of the list.
//
//===----------------------------------------------------------------------===//

#include "PipelinePlanner.h"
#include "tessera/Memory/Passes.h"
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

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// Returns the calls of an action, without addresses.
SmallVector<TaskCall, 2> PipelinePlanner::getCalls(int number,
                                                   const Action &action) {
  SmallVector<TaskCall, 2> calls;
  PlannedPPRank &rank = *ranks[number];
  auto numberOf = [&](PlannedTask *task) {
    return llvm::find_if(
               rank.tasks,
               [&](const auto &other) { return other.get() == task; }) -
           rank.tasks.begin();
  };
  auto add = [&](tessera_rt_task kind, int chunk, int microBatch) {
    calls.push_back(
        {numberOf(rank.findTask(kind, chunk)), kind, chunk, microBatch, {}});
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
    if (PlannedTask *pair = rank.findPair(action.chunk, action.backwardChunk)) {
      calls.push_back({numberOf(pair),
                       TESSERA_RT_TASK_F,
                       action.chunk,
                       action.microBatch,
                       {},
                       action.backwardChunk,
                       action.backwardMicroBatch});
      break;
    }
    add(TESSERA_RT_TASK_F, action.chunk, action.microBatch);
    add(TESSERA_RT_TASK_BW, action.backwardChunk, action.backwardMicroBatch);
    break;
  default:
    break;
  }
  return calls;
}

/// Returns the slots used neither by tasks nor by collectives in flight around
/// the pipeline, the highest first.
SmallVector<int64_t> PipelinePlanner::findFreeSlots(PlannedPPRank &rank) {
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
  PlannedPPRank &rank = *ranks[number];
  ArenaProblem &arena = rank.blocks.problem;
  unsigned own = rank.ownBlocks = arena.blocks.size();
  int64_t first = rank.blocks.getTime(rank.pipeline);
  int64_t last = 0;
  for (const ArenaBlock &block : arena.blocks)
    last = std::max(last, block.end);
  auto add = [&](int64_t bytes, size_t begin, size_t end) {
    int64_t from = first + static_cast<int64_t>(begin),
            to = first + static_cast<int64_t>(end);
    arena.blocks.push_back(
        {getTakenBytes(bytes), reuse ? from : 0, reuse ? to : last});
    rank.blocks.categories.push_back(Activations);
    return arena.blocks.size() - 1;
  };

  // Add the blocks of the list: held blocks, then scratch.
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

  FailureOr<ArenaPlan> plan = planChecked(rank.func, arena, /*searches=*/true);
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

  // Set the addresses of calls and transfers.
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

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// Returns the bytes that each stage holds for a micro-batch.
schedule::PipelineBytes PipelinePlanner::getBytes() {
  schedule::PipelineBytes sizes;
  sizes.fixed.assign(problem.ranks, 0);
  for (int stage = 0; stage < problem.stages(); ++stage) {
    Slot slot = problem.slotOf(stage, /*microBatch=*/0);
    auto hold = [&](HeldBlock::Kind kind) {
      return getTakenBytes(
          getHeldLayout(slot.rank, kind, slot.chunk, /*microBatch=*/0).bytes);
    };
    auto scratch = [&](tessera_rt_task kind) -> int64_t {
      PlannedTask *task = ranks[slot.rank]->findTask(kind, slot.chunk);
      return task ? getTakenBytes(task->scratch.bytes) : 0;
    };
    schedule::StageBytes &bytes = sizes.stages.emplace_back();
    bytes.forwardToInputGrad = hold(HeldBlock::ForwardToInputGrad);
    bytes.forwardToWeightGrad = hold(HeldBlock::ForwardToWeightGrad);
    bytes.inputGradToWeightGrad = hold(HeldBlock::InputGradToWeightGrad);
    bytes.activation = stage > 0 ? hold(HeldBlock::Activation) : 0;
    bytes.gradient =
        stage + 1 < problem.stages() ? hold(HeldBlock::Gradient) : 0;
    bytes.until = getReaders(*ranks[slot.rank], slot.chunk);
    bytes.forward = scratch(TESSERA_RT_TASK_F);
    bytes.inputGrad = scratch(TESSERA_RT_TASK_B);
    bytes.weightGrad = scratch(TESSERA_RT_TASK_W);
    bytes.backward = scratch(TESSERA_RT_TASK_BW);
    // The tasks of an overlapped action without a pair run one after the other
    // in the same scratch.
    for (const Action &action : schedule.ranks[slot.rank])
      if (action.kind == ActionKind::Overlapped && action.chunk == slot.chunk)
        for (const TaskCall &call : getCalls(slot.rank, action))
          bytes.overlapped = std::max(
              bytes.overlapped,
              getTakenBytes(
                  ranks[slot.rank]->tasks[call.function]->scratch.bytes));
  }
  return sizes;
}

/// Returns the peak of the arena's live bytes over the positions of the list,
/// and sets `fixed` to the live bytes of blocks that do not belong to the list.
int64_t PipelinePlanner::getPeakOfList(int number, int64_t &fixed) {
  PlannedPPRank &rank = *ranks[number];
  int64_t first = rank.blocks.getTime(rank.pipeline);
  auto length = static_cast<int64_t>(schedule.ranks[number].size());
  std::vector<int64_t> changes(length + 1, 0);
  fixed = 0;
  for (auto [i, block] : llvm::enumerate(rank.blocks.problem.blocks)) {
    int64_t begin = std::max<int64_t>(block.begin - first, 0);
    int64_t end = std::min(block.end - first, length - 1);
    if (begin > end)
      continue;
    changes[begin] += block.bytes;
    changes[end + 1] -= block.bytes;
    fixed += i < rank.ownBlocks ? block.bytes : 0;
  }
  int64_t held = 0, peak = 0;
  for (int64_t change : changes) {
    held += change;
    peak = std::max(peak, held);
  }
  return peak;
}

/// True if schedule::peakBytes, which knows only lists and sizes, predicts the
/// arena's peak.
bool PipelinePlanner::isAsPredicted() {
  schedule::PipelineBytes sizes = getBytes();
  std::vector<int64_t> peaks(ranks.size());
  for (size_t number = 0; number < ranks.size(); ++number)
    peaks[number] = getPeakOfList(number, sizes.fixed[number]);
  return schedule::peakBytes(problem, schedule, sizes) == peaks;
}

/// Checks that each task belongs to a chunk, and that some task writes each
/// place that it reads.
LogicalResult PipelinePlanner::checkPlaces(int number, PlannedTask &task) {
  for (rt::TaskAttr part : {task.getTask(), task.getBeside()})
    if (part && (part.getChunk() < 0 || part.getChunk() >= problem.chunks))
      return task.func.emitError("expects one of ")
             << problem.chunks << " chunks but got " << part.getChunk();
  for (unsigned i = 0; i < task.func.getNumArguments(); ++i) {
    bool isBeside = task.isBeside(i);
    if (isBeside && !task.getBeside())
      return task.func.emitError("argument ")
             << i << ": expects a function with rt.beside";
    Slot slot{number, static_cast<int>(task.getTask(isBeside).getChunk())};
    rt::PlaceAttr place = task.getPlace(i);
    PlaceKind kind = place.getKind();
    if (kind == PlaceKind::Captured || kind == PlaceKind::Sum ||
        kind == PlaceKind::Batch || kind == PlaceKind::Slice)
      continue;
    bool isFirst = problem.stageOf(slot) == 0;
    bool isLast = problem.stageOf(slot) + 1 == problem.stages();
    bool isReceived = kind == PlaceKind::Activation ? !isFirst
                      : kind == PlaceKind::Gradient ? !isLast
                                                    : true;
    FrameLayout layout;
    if (isReceived)
      layout = getLayoutOf(number, task, {kind, 0, isBeside},
                           problem.firstMicroBatchOf(slot));
    if (!layout.offsets.count(place.getIndex()))
      return task.func.emitError("argument ")
             << i << ": expects a place that a task writes but got " << place;
  }
  return success();
}

/// Checks that there is a function for each task that a list runs.
LogicalResult PipelinePlanner::checkTasks() {
  for (auto [number, rank] : llvm::enumerate(ranks))
    for (auto &task : rank->tasks)
      if (failed(checkPlaces(static_cast<int>(number), *task)))
        return failure();
  for (auto [number, rank] : llvm::enumerate(ranks))
    for (const Action &action : schedule.ranks[number])
      for (const TaskCall &call : getCalls(static_cast<int>(number), action))
        if (call.function == static_cast<int64_t>(rank->tasks.size())) {
          std::string text;
          llvm::raw_string_ostream(text) << action;
          return rank->pipeline.emitOpError("expects task functions for ")
                 << text << " of its list";
        }
  return success();
}

LogicalResult PipelinePlanner::run(ModuleOp module) {
  if (failed(read(module)))
    return failure();
  if (ranks.empty())
    return success();
  for (auto &rank : ranks) {
    if (failed(checkTensors(rank->func)) || failed(rank->blocks.build()))
      return failure();
    for (func::FuncOp func : rank->pipeline.getTaskFunctions()) {
      rank->tasks.push_back(std::make_unique<PlannedTask>(func, reuse, canary));
      if (failed(planTask(*rank->tasks.back())))
        return failure();
    }
  }
  if (failed(checkTasks()))
    return failure();
  for (size_t number = 0; number < ranks.size(); ++number)
    if (failed(plan(number)))
      return failure();
  assert((!reuse || isAsPredicted()) && "the arena of a list has another peak");
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
