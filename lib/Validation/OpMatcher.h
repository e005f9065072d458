//===- OpMatcher.h - Does a local op compute a part of a global one? ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transfer function of ops with a sharding rule: from the blocks of the
// operands to those of the results, by way of the factors.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_OPMATCHER_H
#define TESSERA_LIB_VALIDATION_OPMATCHER_H

#include "ExpectedOps.h"
#include "ReferenceValues.h"
#include "ShardState.h"

namespace tessera {

/// States of the values of the local program; only looked up.
using StateMap = llvm::DenseMap<mlir::Value, ShardState>;

/// How well a local op fits one of the reference.
enum class Fit {
  /// It computes blocks of that op's results.
  Yes,
  /// It is another op: a property, a body or an operand differs.
  OtherOp,
  /// It is that op, but not every device has what it needs.
  Wrong,
  /// Whether it is right cannot be said.
  Unknown,
};

/// What a local op is of one of the reference.
struct Match {
  Fit fit = Fit::Yes;
  /// Why it does not fit; empty if it does.
  std::string why;
  /// The states of the local op's results, if it fits.
  llvm::SmallVector<ShardState, 1> results;
};

class OpMatcher {
public:
  OpMatcher(Placements &placements, const ReferenceValues &reference,
            ExpectedOps &expected, const StateMap &states)
      : placements(placements), reference(reference), expected(expected),
        states(states) {}

  /// Matches `op` with `target`.
  Match match(mlir::Operation *op, const ReferenceOp &target);

  /// Without a reference: the op on the global sizes that its operands have.
  /// Results have no number. `globalTypes` gets their types if the op fits.
  Match matchAlone(mlir::Operation *op,
                   llvm::SmallVectorImpl<mlir::Type> &globalTypes);

  /// Whether the offset of a part of `size` elements along a dimension is what
  /// each device has: `base` more than the position of its block.
  bool isOffset(const ShardState *offset, Placements::Id placement,
                int64_t size) const;

  /// Whether equal blocks of some result were numbered by what uses them: other
  /// numbers may fit where these do not.
  bool hasGuessed() const { return guessed; }

private:
  /// A factor, as the operands are cut along it.
  struct FactorState {
    bool isKnown = false;
    bool isUniform = true;
    Placements::Id placement = Placements::kWhole;
    int64_t localSize = 1;
    int64_t globalSize = 1;
    /// Where masks of its padding begin; -1: none does.
    int64_t trueSize = -1;
    /// Some operand says how long it is.
    bool isTied = false;
    /// Some operand has the blocks only where these hold true elements: nothing
    /// is known of its padding.
    bool isLoose = false;
    unsigned operand = 0;
    int64_t dim = 0;
  };

  llvm::SmallVector<llvm::SmallBitVector, 2>
  listPadded(const ShardingRule &rule) const;
  Fit matchVariant(const ReferenceOp &target, const ShardingRule &rule,
                   const llvm::SmallBitVector &absorbed);
  Fit matchExpected(const ReferenceOp &target,
                    const llvm::SmallBitVector &absorbed,
                    const ShardingRule &rule);
  Fit compare(const ExpectedOp &expectedOp);
  Fit compareOperand(mlir::Value local, mlir::Value wanted,
                     const ExpectedOp &expectedOp, llvm::StringRef what);
  Fit checkOffset(mlir::Value local, unsigned factor);
  std::optional<std::vector<int64_t>> evaluate(mlir::Value wanted,
                                               const ExpectedOp &expectedOp);

  bool readOperands(const ShardingRule &rule);
  bool readDim(unsigned operand, int64_t dim, const DimState &state,
               const ShardingRule &rule);
  std::optional<bool> isEmpty(const DimFactors &list) const;
  bool join(unsigned factor, FactorState found);
  bool checkKinds(const ShardingRule &rule,
                  const llvm::SmallBitVector &absorbed);
  bool checkPadding(const ShardingRule &rule,
                    const llvm::SmallBitVector &absorbed);
  bool checkSizes(const ShardingRule &rule);
  bool checkUniformSums(const ShardingRule &rule);
  bool findPartialAxes(const ShardingRule &rule);
  bool isShared() const;
  bool shareOver(llvm::ArrayRef<AxisRef> axes);
  bool checkInits();
  bool checkPartialOperands();
  bool checkPartialAxis(const AxisRef &axis);
  bool checkShares(llvm::ArrayRef<AxisRef> axes);
  bool checkLinear(llvm::SmallBitVector partial, ReductionKind reduction,
                   const llvm::Twine &over);
  bool makeResults(const ReferenceOp &target, const ShardingRule &rule);
  std::optional<DimState> makeDim(const DimFactors &factors, unsigned result,
                                  int64_t dim);
  std::optional<Placements::Id> nameBlocks(const DimFactors &factors,
                                           unsigned position, unsigned result,
                                           int64_t dim);
  PadContent getPadding(unsigned factor) const;
  bool keepsZeros(unsigned factor) const;

  /// True size of the factor is less than what all devices hold.
  bool isPadded(const FactorState &factor) const {
    return !factor.isUniform &&
           factor.localSize * placements.getCount(factor.placement) >
               factor.globalSize;
  }
  const ShardState &getState(unsigned operand) const {
    return states.find(op->getOperand(operand))->second;
  }
  bool isNeutral(const ShardState &state, ReductionKind kind,
                 mlir::Type type) const;
  /// Content of an operand's dimension whose major factor is `factor`; none if
  /// it has no such dimension.
  std::optional<PadContent> getOperandPadding(unsigned operand,
                                              unsigned factor) const;
  bool isLinear(ReductionKind kind, const llvm::SmallBitVector &operands) const;
  std::string printAxes(llvm::ArrayRef<AxisRef> axes) const {
    return tessera::printAxes(placements.getMesh(), axes);
  }
  /// What a match ends with.
  Match finish(Fit how) const {
    return how == Fit::Yes ? Match{how, {}, made} : Match{how, why, {}};
  }
  Fit fail(Fit how, const llvm::Twine &text) {
    fit = how;
    why = text.str();
    return how;
  }
  bool wrong(const llvm::Twine &text) {
    fail(Fit::Wrong, text);
    return false;
  }

  Placements &placements;
  const ReferenceValues &reference;
  ExpectedOps &expected;
  const StateMap &states;

  // Of the op at hand.
  mlir::Operation *op = nullptr;
  ShardingRule localRule;
  llvm::SmallVector<FactorState, 8> factors;
  llvm::SmallVector<ShardState, 1> made;
  /// Axes that the op's own reductions make its results partial over, and those
  /// that it was given.
  AxisList reducedAxes, passedAxes;
  /// By what the op's own reductions make the results partial that lack the
  /// factor: axes, or equal shares.
  struct Reduced {
    unsigned factor;
    AxisList axes;
    int64_t share;
  };
  llvm::SmallVector<Reduced, 2> reducedFactors;
  std::optional<ReductionKind> kind;
  /// Equal parts of a sum that the results are; operands that are as well.
  int64_t share = 1;
  llvm::SmallBitVector sharing;
  /// The op of the reference that this one is compared with, and the factors of
  /// whose padding it was told; null without a reference.
  struct {
    const ReferenceOp *target = nullptr;
    llvm::SmallBitVector absorbed;
  } told;
  Fit fit = Fit::Yes;
  std::string why;
  /// Of all ops so far.
  bool guessed = false;
};

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_OPMATCHER_H
