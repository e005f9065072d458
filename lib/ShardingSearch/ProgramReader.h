//===- ProgramReader.h - From IR to a sharding problem ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_PROGRAMREADER_H
#define TESSERA_LIB_SHARDINGSEARCH_PROGRAMREADER_H

#include "ShardingProblem.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Propagation/ProblemBuilder.h"

namespace tessera {

/// True if an op of this cost reduces rows and reads all of them.
bool readsRows(const OpCost &cost);

/// The memory accesses of an op, and whether a kernel ends at it.
struct KernelEnds {
  /// Operands read from memory, and results written to it; the others stay in a
  /// kernel shared by elementwise ops.
  llvm::SmallBitVector operands, results;
  /// True if the op is a kernel, or the last op of a purely elementwise kernel.
  /// Elementwise ops next to a row reduction run in its kernel, and so does the
  /// sum of a vector that the reduction makes.
  bool isKernel = true;
};

/// Reads a module, whose constants have a copy per use, into a problem.
class ProgramReader {
public:
  ProgramReader(mlir::ModuleOp module, dist::MeshOp mesh,
                const llvm::DenseSet<mlir::Operation *> &constants)
      : module(module), builder(module, mesh), constants(constants) {}

  /// Fails with an error at an op that is not supported.
  mlir::LogicalResult read();

  /// The tensor of a value; kNone if it has none.
  unsigned lookup(mlir::Value value) const;
  /// The tensor of each result of a function.
  llvm::ArrayRef<PropagatedFunction> getFunctions() const {
    return builder.functions;
  }
  unsigned getTensor(unsigned ofBuilder) const;
  /// Describes a tensor, or its op, for error messages.
  std::string describe(unsigned tensor) const {
    return builder.describe(tensor);
  }
  void eraseGroups() {
    for (dist::GroupOp group : builder.groups)
      group.erase();
  }
  /// True for a constant: each use has its own copy, sharded as the use needs
  /// it.
  bool isConstant(mlir::Operation *op) const { return constants.contains(op); }
  /// True if an op of the problem is an actual op of the program, and not a tie
  /// between values.
  bool isOwn(unsigned op) const { return own.test(op); }

  ShardingProblem problem;
  /// The op for each op of the problem; null for a constant.
  std::vector<mlir::Operation *> operations;
  std::vector<KernelEnds> kernelEnds;

private:
  void readTensors();
  mlir::LogicalResult tieDonated();
  void readOp(unsigned number);
  void readPorts(unsigned number, ShardingProblem::Op &op);
  void readTie(unsigned number, ShardingProblem::Op &op);
  void readChoices(mlir::Operation *operation, ShardingProblem::Op &op);
  void readKernelEnds(mlir::Operation *operation, KernelEnds &ends) const;
  void numberKind(unsigned number, ShardingProblem::Op &op);

  mlir::ModuleOp module;
  ProblemBuilder builder;
  const llvm::DenseSet<mlir::Operation *> &constants;
  /// Ops that the backward recomputes.
  llvm::DenseSet<mlir::Operation *> repeated;
  /// The tensor that each tensor is tied to.
  std::vector<unsigned> tied;
  llvm::SmallBitVector own;
  /// The number of ties of each dist.accumulate so far: first its slices, then
  /// its yields.
  llvm::DenseMap<mlir::Operation *, unsigned> numTies;
  std::map<std::vector<const void *>, unsigned> kinds;
};

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_PROGRAMREADER_H
