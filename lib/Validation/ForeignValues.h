//===- ForeignValues.h - Values that the reference lacks --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a local op makes that no op of the reference makes may be right all the
// same: x + x for 2 * x. Here is what made each such value, and whether it can
// be what a use needs in its place.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_FOREIGNVALUES_H
#define TESSERA_LIB_VALIDATION_FOREIGNVALUES_H

#include "ReferenceValues.h"
#include <map>
#include <string>

namespace tessera {

class ForeignValues {
public:
  explicit ForeignValues(const ReferenceValues &reference)
      : reference(reference) {}

  /// `op`, which the reference lacks on these values, made result `result`.
  void add(int value, mlir::Operation *op, llvm::ArrayRef<int> operands,
           unsigned result) {
    made[value] = {op, llvm::SmallVector<int, 4>(operands), result};
  }
  bool contains(int value) const { return made.count(value); }
  /// Whether there are so many that following them takes too long.
  bool areTooMany() const { return made.size() > 256; }

  /// Why foreign value `got` cannot be `needed`, a value of the reference: the
  /// same terms are added another number of times, or the same op takes another
  /// value. Ops that make floats are taken to tell values apart. Empty if it
  /// may be, or if `got` is not foreign.
  std::string explainDifference(int got, int needed) const;

  /// Whether a result is taken to be another for another operand: floats and
  /// sums are. But twice a number is as finite, and as positive, as the number.
  static bool tellsApart(mlir::Operation *op, unsigned result);

  /// Whether `needed`, a value of the reference, is made of values that foreign
  /// value `got` is made of: such a value it may be. Any other is taken to be
  /// independent of it.
  bool isRelated(int got, int needed) const;

private:
  /// Which op made a value, of which values, and which of its results it is.
  struct Maker {
    mlir::Operation *op = nullptr;
    llvm::SmallVector<int, 4> operands;
    unsigned result = 0;
  };
  /// Values that a sum adds, and how often.
  using Terms = std::map<int, int64_t>;

  Maker findMaker(int value) const;
  /// False if they are too many: twice itself a few dozen times.
  bool addTerms(int value, Terms &terms, int64_t &numTerms) const;
  std::string compareTerms(int got, int needed) const;

  const ReferenceValues &reference;
  std::map<int, Maker> made;
};

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_FOREIGNVALUES_H
