//===- JoinPipeline.h - Joins the functions of pp ranks ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_JOINPIPELINE_H
#define TESSERA_LIB_STAGES_JOINPIPELINE_H

#include "ValueNumbers.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Proof/VerifyPartition.h"
#include "tessera/Stages/PipelineProgram.h"
#include <map>

namespace tessera {

/// A way of a micro-batch through a program: its path, and whether chunks with
/// BW as well as B and W run BW.
struct Way {
  int path;
  bool whole;
};

/// Joins the functions of all pp ranks into one local function of the mesh.
class Joiner {
public:
  /// All micro-batches go `way`; if there is none, all ways of a micro-batch
  /// must compute the same.
  Joiner(const PipelineProgram &program, unsigned choice,
         std::optional<Way> way = std::nullopt)
      : program(program), choice(choice), way(way),
        builder(mlir::func::FuncOp(program.functions.front()).getContext()) {}

  /// Returns the joined function, at the end of the module. Fails with an
  /// error, or with the reason in getDoubt() if the joined program cannot be
  /// expressed.
  mlir::FailureOr<mlir::func::FuncOp> join();

  /// The reason if a join failed without an error: the program may be right,
  /// but its joined form cannot be expressed.
  const PartitionVerdict &getDoubt() const { return doubt; }

  /// The number of different values of one result among pp ranks, by value
  /// number: the maximum over all results. Valid after join().
  unsigned countChoices() const { return choices; }

private:
  mlir::LogicalResult makeFunction();
  void cloneMembers(dist::BucketOp bucket, mlir::IRMapping &map);
  void advance(int64_t rank);
  mlir::LogicalResult joinExchange(llvm::ArrayRef<int64_t> members);
  mlir::LogicalResult joinSums(llvm::ArrayRef<int64_t> members);
  mlir::LogicalResult joinSum(llvm::ArrayRef<int64_t> members, size_t number);
  void addResults();
  mlir::Value addToAccumulate(llvm::ArrayRef<mlir::Value> terms,
                              mlir::Type type);
  void rebuildAccumulate(llvm::ArrayRef<mlir::Value> yielded,
                         llvm::ArrayRef<unsigned> kept);
  void mapSums();
  mlir::LogicalResult dropUnused();
  mlir::LogicalResult joinPipelines();
  void makeAccumulate();
  void cloneTasks(int path);
  void cloneTask(dist::TaskKind kind, schedule::Slot slot,
                 const schedule::Slot &neighbour);
  mlir::LogicalResult checkAlternatives();
  void gatherTerms();
  mlir::FailureOr<mlir::Value> addTerms(mlir::OpResult result);
  bool isWhole(unsigned result);
  bool isPart(mlir::Value value);
  mlir::LogicalResult giveUp(mlir::Operation *op, const llvm::Twine &why);
  dist::TaskOp getGradTask(schedule::Slot slot) const;
  int getPath() const { return way ? way->path : 0; }
  void finish();

  const PipelineProgram &program;
  /// Selects one of the different values that pp ranks have of a result;
  /// numbers past the end select the last one.
  unsigned choice, choices = 1;
  std::optional<Way> way;
  PartitionVerdict doubt;
  mlir::OpBuilder builder;
  mlir::func::FuncOp joined;
  llvm::SmallVector<mlir::IRMapping> values;
  llvm::SmallVector<mlir::Block::iterator> next;
  /// Values that the tasks of the generic micro-batch send, keep, add to
  /// results or store in them.
  struct Outputs {
    llvm::SmallVector<mlir::Value> sends, keeps, adds;
    llvm::SmallVector<int64_t> addTo;
  };
  std::map<std::tuple<int, int, dist::TaskKind>, Outputs> outputs;
  /// The terms that pp ranks add in one micro-batch, per result of the
  /// accumulate and path.
  std::vector<llvm::SmallVector<llvm::SmallVector<mlir::Value>, 2>> terms;
  /// Placeholders for future results of the accumulate, and the values that it
  /// yields for them.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> results;
  /// Numbers of values of the joined function and of its accumulate's body.
  ValueNumbers numbers;
  /// The accumulate of the joined function, and the results of each pp rank's
  /// pipeline, which are results of the accumulate in order.
  dist::AccumulateOp accumulate;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> pipelineResults;
  /// Additions of exchanged terms that moved into the micro-batch.
  llvm::SmallPtrSet<mlir::Operation *, 4> skipped;
  /// The body's arguments for each pp rank's batch operands.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> slices;
};

} // namespace tessera

#endif // TESSERA_LIB_STAGES_JOINPIPELINE_H
