//===- Interpreter.h - N ranks in one process -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle: runs a function on N ranks in lockstep. It walks the ops once and
// evaluates each for all ranks, so a collective sees every rank's value. Ranks
// whose operands are one shared tensor are evaluated once.
//
// It interprets global programs (on one rank: constraints, reshards and
// collectives on global types are the identity) and local ones (on as many
// ranks as their mesh has devices). It is exact where arithmetic is, not fast.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_INTERPRETER_H
#define TESSERA_INTERPRETER_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Action.h"
#include "tessera/Interpreter/Tensor.h"
#include "tessera/Stages/PipelineProgram.h"
#include "llvm/ADT/MapVector.h"
#include <string>

namespace tessera::interp {

/// Collectives of one kind that were executed.
struct CollectiveCount {
  int64_t count = 0;
  /// Bytes that one rank received, by bandwidth-optimal algorithms.
  int64_t bytes = 0;
};

/// Statistics of an interpretation.
struct Statistics {
  /// Counts by op name without the dialect, in order of first execution.
  llvm::MapVector<llvm::StringRef, CollectiveCount> collectives;
};

/// The evaluation of one op of a block on all ranks. A handler of the context's
/// actions sees each, and can report the progress of a long interpretation.
class InterpretAction : public mlir::tracing::ActionImpl<InterpretAction> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InterpretAction)
  using ActionImpl::ActionImpl;
  static constexpr llvm::StringLiteral tag = "interpret";
  /// "nn.einsum, op 12 of 80 of scf.for, op 3 of 40 of @train_step".
  void print(llvm::raw_ostream &os) const override;
};

/// Runs `function`, whose module holds its meshes and callees, on
/// `arguments.size()` ranks; `arguments[r][i]` is argument i of rank r and must
/// have its type. Returns the results of each rank. Fails, with an error at the
/// op, for an op that the interpreter does not know, a value that an op does
/// not allow (an id outside an embedding table), or a mesh of another size.
mlir::FailureOr<std::vector<RankTensors>>
interpret(mlir::func::FuncOp function, llvm::ArrayRef<RankTensors> arguments,
          Statistics *statistics = nullptr);

/// Runs a pipeline program on all pp ranks in turns: each rank runs until it
/// needs a value that another one has not sent. `arguments[p][r][i]` is
/// argument i of pp rank p's function on its device r, numbered on the mesh
/// without the stage axis; results have the same form. Statistics hold, by
/// kind, the pp rank with the most bytes; values that cross pp ranks are "send"
/// and "exchange". Fails, with an error, as interpret() does.
mlir::FailureOr<std::vector<std::vector<RankTensors>>>
interpretPipeline(const PipelineProgram &program,
                  llvm::ArrayRef<std::vector<RankTensors>> arguments,
                  Statistics *statistics = nullptr);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_INTERPRETER_H
