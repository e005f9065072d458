//===- Judge.h - Data, and what is right ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_JUDGE_H
#define TESSERA_TEST_RANDOM_JUDGE_H

#include "Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interpreter/Tensor.h"
#include "llvm/ADT/ArrayRef.h"

namespace tessera::test {

enum class DataKind {
  /// Numbers of both signs, with zeros and larger numbers.
  Ordinary,
  /// In addition some NaN, infinities, the largest and the smallest numbers.
  Extreme
};

/// Draws the arguments of a program, by its seed.
std::vector<Data> drawData(const Program &program, uint64_t seed,
                           DataKind kind);

/// Converts to a tensor with the type of a value of the compiler's program.
interp::TensorRef toTensor(const Data &data, mlir::Type type);

struct Judgement {
  /// Empty if correct.
  std::string difference;
  /// The number of elements that were compared, and of all elements.
  int64_t judged = 0, total = 0;
};

/// Converts a tensor to values of this type.
Data fromTensor(const interp::Tensor &tensor, const Type &type);

/// True if some number of `data` is infinite or NaN.
bool hasNotFinite(llvm::ArrayRef<Data> data);

/// Compares results with what they may be. Of a partitioned program: padding of
/// zeros times a number that is not finite is NaN, so with `inputsNotFinite` an
/// element that is NaN is not judged (see docs/proof.md).
Judgement judge(llvm::ArrayRef<Data> expected, llvm::ArrayRef<Data> actual,
                bool inputsNotFinite = false);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_JUDGE_H
