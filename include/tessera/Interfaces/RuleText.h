//===- RuleText.h - Sharding rules as text ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule as `dist-print-sharding-rules` prints it, for ops that have none in
// C++:
//
//   ([i,j],[j,k])->([i,k]) {i=8, j=16 sum, k=4}; partial sum in {0} {1}
//
// Factors of a dimension are written next to each other, major to minor; `1` is
// a dimension without any. After the braces: the sets of operands that may be
// partial together.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_RULETEXT_H
#define TESSERA_INTERFACES_RULETEXT_H

#include "mlir/IR/ValueRange.h"
#include "tessera/Interfaces/ShardingRule.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// A rule and the linearity of its op.
struct RuleText {
  ShardingRule rule;
  /// Sets of operands that may be partial with a reduction, see
  /// ShardingRuleOpInterface::commutesWithReduction().
  llvm::SmallVector<std::pair<ReductionKind, llvm::SmallBitVector>> partial;

  /// Prints the rule so that parseRuleText() reads it.
  std::string print() const;
};

/// Reads a rule. Fails with what was expected and what came: another character,
/// a factor with two sizes or two kinds, one that no dimension has or that has
/// no size, or a kind that needs code (decomposed, positional).
llvm::Expected<RuleText> parseRuleText(llvm::StringRef text);

/// Checks that a rule has the tensors, ranks and sizes of these types.
llvm::Error checkRule(const ShardingRule &rule, mlir::TypeRange operands,
                      mlir::TypeRange results);

/// Gives the factors of a rule the sizes that they have in other types of the
/// same ranks: padded ones or one device's. Where several factors of a
/// dimension can change, the minor ones keep their sizes as long as they divide
/// it. False if no sizes fit.
bool resizeRule(ShardingRule &rule, mlir::TypeRange operands,
                mlir::TypeRange results);

} // namespace tessera

#endif // TESSERA_INTERFACES_RULETEXT_H
