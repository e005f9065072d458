//===- PipelineTasks.cpp - The memory of the tasks of a pipeline ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinePlanner.h"
#include "tessera/Schedule/ActionList.h"

using namespace mlir;
using namespace tessera;
using rt::PlaceKind;
using rt::RTDialect;
using schedule::ActionKind;
using schedule::HeldBlock;
using schedule::Slot;

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

LogicalResult PipelinePlanner::read(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isPrivate() && findPipeline(func))
      ranks.push_back(std::make_unique<PlannedPPRank>(func, reuse, canary));
  if (ranks.empty())
    return success();
  auto getNumber = [](const std::unique_ptr<PlannedPPRank> &rank) {
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

/// Plans a task's own memory. The blocks of its arguments come first.
LogicalResult PipelinePlanner::planTask(PlannedTask &task) {
  if (failed(checkTensors(task.func)) || failed(task.blocks.build()))
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
    SegmentKey key = task.getSegment(i);
    if (!llvm::is_contained(task.segments, key))
      task.segments.push_back(key);
  }
  return success();
}

/// Returns the layout of the values that a task writes at places of a kind, one
/// after the other.
FrameLayout PipelinePlanner::getLayout(PlannedTask *writer, PlaceKind kind) {
  std::map<int64_t, int64_t> bytes;
  for (unsigned i = 0; writer && i < writer->func.getNumArguments(); ++i) {
    rt::PlaceAttr place = writer->getPlace(i);
    if (place.getKind() != kind)
      continue;
    bytes[place.getIndex()] = rt::getTensorBytes(
        cast<RankedTensorType>(writer->func.getArgumentTypes()[i]));
  }
  FrameLayout layout;
  for (auto [index, size] : bytes) {
    layout.offsets[index] = layout.bytes;
    layout.bytes += llvm::alignTo(size, TESSERA_RT_ARENA_ALIGNMENT);
  }
  return layout;
}

/// Returns the layout of a block that `rank` holds for a chunk. The sending
/// task defines the layout of a boundary.
FrameLayout PipelinePlanner::getHeldLayout(int rank, HeldBlock::Kind kind,
                                           int chunk, int microBatch) {
  auto getBackward = [&](Slot slot) {
    PlannedTask *b = ranks[slot.rank]->findTask(TESSERA_RT_TASK_B, slot.chunk);
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

schedule::BoundaryReaders PipelinePlanner::getReaders(PlannedPPRank &rank,
                                                      int chunk) {
  schedule::BoundaryReaders readers;
  for (auto &task : rank.tasks) {
    // A pair reads the same values as its tasks.
    if (task->getTask().getChunk() != chunk || task->getBeside())
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

/// Returns the kind of held block for a kind of place.
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

FrameLayout PipelinePlanner::getLayoutOf(int rank, PlannedTask &task,
                                         SegmentKey key, int microBatch) {
  rt::TaskAttr part = task.getTask(key.isBeside);
  if (key.kind == PlaceKind::Send)
    return getLayout(ranks[rank]->findTask(part.getKind(), part.getChunk()),
                     PlaceKind::Send);
  if (key.kind == PlaceKind::Batch || key.kind == PlaceKind::Slice) {
    // The layout has one value, the slice.
    FrameLayout layout;
    layout.offsets[key.operand] = 0;
    rt::PipelineOp op = ranks[rank]->pipeline;
    Value whole = key.kind == PlaceKind::Batch ? op.getBatches()[key.operand]
                                               : op.getInits()[key.operand];
    layout.bytes = rt::getTensorBytes(cast<RankedTensorType>(whole.getType())) /
                   problem.microBatches;
    return layout;
  }
  return getHeldLayout(rank, getHeldKind(key.kind),
                       static_cast<int>(part.getChunk()), microBatch);
}

/// Sets offsets of a task: captured values and sums have the arena's offsets,
/// all others are in segments after it.
void PipelinePlanner::annotate(int number, PlannedTask &task) {
  PlannedPPRank &rank = *ranks[number];
  auto offsetOf = [&](Value value) {
    std::optional<unsigned> block = rank.blocks.getBlock(value);
    return rank.plan.offsets[*block] + rank.blocks.getOffsetInBlock(value);
  };
  int64_t scratchBegin =
      llvm::alignTo(rank.plan.bytes, TESSERA_RT_ARENA_ALIGNMENT);
  SmallVector<int64_t> begins{scratchBegin};
  int64_t end = scratchBegin + task.scratch.bytes;
  SmallVector<FrameLayout> layouts;
  for (SegmentKey key : task.segments) {
    Slot slot{number, static_cast<int>(task.getTask(key.isBeside).getChunk())};
    int microBatch = problem.firstMicroBatchOf(slot);
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
    SegmentKey key = task.getSegment(i);
    size_t segment = llvm::find(task.segments, key) - task.segments.begin();
    plan.offsets.push_back(
        begins[segment + 1] +
        layouts[segment].offsets.find(place.getIndex())->second);
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

/// Returns the address of a segment in the arena for one call.
int64_t PipelinePlanner::getBase(int number, SegmentKey key,
                                 const TaskCall &call) {
  PlannedPPRank &rank = *ranks[number];
  int chunk = key.isBeside ? call.backwardChunk : call.chunk;
  int microBatch = key.isBeside ? call.backwardMicroBatch : call.microBatch;
  if (key.kind == PlaceKind::Batch || key.kind == PlaceKind::Slice) {
    Value whole = key.kind == PlaceKind::Batch
                      ? rank.pipeline.getBatches()[key.operand]
                      : rank.pipeline.getInits()[key.operand];
    std::optional<unsigned> block = rank.blocks.getBlock(whole);
    int64_t row = rt::getTensorBytes(cast<RankedTensorType>(whole.getType())) /
                  problem.microBatches;
    return rank.plan.offsets[*block] + rank.blocks.getOffsetInBlock(whole) +
           microBatch * row;
  }
  // A block without bytes has no address.
  auto find = [&](HeldBlock::Kind kind, int chunk) {
    auto it = held.find({kind, chunk, microBatch});
    return it == held.end() ? 0 : it->second;
  };
  if (key.kind != PlaceKind::Send)
    return find(getHeldKind(key.kind), chunk);
  bool isForward = !key.isBeside && call.kind == TESSERA_RT_TASK_F;
  int stage = problem.stageOf({number, chunk});
  Slot to = problem.slotOf(isForward ? stage + 1 : stage - 1, microBatch);
  if (to.rank == number)
    return find(isForward ? HeldBlock::Activation : HeldBlock::Gradient,
                to.chunk);
  return find(isForward ? HeldBlock::SentActivation : HeldBlock::SentGradient,
              chunk);
}
