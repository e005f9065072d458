//===- Claims.h - An op's claims, checked by evaluation ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each check evaluates a sample as a whole and in another way that a claim of
// its ShardingRuleOpInterface makes equal, on ordinary and on extreme data. It
// returns a contradiction to the claim, or nothing. Both compiler and proof
// trust these claims, so these checks use neither.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_CLAIMS_CLAIMS_H
#define TESSERA_TEST_UNIT_CLAIMS_CLAIMS_H

#include "Sample.h"

namespace tessera::claims {

/// A contradiction to a claim, or nothing.
using Contradiction = std::optional<std::string>;

/// Checks that the op on shards along `factor` gives shards of the results, or
/// partial values that the factor's reduction combines.
Contradiction checkFactor(const Sample &sample, unsigned factor);

/// Checks that the op commutes with a reduction of the operands `partial`, over
/// three devices; one of the devices may have no elements.
Contradiction checkLinearity(const Sample &sample, ReductionKind kind,
                             const llvm::SmallBitVector &partial);

/// Checks that zeros in the padding of `factor` give zeros and affect nothing
/// else.
Contradiction checkZeros(const Sample &sample, unsigned factor);

/// Checks that the padding of a reduction affects nothing: any values if the op
/// can be told about the padding, otherwise the neutral element. An op that is
/// told must turn zeros into zeros.
Contradiction checkPadding(const Sample &sample, unsigned factor);

/// Checks that the op's decomposition computes the same.
Contradiction checkDecomposition(const Sample &sample);

/// Runs all checks of the op's claims.
std::vector<std::string> checkClaims(const Sample &sample);

/// True if the op is defined on some data of the sample.
bool isDefined(const Sample &sample);

} // namespace tessera::claims

#endif // TESSERA_TEST_UNIT_CLAIMS_CLAIMS_H
