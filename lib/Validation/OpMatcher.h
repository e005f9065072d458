//===- OpMatcher.h - Is a local op a shard of a global one? -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transfer function of ops with a sharding rule: from the blocks of the
// operands to those of the results, by way of the factors. See OpMatcher.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_OPMATCHER_H
#define TESSERA_LIB_VALIDATION_OPMATCHER_H

#include "ExpectedOps.h"
#include "ReferenceValues.h"
#include "StateMap.h"

namespace tessera {

/// How well a local op fits one of the reference.
enum class Fit {
  /// It computes blocks of that op's results.
  Yes,
  /// It is another op: a property, a body or an operand differs.
  OtherOp,
  /// It is that op, but not every device has what it needs.
  Wrong,
  /// Whether it is right cannot be said.
  Unknown,
};

/// How a local op fits one of the reference, and what it computes if it does.
struct Match {
  Fit fit = Fit::Yes;
  /// Why it does not fit; empty if it does.
  std::string why;
  /// The states of the local op's results, if it fits.
  llvm::SmallVector<ShardState, 1> results;
};

/// The two programs, as matching an op sees them.
struct MatchContext {
  Placements &placements;
  const ReferenceValues &reference;
  ExpectedOps &expected;
  const StateMap &states;
  /// Equal blocks of the result of some op so far were numbered by what uses
  /// them: other numbers may fit where these do not.
  bool hasGuessed = false;
};

/// Matches `op` with `target`.
Match matchOp(MatchContext &context, mlir::Operation *op,
              const ReferenceOp &target);

/// Without a reference: the op on the global sizes that its operands have.
/// Results have no number. `globalTypes` gets their types if the op fits.
Match matchAlone(MatchContext &context, mlir::Operation *op,
                 llvm::SmallVectorImpl<mlir::Type> &globalTypes);

/// Whether the offset of a block of `size` elements along a dimension is what
/// each device has: the position of its block. Null is an offset of 0.
bool isOffset(const Placements &placements, const ShardState *offset,
              Placements::Id placement, int64_t size);

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_OPMATCHER_H
