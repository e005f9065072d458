//===- Claims.h - What an op claims, checked by evaluation ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each check evaluates a sample as a whole and in some other way that a claim
// of its ShardingRuleOpInterface makes equal, on ordinary and on extreme data.
// It gives what contradicts the claim, or nothing. Compiler and proof trust
// these claims alike, so nothing here asks either.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_CLAIMS_CLAIMS_H
#define TESSERA_TEST_UNIT_CLAIMS_CLAIMS_H

#include "Sample.h"

namespace tessera::claims {

/// Nothing, or why a claim does not hold.
using Contradiction = std::optional<std::string>;

/// The op of shards along `factor` makes shards of the results, or partial
/// values that the factor's reduction combines.
Contradiction checkFactor(const Sample &sample, unsigned factor);

/// The op commutes with a reduction of the operands `partial`, over three
/// devices of which one may have no elements.
Contradiction checkLinearity(const Sample &sample, ReductionKind kind,
                             const llvm::SmallBitVector &partial);

/// Zeros in the padding of `factor` stay zeros and count nowhere.
Contradiction checkZeros(const Sample &sample, unsigned factor);

/// Padding of a reduction counts nowhere: whatever it holds if the op can be
/// told of it, the neutral element if not. An op that is told makes zeros of
/// zeros.
Contradiction checkPadding(const Sample &sample, unsigned factor);

/// The ops that the op is made of compute the same.
Contradiction checkDecomposition(const Sample &sample);

/// All of these that the op claims.
std::vector<std::string> checkClaims(const Sample &sample);

/// True if the sample has results on some data.
bool isDefined(const Sample &sample);

} // namespace tessera::claims

#endif // TESSERA_TEST_UNIT_CLAIMS_CLAIMS_H
