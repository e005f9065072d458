//===- RuleInfo.h - Summary of a sharding rule ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROPAGATION_RULEINFO_H
#define TESSERA_LIB_PROPAGATION_RULEINFO_H

#include "tessera/Propagation/PropagationProblem.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {

/// The properties of a rule that the order of visits depends on.
struct RuleInfo {
  /// True if the op sums over a factor that no result has.
  bool contracting = false;
  /// Operands that lack a factor of a result, so that the op broadcasts them.
  llvm::SmallBitVector broadcast;
};

/// Returns one RuleInfo per rule, in the order of the rules.
std::vector<RuleInfo> classifyRules(llvm::ArrayRef<ShardingRule> rules);

} // namespace tessera

#endif // TESSERA_LIB_PROPAGATION_RULEINFO_H
