//===- InputData.h - Deterministic input data -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each element is a function only of the seed, the argument's name and the
// element's global index: the same under every mesh.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_INPUTDATA_H
#define TESSERA_INTERPRETER_INPUTDATA_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interpreter/Tensor.h"
#include <string>

namespace tessera::interp {

/// Floats of an argument that is neither parameter nor state.
enum class FloatData {
  /// Normal with deviation 1.
  Plain,
  /// Plain, but out of 16 elements one is 0, one is 8 times as large and one
  /// 2^-10 times.
  Ordinary,
  /// Ordinary, but a few are NaN, infinite, -0, or the largest or least of 16
  /// bits; also for parameters.
  Extreme
};

/// Integers of an argument whose uses set no domain.
enum class IntegerData {
  /// Out of 8 elements one is 0, one has any magnitude, the others are from -8
  /// to 7; an index is from 0 to 7.
  Any,
  /// From 0 to 7.
  Small,
  /// From 1 to 7.
  Positive
};

/// The distribution of inputs. They depend on `seed` and the name of the
/// argument, so that one argument's data does not depend on the others.
struct InputOptions {
  uint64_t seed = 0;
  /// Floats are integers from -2 to 2: their sums and products are exact.
  bool integers = false;
  FloatData floats = FloatData::Ordinary;
  IntegerData whole = IntegerData::Any;
};

/// Name of an argument, by NNDialect::kArgumentNames, else "arg<index>".
std::string getArgumentName(mlir::func::FuncOp function, unsigned index);
/// Name of a result: its `nn.output`, else the name of the argument that it
/// replaces (`dist.donate`), else "result<index>".
std::string getResultName(mlir::func::FuncOp function, unsigned index);

/// Global tensors for the arguments of a global function.
///
/// Floats are normal: of a parameter with the deviation of its `nn.init`, but
/// at least n^(-1/4) for n elements, so that the layers of a small model pass
/// something on; around 0 and 1 with deviation 0.1 for `zeros` and `ones`,
/// which would hide a bias added twice; of other arguments as `floats` says.
/// State that starts as zeros is not negative; state without a parameter (a
/// count) has the value of its `nn.init`.
///
/// Integers are in the domain that their uses set: ids, labels (one in eight is
/// the ignored label), indices, bounds and steps of loops, divisors, distances
/// of shifts. Other integers are as `whole` says; booleans are uniform.
mlir::FailureOr<RankTensors> makeInputs(mlir::func::FuncOp function,
                                        const InputOptions &options);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_INPUTDATA_H
