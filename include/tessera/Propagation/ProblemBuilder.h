//===- ProblemBuilder.h - From IR to a propagation problem ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers the tensors of a module and maps the ops of the problem to IR ops.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROPAGATION_PROBLEMBUILDER_H
#define TESSERA_PROPAGATION_PROBLEMBUILDER_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "tessera/Propagation/PropagationProblem.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

/// A function with a body whose tensors are part of the problem.
struct PropagatedFunction {
  mlir::FunctionOpInterface func;
  /// The tensor of each result; kNone for a result that is not a ranked tensor.
  llvm::SmallVector<unsigned> results;
};

/// Builds the problem of a module whose constants have been copied.
class ProblemBuilder {
public:
  ProblemBuilder(mlir::ModuleOp module, dist::MeshOp mesh);

  /// Fills `problem`. Reports an error at an op that is not supported.
  mlir::LogicalResult build();

  /// The tensor of a value; kNone if it has none.
  unsigned lookup(mlir::Value value) const;
  /// Describes a tensor: `argument 2 "wq"`, `result of nn.einsum`.
  std::string describe(unsigned tensor) const;

  PropagationProblem problem;
  /// Parallel to the problem's ops.
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::SmallVector<PropagatedFunction> functions;
  llvm::SmallVector<dist::GroupOp> groups;

private:
  mlir::LogicalResult addFunction(mlir::FunctionOpInterface func);
  void markExact(mlir::Operation *op, const ShardingRule &rule,
                 llvm::ArrayRef<unsigned> operands,
                 llvm::ArrayRef<unsigned> results);
  mlir::LogicalResult addOperation(mlir::Operation *op,
                                   PropagatedFunction &function);
  mlir::LogicalResult addAccumulate(dist::AccumulateOp op,
                                    PropagatedFunction &function);
  mlir::LogicalResult addReturn(mlir::Operation *op,
                                PropagatedFunction &function);
  mlir::LogicalResult addCall(mlir::CallOpInterface call);
  mlir::FailureOr<unsigned> addValue(mlir::Value value);
  mlir::FailureOr<Sharding> getSeed(mlir::Value value);
  void addIdentity(mlir::Operation *op, unsigned from, unsigned to);
  void addSlice(mlir::Operation *op, unsigned whole, unsigned slice,
                mlir::RankedTensorType type);
  mlir::Value leaderOf(mlir::Value value) const;

  mlir::ModuleOp module;
  dist::MeshOp mesh;
  llvm::DenseMap<mlir::Value, unsigned> ids;
  /// A value, or a function's result, for each tensor.
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> owners;
  /// The first value of each group, and the other values of the group.
  llvm::DenseMap<mlir::Value, mlir::Value> leaders;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> members;
  llvm::SmallVector<mlir::CallOpInterface> calls;
  /// Names of ops that already have a remark.
  llvm::StringSet<> withoutRule;
};

/// Gives each use of a constant (an op without tensor operands, or one that
/// shards such constants) its own copy, and merges copies that got the same
/// sharding.
class ConstantCopies {
public:
  /// Copies the constants of all functions that have a body.
  void split(mlir::ModuleOp module);
  /// Leaves one copy for each sharding.
  void merge();
  /// All copies, the originals included.
  llvm::DenseSet<mlir::Operation *> getAll() const;

private:
  void split(mlir::Block &block);

  /// A constant and its copies, in program order of the originals.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<mlir::Operation *>>
      copies;
};

} // namespace tessera

#endif // TESSERA_PROPAGATION_PROBLEMBUILDER_H
