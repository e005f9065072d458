//===- RuleInfo.h - What a sharding rule does, at a glance ------*- C++ -*-===//
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

/// What the order of visits needs to know of a rule.
struct RuleInfo {
  /// Sums over a factor, which no result has.
  bool contracting = false;
  /// Operands that lack a factor of a result: the op broadcasts them.
  llvm::SmallBitVector broadcast;
};

/// One for each rule, in their order.
std::vector<RuleInfo> classifyRules(llvm::ArrayRef<ShardingRule> rules);

} // namespace tessera

#endif // TESSERA_LIB_PROPAGATION_RULEINFO_H
