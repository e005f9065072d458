//===- PipelinePlanner.h - Arenas of pipelines and their tasks --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to rt-plan-pipeline: the memory of tasks (PipelineTasks.cpp), and the
// arena of a list (PlanPipeline.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_MEMORY_PIPELINEPLANNER_H
#define TESSERA_LIB_MEMORY_PIPELINEPLANNER_H

#include "ArenaAttributes.h"
#include "tessera/Memory/ListEntries.h"
#include "tessera/Schedule/PeakBytes.h"
#include <map>

namespace tessera {

/// The layout of the values of a frame or a boundary, one after the other.
struct FrameLayout {
  /// Offsets by index, for the values that are written.
  std::map<int64_t, int64_t> offsets;
  int64_t bytes = 0;
};

/// The key of a segment: memory of one kind. The batch and stacked results have
/// one segment per operand or result.
struct SegmentKey {
  rt::PlaceKind kind;
  int64_t operand;
  /// True for the BW of a pair.
  bool isBeside = false;
  bool operator==(const SegmentKey &o) const {
    return kind == o.kind && operand == o.operand && isBeside == o.isBeside;
  }
};

/// The function of a task or of a pair.
struct PlannedTask {
  PlannedTask(mlir::func::FuncOp func, bool reuse, int64_t canary)
      : func(func), blocks(func, reuse, canary) {}

  rt::PlaceAttr getPlace(unsigned argument) {
    return func.getArgAttrOfType<rt::PlaceAttr>(argument,
                                                rt::RTDialect::kPlaceAttr);
  }
  rt::TaskAttr getTask() {
    return func->getAttrOfType<rt::TaskAttr>(rt::RTDialect::kTaskAttr);
  }
  /// Returns the BW of a pair; null for a single task.
  rt::TaskAttr getBeside() {
    return func->getAttrOfType<rt::TaskAttr>(rt::RTDialect::kBesideAttr);
  }
  /// Returns the task, in a pair one of two, that owns an argument or a
  /// segment.
  rt::TaskAttr getTask(bool isBeside) {
    return isBeside ? getBeside() : getTask();
  }
  bool isBeside(unsigned argument) {
    return bool(func.getArgAttr(argument, rt::RTDialect::kBesideAttr));
  }
  SegmentKey getSegment(unsigned argument) {
    rt::PlaceAttr place = getPlace(argument);
    bool isSlice = place.getKind() == rt::PlaceKind::Batch ||
                   place.getKind() == rt::PlaceKind::Slice;
    return {place.getKind(), isSlice ? place.getIndex() : 0,
            isBeside(argument)};
  }
  bool reads(rt::PlaceKind kind) {
    return llvm::any_of(
        llvm::seq<unsigned>(0, func.getNumArguments()),
        [&](unsigned i) { return getPlace(i).getKind() == kind; });
  }

  mlir::func::FuncOp func;
  StepBlocks blocks;
  /// The plan of all blocks except the arguments'.
  ArenaPlan scratch;
  llvm::SmallVector<SegmentKey> segments;
};

/// A step function with a pipeline.
struct PlannedPPRank {
  PlannedPPRank(mlir::func::FuncOp func, bool reuse, int64_t canary)
      : func(func), pipeline(findPipeline(func)), blocks(func, reuse, canary) {}

  mlir::func::FuncOp func;
  rt::PipelineOp pipeline;
  StepBlocks blocks;
  std::vector<std::unique_ptr<PlannedTask>> tasks;
  ArenaPlan plan;
  /// The number of the arena's blocks that do not belong to the list; they come
  /// first.
  unsigned ownBlocks = 0;

  PlannedTask *findTask(int64_t kind, int64_t chunk) {
    for (auto &task : tasks)
      if (task->getTask().getKind() == kind &&
          task->getTask().getChunk() == chunk && !task->getBeside())
        return task.get();
    return nullptr;
  }
  /// Returns the function that runs F and BW of these chunks; null if there is
  /// none.
  PlannedTask *findPair(int64_t chunk, int64_t backwardChunk) {
    for (auto &task : tasks)
      if (task->getBeside() && task->getTask().getChunk() == chunk &&
          task->getBeside().getChunk() == backwardChunk)
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
  mlir::LogicalResult run(mlir::ModuleOp module);

private:
  mlir::LogicalResult read(mlir::ModuleOp module);
  mlir::LogicalResult planTask(PlannedTask &task);
  FrameLayout getLayout(PlannedTask *writer, rt::PlaceKind kind);
  FrameLayout getHeldLayout(int rank, schedule::HeldBlock::Kind kind, int chunk,
                            int microBatch);
  FrameLayout getLayoutOf(int rank, PlannedTask &task, SegmentKey key,
                          int microBatch);
  llvm::SmallVector<TaskCall, 2> getCalls(int rank,
                                          const schedule::Action &action);
  schedule::BoundaryReaders getReaders(PlannedPPRank &rank, int chunk);
  void annotate(int number, PlannedTask &task);
  int64_t getBase(int rank, SegmentKey key, const TaskCall &call);
  llvm::SmallVector<int64_t> findFreeSlots(PlannedPPRank &rank);
  mlir::LogicalResult checkPlaces(int number, PlannedTask &task);
  mlir::LogicalResult checkTasks();
  mlir::LogicalResult plan(int number);
  /// Returns the bytes in an arena of a tensor, or of several consecutive ones.
  int64_t getTakenBytes(int64_t bytes) const {
    return bytes ? llvm::alignTo(bytes, TESSERA_RT_ARENA_ALIGNMENT) + canary
                 : 0;
  }
  schedule::PipelineBytes getBytes();
  int64_t getPeakOfList(int number, int64_t &fixed);
  bool isAsPredicted();

  bool reuse;
  int64_t canary;
  bool watched;
  std::vector<std::unique_ptr<PlannedPPRank>> ranks;
  schedule::ScheduleProblem problem;
  schedule::Schedule schedule;
  /// The address of each held block of the pp rank being planned.
  std::map<std::tuple<schedule::HeldBlock::Kind, int, int>, int64_t> held;
};

} // namespace tessera

#endif // TESSERA_LIB_MEMORY_PIPELINEPLANNER_H
