//===- ShardingRule.cpp - The factors of an op ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/ShardingRule.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;

llvm::StringRef tessera::stringifyFactorKind(const Factor &factor) {
  switch (factor.kind) {
  case FactorKind::Parallel:
    return "parallel";
  case FactorKind::Reduction:
    return stringifyReduction(factor.reduction);
  case FactorKind::Decomposed:
    return "decomposed";
  case FactorKind::Replicated:
    return "replicated";
  }
  llvm_unreachable("unknown kind");
}

bool tessera::hasFactor(const TensorFactors &tensor, unsigned factor) {
  return llvm::any_of(tensor, [&](const DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

bool ShardingRule::isReduced(unsigned factor) const {
  return llvm::none_of(results, [&](const TensorFactors &tensor) {
    return hasFactor(tensor, factor);
  });
}

bool ShardingRule::isReducedIn(unsigned factor, unsigned result) const {
  return factors[factor].kind == FactorKind::Reduction &&
         !hasFactor(results[result], factor);
}

/// Factors without a letter of the op's own are i, j, k, ... z, then f18, f19,
/// ...
void ShardingRule::printName(llvm::raw_ostream &os, unsigned factor) const {
  if (char letter = factors[factor].letter)
    os << letter;
  else if (factor < 18)
    os << char('i' + factor);
  else
    os << 'f' << factor;
}

static void printTensors(llvm::raw_ostream &os, const ShardingRule &rule,
                         llvm::ArrayRef<TensorFactors> tensors) {
  os << '(';
  llvm::interleave(
      tensors, os,
      [&](const TensorFactors &tensor) {
        os << '[';
        llvm::interleave(
            tensor, os,
            [&](const DimFactors &dim) {
              if (dim.empty())
                os << '1';
              for (unsigned f : dim)
                rule.printName(os, f);
            },
            ",");
        os << ']';
      },
      ",");
  os << ')';
}

void ShardingRule::print(llvm::raw_ostream &os) const {
  printTensors(os, *this, operands);
  os << "->";
  printTensors(os, *this, results);
  os << " {";
  for (auto [i, f] : llvm::enumerate(factors)) {
    os << (i ? ", " : "");
    printName(os, i);
    os << '=' << f.size;
    if (f.kind != FactorKind::Parallel)
      os << ' ' << stringifyFactorKind(f);
    if (f.positional)
      os << " positional";
  }
  os << '}';
}
