//===- ScalarRegion.h - Regions that compute one element --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a linalg op, of tensor.pad or of tensor.generate, compiled to a
// list of steps over numbered slots, to be run once per element.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_SCALARREGION_H
#define TESSERA_LIB_INTERPRETER_SCALARREGION_H

#include "Interpretation.h"

namespace tessera::interp {

class ScalarRegion {
public:
  struct Step {
    enum class Kind { Scalar, Index, Extract } kind = Kind::Scalar;
    mlir::Operation *op = nullptr;
    ScalarOp scalar;
    /// True to keep the result in double for a sum, without rounding.
    bool exact = false;
    llvm::SmallVector<unsigned, 3> operands;
    unsigned result = 0;
    /// The dimension of a linalg.index.
    int64_t dim = 0;
    /// The tensor of a tensor.extract.
    TensorRef tensor;
  };

  /// Compiles a block; values from outside are read from `evaluation`. Fails,
  /// with an error, on an op without a scalar handler.
  static mlir::FailureOr<ScalarRegion> compile(mlir::Block &block,
                                               const Evaluation &evaluation);

  /// Does not round accumulators in argument `first` and later ones. This
  /// affects the float sum, product, maximum or minimum that is yielded for
  /// such an argument and has it as an operand. The caller rounds at the end.
  void keepAccumulatorsExact(mlir::Block &block, unsigned first);

  /// Runs the steps. Arguments are in the first slots; `index` is the position
  /// for linalg.index.
  mlir::LogicalResult run(llvm::ArrayRef<int64_t> index);
  Cell &argument(unsigned i) { return slots[i]; }
  Cell getYielded(unsigned i) const { return slots[yielded[i]]; }

  llvm::ArrayRef<Step> getSteps() const { return steps; }
  llvm::ArrayRef<unsigned> getYieldedSlots() const { return yielded; }

private:
  std::vector<Step> steps;
  std::vector<Cell> slots;
  llvm::SmallVector<unsigned, 2> yielded;
};

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_SCALARREGION_H
