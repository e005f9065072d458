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

#include "Machine.h"

namespace tessera::interp {

class ScalarRegion {
public:
  struct Step {
    enum class Kind { Scalar, Index, Extract } kind = Kind::Scalar;
    mlir::Operation *op = nullptr;
    ScalarOp scalar;
    /// Do not round: the result goes on being summed in double.
    bool exact = false;
    llvm::SmallVector<unsigned, 3> operands;
    unsigned result = 0;
    /// Of linalg.index.
    int64_t dim = 0;
    /// Of tensor.extract.
    TensorRef tensor;
  };

  /// Compiles a block; values from outside are read from `evaluation`. Failure,
  /// with an error, on an op that has no scalar handler.
  static mlir::FailureOr<ScalarRegion> compile(mlir::Block &block,
                                               const Evaluation &evaluation);

  /// Keeps what is accumulated into argument `first` and later ones exact: the
  /// op whose result is yielded for such an argument and has it as an operand,
  /// where it is a float's sum, product, maximum or minimum. The caller rounds
  /// at the end.
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
