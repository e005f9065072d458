//===- OpMatcher.cpp - Is a local op a shard of a global one? -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transfer function of a forward data-flow analysis (G. A. Kildall: A
// Unified Approach to Global Program Optimization, 1973) that does translation
// validation (A. Pnueli, M. Siegel, E. Singerman: Translation Proof,
// 1998). It compares an op of the local program with one of the reference, on
// the blocks of the reference's values that each device holds. Blocks of
// operands map to the factors of the op's sharding rule, where operands must
// agree, and from there to the results. "bd,df->bf" on a mesh of dp=2, tp=2, an
// 8x16 by a 16x64:
//
//     device                0  1  2  3
//     x [{dp}, {}], dim 0   0  0  1  1    of 2 blocks of 4   \  b = 0 0 1 1
//     w [{}, {tp}], dim 1   0  1  0  1    of 2 blocks of 32   > f = 0 1 0 1
//     x dim 1, w dim 0      whole                            /  d whole
//     result, dim 0         0  0  1  1    b: [{dp}, {tp}], blocks of 4x32
//             dim 1         0  1  0  1    f
//
// If x is [{dp}, {tp}] and w [{tp}, {}], d is 0 1 0 1 according to both
// operands, and the result is partial over tp. With w [{dp}, {}] instead, d is
// 0 0 1 1 according to w: operand 1 does not fit operand 0, and the error names
// device 1.
//
// An OpComparison goes through the checks in this order:
//
//     OpMatcherFactors      blocks of operands -> factors, which must agree
//     OpMatcherExpected     the op itself: properties, body, offsets
//     OpMatcherPadding      reduced padding must not change the result
//     OpMatcherPartialSums   the axes over which the results are partial
//     OpMatcherResults      factors -> blocks of results
//
// This file has that order, and the copies of a target that were told padding.
// OpMatcherAlone handles ops without a reference.
//
//===----------------------------------------------------------------------===//

#include "OpComparison.h"
#include "tessera/Interfaces/LocalRules.h"

using namespace mlir;
using namespace tessera;

/// A match that does not fit.
static Match toMatch(CheckResult check) {
  return {check.fit, std::move(check.why), {}};
}

Match tessera::matchBlocks(const OpComparison &c) {
  Match match;
  PartialResults partial;
  for (auto check : {checkSizes, checkPadding})
    if (CheckResult found = check(c); !found.fits())
      return toMatch(found);
  if (CheckResult check = findPartialResults(c, partial); !check.fits())
    return toMatch(check);
  if (CheckResult check = makeResults(c, partial, match.results); !check.fits())
    return toMatch(check);
  return match;
}

/// Matches with one copy of the target.
static Match matchVariant(OpComparison &c) {
  if (c.localRule.factors.size() != c.rule.factors.size() ||
      c.localRule.results.size() != c.rule.results.size())
    return toMatch(otherOp("its sharding rule differs"));
  for (auto check : {readOperands, checkKinds, checkExpected})
    if (CheckResult found = check(c); !found.fits())
      return toMatch(found);
  return matchBlocks(c);
}

/// True for tensors of equal rank and element type, and for equal types.
static bool isAlike(Type a, Type b) {
  auto left = dyn_cast<RankedTensorType>(a);
  auto right = dyn_cast<RankedTensorType>(b);
  if (!left || !right)
    return a == b;
  return left.getElementType() == right.getElementType() &&
         left.getRank() == right.getRank();
}

/// The sets of factors whose padding the op may have been told: the padded
/// factors, with any subset of the uniform ones. For equal elements only the op
/// tells, and it may have been told without need.
static SmallVector<llvm::SmallBitVector, 2> listPadded(const OpComparison &c) {
  size_t numFactors = c.factors.size();
  llvm::SmallBitVector padded(numFactors), open(numFactors);
  for (auto [i, factor, state] : llvm::enumerate(c.rule.factors, c.factors)) {
    if (factor.kind == FactorKind::Replicated)
      continue;
    if (c.getHeldSize(state) > state.globalSize)
      padded.set(i);
    else
      open.set(i);
  }
  SmallVector<llvm::SmallBitVector, 2> lists;
  if (padded.any())
    lists.push_back(padded);
  constexpr unsigned kMaxOpen = 4;
  unsigned subsets = open.count() <= kMaxOpen ? 1u << open.count() : 0;
  for (unsigned some = 1; some < subsets; ++some) {
    llvm::SmallBitVector choice = padded;
    for (auto [bit, factor] : llvm::enumerate(open.set_bits()))
      if (some >> bit & 1)
        choice.set(factor);
    lists.push_back(choice);
  }
  return lists;
}

Match tessera::matchOp(MatchContext &context, Operation *op,
                       const ReferenceOp &target) {
  for (auto [mine, type] :
       llvm::zip(op->getResultTypes(), target.op->getResultTypes()))
    if (!isAlike(mine, type))
      return toMatch(otherOp("its results have other types"));
  ShardingRule localRule = getLocalRule(op, target.op);
  llvm::SmallBitVector none(target.rule.factors.size());
  OpComparison plain{context, op, localRule, &target, target.rule, none, {}};
  Match first = matchVariant(plain);
  bool hasFactors = plain.factors.size() == target.rule.factors.size();
  if (first.fit == Fit::Yes || !hasFactors ||
      !isa<ShardingRuleOpInterface>(target.op))
    return first;
  // The op may handle the padding itself.
  for (const llvm::SmallBitVector &padded : listPadded(plain)) {
    const ExpectedOp &copy =
        context.expected.get(target.op, target.rule, padded, none);
    if (copy.absorbed.none())
      continue;
    OpComparison told{context,       op, localRule, &target, copy.rule,
                      copy.absorbed, {}};
    Match match = matchVariant(told);
    if (match.fit != Fit::OtherOp && match.fit != first.fit)
      return match;
  }
  return first;
}
