//===- OpMatcher.h - Is a local op a shard of a global one? -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transfer function of ops with a sharding rule: it maps blocks of the
// operands to factors, and factors to blocks of the results. See OpMatcher.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_OPMATCHER_H
#define TESSERA_LIB_PROOF_OPMATCHER_H

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
  /// It is unknown whether the op is right.
  Unknown,
};

/// How well a local op fits an op of the reference, and its results if it does.
struct Match {
  Fit fit = Fit::Yes;
  /// Why it does not fit; empty if it does.
  std::string why;
  /// The states of the local op's results, if it fits.
  llvm::SmallVector<ShardState, 1> results;
};

/// The two programs, as input to matching an op.
struct MatchContext {
  Placements &placements;
  const ReferenceValues &reference;
  ExpectedOps &expected;
  const StateMap &states;
  /// True if equal blocks of some result so far were named by a use: other
  /// names may fit where these do not.
  bool hasGuessed = false;
};

/// Matches `op` with `target`.
Match matchOp(MatchContext &context, mlir::Operation *op,
              const ReferenceOp &target);

/// Matches `op` without a reference, on the global sizes of its operands.
/// Results have no number. `globalTypes` gets their types if the op fits.
Match matchAlone(MatchContext &context, mlir::Operation *op,
                 llvm::SmallVectorImpl<mlir::Type> &globalTypes);

/// Whether each device has the offset of its block of `size` elements along a
/// dimension. Null is an offset of 0.
bool isOffset(const Placements &placements, const ShardState *offset,
              Placements::Id placement, int64_t size);

} // namespace tessera

#endif // TESSERA_LIB_PROOF_OPMATCHER_H
