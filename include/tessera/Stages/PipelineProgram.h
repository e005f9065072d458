//===- PipelineProgram.h - The functions of all pp ranks --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline program has one function for each coordinate of the stage axis, a
// pp rank, with one dist.pipeline each. This file reads them as one program.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_STAGES_PIPELINEPROGRAM_H
#define TESSERA_STAGES_PIPELINEPROGRAM_H

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Schedule/Schedule.h"

namespace tessera {

/// A task that an action runs.
struct TaskRun {
  dist::TaskKind kind;
  int chunk, microBatch;
};

/// The tasks that an action runs, in order: two for an Overlapped action, none
/// for a transfer.
llvm::SmallVector<TaskRun, 2> getTaskRuns(const schedule::Action &action);

/// The functions of one program, and the schedule that they run.
struct PipelineProgram {
  /// One function per pp rank.
  llvm::SmallVector<mlir::func::FuncOp> functions;
  /// The dist.pipeline of each function.
  llvm::SmallVector<dist::PipelineOp> pipelines;
  schedule::ScheduleProblem problem;
  schedule::Schedule schedule;

  int64_t getNumRanks() const { return functions.size(); }
  /// The task of a kind that a stage runs; null if the chunk has none of the
  /// kind.
  dist::TaskOp getTask(dist::TaskKind kind, schedule::Slot slot) const {
    dist::PipelineOp pipeline = pipelines[slot.rank];
    return pipeline.getTask(kind, slot.chunk);
  }
  /// The task of the chunk that sends gradients: B if there is one, else BW.
  dist::TaskOp getGradTask(schedule::Slot slot) const {
    dist::TaskOp split = getTask(dist::TaskKind::InputGrad, slot);
    return split ? split : getTask(dist::TaskKind::Backward, slot);
  }
};

/// True if the function belongs to one pp rank.
bool isPipelineFunction(mlir::func::FuncOp function);

/// Reads the program that a function with `dist.pp_rank` belongs to: the
/// functions of its module with the same `dist.reference`. Fails, with an error
/// that names pp rank, task or value, unless
///  * there is a function for each coordinate of the stage axis, with one
///    dist.pipeline of equal paths and micro-batches in its body;
///  * their lists are a schedule that verify() accepts, and each action has its
///    task;
///  * the types that a task receives are those that the neighbouring stage
///  sends;
///  * all members of an exchange reach it, and types fit;
///  * each argument and result has a `dist.number`, with one type on all ranks.
mlir::FailureOr<PipelineProgram>
readPipelineProgram(mlir::func::FuncOp function);

/// The joint ops of a pipeline function's body, in order: dist.pipeline and
/// dist.exchange, in which several pp ranks take part.
llvm::SmallVector<mlir::Operation *> getJointOps(mlir::func::FuncOp function);

/// The pp ranks that take part in a joint op.
llvm::SmallVector<int64_t> getMembers(mlir::Operation *op);

/// True if the current ops of the members, by pp rank, are one joint op:
/// pipelines, or exchanges with the same values of the same members.
bool isSameJointOp(llvm::ArrayRef<mlir::Operation *> byRank,
                   llvm::ArrayRef<int64_t> members);

/// The number of an argument or result in the reference.
int64_t getArgumentNumber(mlir::func::FuncOp function, unsigned argument);
int64_t getResultNumber(mlir::func::FuncOp function, unsigned result);

} // namespace tessera

#endif // TESSERA_STAGES_PIPELINEPROGRAM_H
