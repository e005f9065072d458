//===- Splitter.h - A local program as a pipeline program -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_SPLITTER_H
#define TESSERA_LIB_STAGES_SPLITTER_H

#include "BoundarySlices.h"
#include "StageAssignment.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Schedule/Schedule.h"
#include "llvm/ADT/SmallBitVector.h"
#include <map>

namespace tessera {

/// A task under construction.
struct StageTask {
  dist::TaskKind kind;
  /// The path whose micro-batches it runs, and its stage there.
  int path, stage;
  mlir::Block *body = nullptr;
  /// Maps values of the micro-batch, and from outside, to values of the task.
  mlir::IRMapping values;
  llvm::SmallVector<mlir::Attribute> sources;
  /// Values that a task sends or keeps, with the index of each one.
  struct Outputs {
    llvm::SmallVector<mlir::Value> values;
    llvm::DenseMap<mlir::Value, int64_t> indices;
  };
  Outputs sends, keeps;
  llvm::SmallVector<mlir::Value> adds, stores;
  llvm::SmallVector<int64_t> addTo, storeTo;
};

/// The function of one pp rank, under construction.
struct RankFunction {
  mlir::func::FuncOp function;
  /// Maps values of the whole program.
  mlir::IRMapping values;
};

/// Splits one local function into functions of pp ranks. SplitTasks.cpp and
/// SplitStages.cpp have makeFunctions() to makePipeline(), SplitEpilogue.cpp
/// has the rest.
class Splitter {
public:
  Splitter(mlir::func::FuncOp whole, dist::AccumulateOp accumulate,
           const StageAssignment &stages, const BoundarySlices &slices,
           const schedule::ScheduleProblem &problem,
           const schedule::Schedule &schedule, int64_t bucketBytes)
      : whole(whole), accumulate(accumulate),
        body(accumulate.getBody().front()), stages(stages), slices(slices),
        problem(problem), schedule(schedule), bucketBytes(bucketBytes),
        builder(whole.getContext()), ranks(problem.ranks) {}

  /// Replaces the whole function by the functions of all pp ranks.
  mlir::LogicalResult run();

private:
  void makeFunctions();
  void buildTasks();
  void fillOp(StageTask &task, mlir::Operation *op);
  mlir::Value getIn(StageTask &task, mlir::Value value);
  mlir::Value fetch(StageTask &task, mlir::Operation *def, mlir::Value value);
  mlir::Value receive(StageTask &task, int64_t index, mlir::Value value);
  mlir::Value addArgument(StageTask &task, dist::SourceKind source,
                          int64_t index, mlir::Value value);
  int64_t addOutput(StageTask &task, StageTask::Outputs &outputs,
                    mlir::Value value);
  int64_t addSend(int path, int stage, bool isForward, mlir::Value value);
  int64_t addKeep(StageTask &task, mlir::Value value) {
    return addOutput(task, task.keeps, value);
  }
  bool isIn(const StageTask &task, mlir::Operation *op) const;
  StageTask &getTask(dist::TaskKind kind, int path, int stage) {
    return tasks.at({path, stage, kind});
  }
  llvm::SmallVector<StageTask *> tasksOf(mlir::Value term);
  void addTerms();
  void makePipeline(int64_t number);
  dist::TaskOp makeTaskOp(StageTask &task,
                          llvm::ArrayRef<int64_t> batchNumbers);
  schedule::Slot getSlot(int path, int stage) const {
    return problem.slotOf(stage, path * problem.microBatchesOf());
  }
  int getRank(const StageTask &task) const {
    return getSlot(task.path, task.stage).rank;
  }

  mlir::LogicalResult placeEpilogue();
  mlir::LogicalResult placeOp(mlir::Operation *op);
  void emitOp(mlir::Operation *op);
  bool isLastPart(mlir::Value value) const;
  llvm::SmallVector<mlir::Value> findBucket(mlir::Value value) const;
  void addSum(mlir::Value value);
  void exchange(llvm::ArrayRef<mlir::Value> scalars);
  llvm::SmallBitVector getPlace(mlir::Value value) const;
  bool isRootScalar(mlir::Value value) const;
  mlir::LogicalResult finishFunctions();
  bool returns(int64_t number, mlir::Value value, unsigned i);
  void finishFunction(int64_t number);
  mlir::LogicalResult numberArguments(int64_t number);

  mlir::func::FuncOp whole;
  dist::AccumulateOp accumulate;
  mlir::Block &body;
  const StageAssignment &stages;
  const BoundarySlices &slices;
  const schedule::ScheduleProblem &problem;
  const schedule::Schedule &schedule;
  /// Bytes of the sums of one exchange, at most; a larger sum has its own.
  int64_t bucketBytes;
  mlir::OpBuilder builder;
  std::vector<RankFunction> ranks;
  /// The tasks that the schedule runs, by path, stage and kind.
  std::map<std::tuple<int, int, dist::TaskKind>, StageTask> tasks;
  /// Additions that leave the micro-batch.
  llvm::SmallPtrSet<mlir::Operation *, 8> additions;
  /// The pp ranks that add to each result or store it, in the order of their
  /// first stages.
  llvm::SmallVector<llvm::SmallVector<int>> contributors;
  // The tables below are only looked up.
  /// The pp ranks that have each value after the pipeline; all of them by
  /// default.
  llvm::DenseMap<mlir::Value, llvm::SmallBitVector> places;
  /// Tensors computed from the pipeline's results.
  llvm::DenseSet<mlir::Value> computed;
  /// The sum to which a value belongs: each pp rank that has the value has a
  /// term.
  llvm::DenseMap<mlir::Value, unsigned> parts;
  /// The pp ranks that run an op after the pipeline.
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> opPlaces;
  /// How many exchanges of scalars come before an op or a value.
  llvm::DenseMap<mlir::Operation *, unsigned> levels;
  llvm::DenseMap<mlir::Value, unsigned> valueLevels;
  llvm::SmallVector<mlir::Value> rootScalars;
  /// Parts that the exchanges are of, in the order of the program.
  llvm::SmallVector<mlir::Value> sums;
  llvm::DenseMap<mlir::Value, unsigned> sumOf;
};

} // namespace tessera

#endif // TESSERA_LIB_STAGES_SPLITTER_H
