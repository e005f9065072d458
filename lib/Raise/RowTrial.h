//===- RowTrial.h - Is a region of ops the same as one op? ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter runs region and op in f64 on the same rows: normal ones, one
// of zeros, ones with a single large element, at several scales. Analytic
// functions that agree there are equal; what hides a difference is a choice (a
// select, a maximum), and so each choice must have had both outcomes. What an
// op is for rows that a mask hides, in part or whole, the region must be too.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_ROWTRIAL_H
#define TESSERA_LIB_RAISE_ROWTRIAL_H

#include "RowRegion.h"
#include "mlir/IR/Builders.h"
#include <functional>
#include <string>

namespace tessera {

/// What enters a function of rows, in a graph or in a trial.
struct RowInputs {
  mlir::Value x;
  llvm::SmallVector<mlir::Value> vectors, indices, masks;
};

/// An op that a region may be.
struct Proposal {
  /// "nn.gelu <tanh>": for remarks.
  std::string name;
  /// Builds it of the inputs, with the element type of x.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                            const RowInputs &)>
      build;
  /// The op is defined for rows that hold minus infinity, as a mask does.
  bool takesHidden = false;
};

/// What a trial found.
struct TrialResult {
  /// Of each proposal the largest |a - b| / (|b| + 0.1 rms(b)) of all rows;
  /// infinite where a row with minus infinity differs, NaN being equal to NaN.
  llvm::SmallVector<double> errors;
  /// Each choice had both outcomes.
  bool isCovered = false;

  /// The proposal that the region is; none if it is none.
  std::optional<size_t> findEqual() const;
};

/// The two numbers that a mask has; of booleans 0 and 1.
using MaskNumbers = std::pair<double, double>;

/// Runs region and proposals; each mask has one of its numbers at random, both
/// in each row. None where the interpreter refuses.
std::optional<TrialResult> tryProposals(const RowRegion &region,
                                        llvm::ArrayRef<Proposal> proposals,
                                        llvm::ArrayRef<MaskNumbers> masks = {});

/// The float of a constant of one value; none of another value.
std::optional<double> getNumber(mlir::Value value);

/// The positive constants of a region, as the shortest decimal that rounds to
/// them: what an eps may be.
llvm::SmallVector<double> findConstants(const RowRegion &region);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_ROWTRIAL_H
