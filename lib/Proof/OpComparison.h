//===- OpComparison.h - A local op against a global one ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input of the checks of OpMatcher*.cpp, and the checks that one file calls
// in another. Each check returns whether the op fits, and if not, why; the
// first failure is the reason that the user reads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_OPCOMPARISON_H
#define TESSERA_LIB_PROOF_OPCOMPARISON_H

#include "OpMatcher.h"

namespace tessera {

/// The result of a check.
struct [[nodiscard]] CheckResult {
  Fit fit = Fit::Yes;
  /// Why the op does not fit; empty if it does.
  std::string why;

  bool fits() const { return fit == Fit::Yes; }
};
inline CheckResult wrong(const llvm::Twine &why) {
  return {Fit::Wrong, why.str()};
}
inline CheckResult unknown(const llvm::Twine &why) {
  return {Fit::Unknown, why.str()};
}
inline CheckResult otherOp(const llvm::Twine &why) {
  return {Fit::OtherOp, why.str()};
}

/// The sharding of the operands along a factor.
struct FactorState {
  /// True if some operand has it.
  bool isKnown = false;
  /// True if all elements along it are equal.
  bool isUniform = true;
  Placements::Id placement = Placements::kWhole;
  int64_t localSize = 1;
  int64_t globalSize = 1;
  /// Number of true elements of operands that were ended (DimState::trueSize);
  /// -1 if none was.
  int64_t trueSize = -1;
  /// True if some operand determines its length.
  bool isTied = false;
  /// True if some operand holds the blocks only where these have true elements;
  /// its padding is unknown.
  bool isLoose = false;
  /// The operand that determines the sharding, and its dimension.
  unsigned operand = 0;
  int64_t dim = 0;
};

/// An op of the local program compared with an op of the reference.
struct OpComparison {
  MatchContext &context;
  mlir::Operation *op;
  /// The op's rule on local sizes.
  const ShardingRule &localRule;
  /// Null without a reference.
  const ReferenceOp *target;
  /// The rule on global sizes: the rule of the target, or of the op itself
  /// without a target.
  const ShardingRule &rule;
  /// The factors whose padding the op was told.
  llvm::SmallBitVector absorbed;
  /// Per factor; set by readOperands(). An offset may determine the blocks of a
  /// uniform factor later.
  llvm::SmallVector<FactorState, 8> factors;

  Placements &placements() const { return context.placements; }
  /// The state of a tensor operand. readOperands() has checked its ends.
  const ShardState &getState(unsigned operand) const {
    return context.states.getWithEnds(op->getOperand(operand));
  }
  bool isTensor(unsigned operand) const {
    return llvm::isa<mlir::RankedTensorType>(op->getOperand(operand).getType());
  }
  /// The elements of a factor that all devices hold, including padding.
  int64_t getHeldSize(const FactorState &factor) const {
    return factor.localSize * context.placements.getCount(factor.placement);
  }
  /// True if the devices hold more than the true elements.
  bool isPadded(const FactorState &factor) const {
    return !factor.isUniform && getHeldSize(factor) > factor.globalSize;
  }
  /// Prints axes as `{"tp"}`.
  std::string printAxes(llvm::ArrayRef<AxisRef> axes) const {
    return tessera::printAxes(context.placements.getMesh(), axes);
  }
};

/// Prints where a factor was read: "dimension 1 of operand 0".
std::string describe(const FactorState &factor);

/// The axes over which results are partial.
struct PartialResults {
  /// A factor that the op reduces. Results that lack it are partial over
  /// `axes`, or are one of `share` equal terms of a sum.
  struct Reduced {
    unsigned factor;
    AxisList axes;
    int64_t share;
  };
  llvm::SmallVector<Reduced, 2> reduced;
  /// The axes of all `reduced`, and the axes over which operands are partial.
  AxisList reducedAxes, passedAxes;
  /// The kind of reduction; none if the results are partial over nothing.
  std::optional<ReductionKind> kind;
  /// Operands are one of this many equal terms of a sum.
  int64_t share = 1;

  /// Both kinds of axes.
  AxisList getAxes() const;
};

// OpMatcherFactors.cpp

/// Sets the factors from the blocks of the operands.
CheckResult readOperands(OpComparison &c);
/// Whether a dimension that is empty on each device is empty globally; its
/// elements are then all equal. None if devices have elements of it.
std::optional<bool> isEmpty(const OpComparison &c, const DimFactors &factors);
/// Checks that factors that the op cannot shard are whole, in their true size.
CheckResult checkKinds(OpComparison &c);
/// Checks that all devices together hold everything that the op reduces, and
/// all of each dimension whose length the operands determine.
CheckResult checkSizes(const OpComparison &c);

// OpMatcherExpected.cpp

/// Checks that the op is a copy of the target that was told where blocks begin.
CheckResult checkExpected(OpComparison &c);
/// Checks that offset `local` is the position of each device's block of a
/// factor. For a uniform factor, it determines the block.
CheckResult checkOffset(OpComparison &c, mlir::Value local, unsigned factor);

// OpMatcherPadding.cpp

/// The padding content of an operand's dimension whose major factor is
/// `factor`; none if it has no such dimension.
std::optional<PadContent> getOperandPadding(const OpComparison &c,
                                            unsigned operand, unsigned factor);
/// The padding content of the results along a factor.
PadContent getResultPadding(const OpComparison &c, unsigned factor);
/// Checks that reduced padding does not change the result.
CheckResult checkPadding(const OpComparison &c);

// OpMatcherPartialSums.cpp

/// Whether the op is linear in `operands`, according to its interface.
bool isLinear(mlir::Operation *op, ReductionKind kind,
              const llvm::SmallBitVector &operands);
/// Whether the operand holds the neutral element of a reduction.
bool isNeutral(const OpComparison &c, unsigned operand, ReductionKind kind);
/// Finds the axes over which results are partial, from the op's own reductions
/// and its operands.
CheckResult findPartialResults(const OpComparison &c, PartialResults &partial);

// OpMatcherResults.cpp

/// Computes the states of the results.
CheckResult makeResults(const OpComparison &c, const PartialResults &partial,
                        llvm::SmallVectorImpl<ShardState> &results);

// OpMatcher.cpp

/// Runs the checks after the op is known to be the target: sizes, padding,
/// reductions, results.
Match matchBlocks(const OpComparison &c);

} // namespace tessera

#endif // TESSERA_LIB_PROOF_OPCOMPARISON_H
