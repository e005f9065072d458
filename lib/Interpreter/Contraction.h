//===- Contraction.h - Contractions of two tensors --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_CONTRACTION_H
#define TESSERA_LIB_INTERPRETER_CONTRACTION_H

#include "tessera/Interpreter/Tensor.h"

namespace tessera::interp {

/// An einsum of two operands over numbered indices. Each tensor lists the index
/// of each of its dimensions.
struct Contraction {
  /// The size of each index.
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<unsigned> lhs, rhs, result;

  /// True if no tensor repeats an index, each index of the result is in an
  /// operand, and each index of an operand is in the result or in the other
  /// operand.
  bool isValid() const;
};

/// Adds the contraction to `result` without rounding: sums of floats are kept
/// in double, integers wrap at 64 bits.
void contract(const Contraction &contraction, const Tensor &lhs,
              const Tensor &rhs, Tensor &result);

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_CONTRACTION_H
