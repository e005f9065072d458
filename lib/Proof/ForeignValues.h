//===- ForeignValues.h - Values that the reference lacks --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A local op whose value no op of the reference computes may still be correct:
// x + x for 2 * x. This class records the op that made each such foreign value,
// and whether a use may take the value for one of the reference.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_FOREIGNVALUES_H
#define TESSERA_LIB_PROOF_FOREIGNVALUES_H

#include "ReferenceValues.h"
#include <map>
#include <string>

namespace tessera {

class ForeignValues {
public:
  explicit ForeignValues(const ReferenceValues &reference)
      : reference(reference) {}

  /// Records that `op`, which the reference lacks on these values, made
  /// `value`.
  void add(int value, mlir::Operation *op, llvm::ArrayRef<int> operands,
           unsigned result) {
    made[value] = {op, llvm::SmallVector<int, 4>(operands), result};
  }
  bool contains(int value) const { return made.count(value); }
  /// Whether there are too many foreign values to follow in reasonable time.
  bool areTooMany() const { return made.size() > 256; }

  /// Explains why foreign value `got` cannot be `needed`, a value of the
  /// reference: the same terms are added another number of times, or the same
  /// op takes another value. Assumes that ops with float results map different
  /// values to different results. Empty if it may be equal, or if `got` is not
  /// foreign.
  std::string explainDifference(int got, int needed) const;

  /// Whether a different operand is assumed to give a different result: true
  /// for floats and sums. But twice a number is as finite, and as positive, as
  /// the number.
  static bool tellsApart(mlir::Operation *op, unsigned result);

  /// Whether `needed`, a value of the reference, is computed from values that
  /// foreign value `got` is computed from: then they may be equal. All others
  /// are assumed to be independent of `got`.
  bool isRelated(int got, int needed) const;

private:
  /// The op that made a value, its operands, and the result number.
  struct Maker {
    mlir::Operation *op = nullptr;
    llvm::SmallVector<int, 4> operands;
    unsigned result = 0;
  };
  /// The terms of a sum, and how often each is added.
  using Terms = std::map<int, int64_t>;

  Maker findMaker(int value) const;
  /// False if there are too many terms: a value doubled a few dozen times.
  bool addTerms(int value, Terms &terms, int64_t &numTerms) const;
  std::string compareTerms(int got, int needed) const;

  const ReferenceValues &reference;
  std::map<int, Maker> made;
};

} // namespace tessera

#endif // TESSERA_LIB_PROOF_FOREIGNVALUES_H
