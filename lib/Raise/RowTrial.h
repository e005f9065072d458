//===- RowTrial.h - Compares a region of ops with one op --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter runs region and op in f64 on the same rows: normal ones, one
// of zeros, and ones with a single large element, at several scales. Analytic
// functions that agree there are equal. A choice (a select, a maximum) can hide
// a difference, so each choice must have had both outcomes. Region and op must
// also agree on rows that a mask hides in part or in whole.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_ROWTRIAL_H
#define TESSERA_LIB_RAISE_ROWTRIAL_H

#include "RowRegion.h"
#include "mlir/IR/Builders.h"
#include <functional>
#include <string>

namespace tessera {

/// The inputs of a function of rows, in a graph or in a trial.
struct RowInputs {
  mlir::Value x;
  llvm::SmallVector<mlir::Value> vectors, indices, masks;
};

/// An op that a region may be equal to.
struct Proposal {
  /// Name for remarks, such as "nn.gelu <tanh>".
  std::string name;
  /// Builds the op from the inputs, with the element type of x.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                            const RowInputs &)>
      build;
  /// True if the op is defined for rows with minus infinity, as a mask makes
  /// them.
  bool takesHidden = false;
};

/// The result of a trial.
struct TrialResult {
  /// The largest |a - b| / (|b| + 0.1 rms(b)) over all rows, per proposal;
  /// infinite if a row with minus infinity differs, where NaN equals NaN.
  llvm::SmallVector<double> errors;
  /// True if each choice had both outcomes.
  bool isCovered = false;

  /// The proposal that the region equals; none if there is none.
  std::optional<size_t> findEqual() const;
};

/// The two numbers of a mask; 0 and 1 for booleans.
using MaskNumbers = std::pair<double, double>;

/// Runs region and proposals. Each mask element is one of the mask's two
/// numbers at random; each row has both. None if the interpreter fails.
std::optional<TrialResult> tryProposals(const RowRegion &region,
                                        llvm::ArrayRef<Proposal> proposals,
                                        llvm::ArrayRef<MaskNumbers> masks = {});

/// The float of a splat constant; none for other values.
std::optional<double> getNumber(mlir::Value value);

/// The positive constants of a region, as the shortest decimals that round to
/// them: candidates for an eps.
llvm::SmallVector<double> findConstants(const RowRegion &region);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_ROWTRIAL_H
