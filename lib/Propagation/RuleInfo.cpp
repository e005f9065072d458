//===- RuleInfo.cpp - Summary of a sharding rule --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleInfo.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;

/// The factors of size above 1 in a tensor.
static llvm::SmallBitVector factorsOf(const ShardingRule &rule,
                                      const TensorFactors &dims) {
  llvm::SmallBitVector bits(rule.factors.size());
  for (const DimFactors &dim : dims)
    for (unsigned f : dim)
      if (rule.factors[f].size > 1)
        bits.set(f);
  return bits;
}

std::vector<RuleInfo>
tessera::classifyRules(llvm::ArrayRef<ShardingRule> rules) {
  std::vector<RuleInfo> infos;
  for (const ShardingRule &rule : rules) {
    RuleInfo &info = infos.emplace_back();
    llvm::SmallBitVector inResults(rule.factors.size());
    for (const TensorFactors &dims : rule.results)
      inResults |= factorsOf(rule, dims);
    for (auto [f, factor] : llvm::enumerate(rule.factors))
      info.contracting |= factor.kind != FactorKind::Replicated &&
                          factor.size > 1 && !inResults.test(f);
    info.broadcast.resize(rule.operands.size());
    for (auto [i, dims] : llvm::enumerate(rule.operands)) {
      llvm::SmallBitVector missing = inResults;
      missing.reset(factorsOf(rule, dims));
      info.broadcast[i] = missing.any();
    }
  }
  return infos;
}
