//===- OpComparison.h - A local op beside a global one ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the checks of OpMatcher*.cpp are asked about, and those that one file
// asks of another. Each check says whether the op fits, and if not, why; the
// first that fails is the reason that the user reads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_OPCOMPARISON_H
#define TESSERA_LIB_VALIDATION_OPCOMPARISON_H

#include "OpMatcher.h"

namespace tessera {

/// What a check found.
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

/// A factor, as the operands are sharded along it.
struct FactorState {
  /// Some operand has it.
  bool isKnown = false;
  /// All elements along it are equal.
  bool isUniform = true;
  Placements::Id placement = Placements::kWhole;
  int64_t localSize = 1;
  int64_t globalSize = 1;
  /// Number of true elements of operands that were ended (DimState::trueSize);
  /// -1: none was.
  int64_t trueSize = -1;
  /// Some operand says how long it is.
  bool isTied = false;
  /// Some operand has the blocks only where these hold true elements: nothing
  /// is known of its padding.
  bool isLoose = false;
  /// The operand that said how it is sharded, and which of its dimensions.
  unsigned operand = 0;
  int64_t dim = 0;
};

/// An op of the local program beside one of the reference.
struct OpComparison {
  MatchContext &context;
  mlir::Operation *op;
  /// The op's rule, on local sizes.
  const ShardingRule &localRule;
  /// Null without a reference.
  const ReferenceOp *target;
  /// The rule of the target, or of the op itself without one, on global sizes.
  const ShardingRule &rule;
  /// The factors of whose padding the op was told.
  llvm::SmallBitVector absorbed;
  /// By factor; set by readOperands(). Of a uniform one, an offset may tell the
  /// blocks later.
  llvm::SmallVector<FactorState, 8> factors;

  Placements &placements() const { return context.placements; }
  /// The state of a tensor operand. readOperands() has checked where it ends.
  const ShardState &getState(unsigned operand) const {
    return context.states.getWithEnds(op->getOperand(operand));
  }
  bool isTensor(unsigned operand) const {
    return llvm::isa<mlir::RankedTensorType>(op->getOperand(operand).getType());
  }
  /// What all devices hold of a factor, padding included.
  int64_t getHeldSize(const FactorState &factor) const {
    return factor.localSize * context.placements.getCount(factor.placement);
  }
  /// The devices hold more than the true elements.
  bool isPadded(const FactorState &factor) const {
    return !factor.isUniform && getHeldSize(factor) > factor.globalSize;
  }
  /// `{"tp"}`.
  std::string printAxes(llvm::ArrayRef<AxisRef> axes) const {
    return tessera::printAxes(context.placements.getMesh(), axes);
  }
};

/// "dimension 1 of operand 0": where a factor was read.
std::string describe(const FactorState &factor);

/// What the results are partial over.
struct PartialResults {
  /// A factor that the op reduces, and over what that leaves the results
  /// partial that lack it: axes, or one of so many equal parts of a sum.
  struct Reduced {
    unsigned factor;
    AxisList axes;
    int64_t share;
  };
  llvm::SmallVector<Reduced, 2> reduced;
  /// The axes of all those, and the axes that operands are partial over.
  AxisList reducedAxes, passedAxes;
  /// By which reduction; none while they are partial over nothing.
  std::optional<ReductionKind> kind;
  /// Operands are one of so many equal parts of a sum.
  int64_t share = 1;

  /// Both kinds of axes.
  AxisList getAxes() const;
};

// OpMatcherFactors.cpp

/// Sets the factors from the blocks of the operands.
CheckResult readOperands(OpComparison &c);
/// Whether a dimension without elements on a device is one without elements at
/// all, which then are all equal. None if devices have elements of it.
std::optional<bool> isEmpty(const OpComparison &c, const DimFactors &factors);
/// Factors that the op cannot shard must be whole, in their true size.
CheckResult checkKinds(OpComparison &c);
/// All devices together must hold what the op reduces, and all of a dimension
/// whose length the operands say.
CheckResult checkSizes(const OpComparison &c);

// OpMatcherExpected.cpp

/// The op must be a copy of the target that was told where the blocks begin.
CheckResult checkExpected(OpComparison &c);
/// The offset `local` must be where each device's block of a factor begins. Of
/// a uniform factor it says which block that is.
CheckResult checkOffset(OpComparison &c, mlir::Value local, unsigned factor);

// OpMatcherPadding.cpp

/// The content of an operand's dimension whose major factor is `factor`; none
/// if it has no such dimension.
std::optional<PadContent> getOperandPadding(const OpComparison &c,
                                            unsigned operand, unsigned factor);
/// The content of the results' padding of a factor.
PadContent getResultPadding(const OpComparison &c, unsigned factor);
/// What is reduced must add nothing in its padding.
CheckResult checkPadding(const OpComparison &c);

// OpMatcherReductions.cpp

/// The op's interface says that it is linear in `operands`.
bool isLinear(mlir::Operation *op, ReductionKind kind,
              const llvm::SmallBitVector &operands);
/// The operand is made of the neutral element of a reduction.
bool isNeutral(const OpComparison &c, unsigned operand, ReductionKind kind);
/// Sets what the results are partial over, by the op's own reductions and by
/// its operands.
CheckResult findPartialResults(const OpComparison &c, PartialResults &partial);

// OpMatcherResults.cpp

/// The states of the results.
CheckResult makeResults(const OpComparison &c, const PartialResults &partial,
                        llvm::SmallVectorImpl<ShardState> &results);

// OpMatcher.cpp

/// What follows once the op is known to be the target: sizes, padding,
/// reductions, results.
Match matchBlocks(const OpComparison &c);

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_OPCOMPARISON_H
