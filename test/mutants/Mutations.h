//===- Mutations.h - Wrong versions of a local program ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Single changes to a local function: each communication, offset, mask and
// constant in it deleted, doubled or altered; operands, attributes and bodies
// of what it computes; donations.
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
  /// What is done: "delete", "axes {"dp"}", "kind max", ...
  std::string what;
  /// Does it at an op equal to the one that it was made for; gives the op that
  /// stands for the changed one, null if it cannot be done there.
  std::function<mlir::Operation *(mlir::Operation *)> apply;
  /// How often the function must run until the change can show.
  unsigned steps = 1;
};

/// Something local of a type in the place of a collective's result: the
/// elements of `value` where there are any, zeros after them.
mlir::Value cutAndPad(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                      mlir::RankedTensorType type);
/// The elements of `value` in row-major order under another shape; null if
/// there are not as many.
mlir::Value reshapeTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                      mlir::RankedTensorType type);

/// All changes at a bucket: of one member, of two, of what they share.
std::vector<Mutation> getBucketMutations(mlir::Operation *op, const Mesh &mesh);

/// All changes at `op` that are not of communication.
std::vector<Mutation> getOpMutations(mlir::Operation *op);

/// All changes of communication at `op`; none if there is nothing to change.
std::vector<Mutation> getMutations(mlir::Operation *op, const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_TEST_MUTANTS_MUTATIONS_H
