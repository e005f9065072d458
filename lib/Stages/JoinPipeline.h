//===- JoinPipeline.h - The functions of pp ranks as one --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_JOINPIPELINE_H
#define TESSERA_LIB_STAGES_JOINPIPELINE_H

#include "ValueNumbers.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Stages/PipelineProgram.h"
#include "tessera/Validation/VerifyPartition.h"
#include <map>

namespace tessera {

/// A way of a micro-batch through a program: its path, and whether chunks that
/// have BW beside B and W run BW.
struct Way {
  int path;
  bool whole;
};

/// Joins the functions of all pp ranks to one local function of the mesh.
class Joiner {
public:
  /// Without a way all ways of a micro-batch have to compute the same; with one
  /// all micro-batches go that way.
  Joiner(const PipelineProgram &program, unsigned choice,
         std::optional<Way> way = std::nullopt)
      : program(program), choice(choice), way(way),
        builder(mlir::func::FuncOp(program.functions.front()).getContext()) {}

  /// The joined function, at the end of the module; a failure if it cannot be
  /// written down, with an error or for what getDoubt() says.
  mlir::FailureOr<mlir::func::FuncOp> join();

  /// Why a join failed without an error: the program may be right, but is not
  /// one that can be written down.
  const PartitionVerdict &getDoubt() const { return doubt; }

  /// Once joined: as many as there are different values, by their numbers, of
  /// the result of which pp ranks have the most.
  unsigned countChoices() const { return choices; }

private:
  mlir::LogicalResult makeFunction();
  void cloneMembers(dist::BucketOp bucket, mlir::IRMapping &map);
  void advance(int64_t rank);
  mlir::LogicalResult joinExchange(llvm::ArrayRef<int64_t> members);
  mlir::LogicalResult joinSum(llvm::ArrayRef<int64_t> members);
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
  /// Of the different values that pp ranks have of a result, which is taken;
  /// the last for greater numbers.
  unsigned choice, choices = 1;
  std::optional<Way> way;
  PartitionVerdict doubt;
  mlir::OpBuilder builder;
  mlir::func::FuncOp joined;
  llvm::SmallVector<mlir::IRMapping> values;
  llvm::SmallVector<mlir::Block::iterator> next;
  /// What the tasks of the generic micro-batch send, keep and add to results,
  /// or store in them.
  struct Outputs {
    llvm::SmallVector<mlir::Value> sends, keeps, adds;
    llvm::SmallVector<int64_t> addTo;
  };
  std::map<std::tuple<int, int, dist::TaskKind>, Outputs> outputs;
  /// By result of the accumulate and path: what pp ranks add in one micro-batch
  /// of that path.
  std::vector<llvm::SmallVector<llvm::SmallVector<mlir::Value>, 2>> terms;
  /// What stands for results that the accumulate is to get, and what it yields
  /// for them.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> results;
  /// Values of the joined function and of the body of its accumulate.
  ValueNumbers numbers;
  /// The micro-batches of the joined function, and the results of each pp
  /// rank's pipeline, which are its results in order.
  dist::AccumulateOp accumulate;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> pipelineResults;
  /// Additions of exchanged parts, which were made in the micro-batch.
  llvm::SmallPtrSet<mlir::Operation *, 4> skipped;
  /// Arguments of the body of a pp rank's batch operands.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> slices;
};

} // namespace tessera

#endif // TESSERA_LIB_STAGES_JOINPIPELINE_H
