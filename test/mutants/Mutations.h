//===- Mutations.h - Wrong versions of a local program ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Single changes to a local function: each communication, offset, mask and
// constant is deleted, doubled or altered; operands, attributes and bodies of
// its computations; donations.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_MUTANTS_MUTATIONS_H
#define TESSERA_TEST_MUTANTS_MUTATIONS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "tessera/Interfaces/Axes.h"
#include <functional>
#include <string>
#include <vector>

namespace tessera {

/// One change at one op.
struct Mutation {
  /// The name of the change: "delete", "axes {"dp"}", "kind max", ...
  std::string what;
  /// Applies the change at a copy of its op; returns the op that replaces the
  /// changed one, null if the change cannot be applied there.
  std::function<mlir::Operation *(mlir::Operation *)> apply;
  /// Number of runs of the function until the change can have an effect.
  unsigned steps = 1;
};

/// A local value with the type of a collective's result: the elements of
/// `value` as far as they go, then zeros.
mlir::Value cutAndPad(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                      mlir::RankedTensorType type);
/// Reshapes `value` in row-major order; null if the number of elements differs.
mlir::Value reshapeTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                      mlir::RankedTensorType type);

/// All changes at a bucket: to one member, two members, or all of them.
std::vector<Mutation> getBucketMutations(mlir::Operation *op, const Mesh &mesh);

/// All changes at `op` that do not concern communication.
std::vector<Mutation> getOpMutations(mlir::Operation *op);

/// All changes of communication at `op`; none if there is nothing to change.
std::vector<Mutation> getMutations(mlir::Operation *op, const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_TEST_MUTANTS_MUTATIONS_H
