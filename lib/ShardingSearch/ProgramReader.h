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

/// What becomes of an op's tensors in kernels.
struct KernelEnds {
  /// Operands that come from memory, results that go there; the others stay in
  /// a kernel that elementwise ops share.
  llvm::SmallBitVector operands, results;
  /// The op is a kernel, or is the last of a kernel of elementwise ops alone.
  /// Elementwise ops beside a reduction of rows run in its kernel, and so does
  /// the sum of a vector that the reduction makes.
  bool isKernel = true;
};

/// A module whose constants have a copy for each use, as a problem.
class ProgramReader {
public:
  ProgramReader(mlir::ModuleOp module, dist::MeshOp mesh,
                const llvm::DenseSet<mlir::Operation *> &constants)
      : module(module), builder(module, mesh), constants(constants) {}

  /// Reports an error at an op that cannot take part.
  mlir::LogicalResult read();

  /// The tensor of a value; kNone if it has none.
  unsigned lookup(mlir::Value value) const;
  /// The tensor of each result of a function.
  llvm::ArrayRef<PropagatedFunction> getFunctions() const {
    return builder.functions;
  }
  unsigned getTensor(unsigned ofBuilder) const;
  /// Words for a tensor, or the op, that an error names.
  std::string describe(unsigned tensor) const {
    return builder.describe(tensor);
  }
  void eraseGroups() {
    for (dist::GroupOp group : builder.groups)
      group.erase();
  }
  /// A constant: each use has its own, sharded as that needs it.
  bool isConstant(mlir::Operation *op) const { return constants.contains(op); }
  /// True if an op of the problem is an op of the program as it is there, and
  /// not a tie between values.
  bool isOwn(unsigned op) const { return own.test(op); }

  ShardingProblem problem;
  /// Of each op of the problem; null for a constant.
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
  /// Ops that the backward computes once more.
  llvm::DenseSet<mlir::Operation *> repeated;
  /// The tensor that one is tied to.
  std::vector<unsigned> tied;
  llvm::SmallBitVector own;
  /// Ties of each dist.accumulate so far: its slices come first, then what it
  /// yields.
  llvm::DenseMap<mlir::Operation *, unsigned> numTies;
  std::map<std::vector<const void *>, unsigned> kinds;
};

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_PROGRAMREADER_H
