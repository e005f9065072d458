//===- Witness.h - Arguments that show a difference -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A witness is a set of arguments, in the program's own types, on which the
// original is finite and a result of the compiled program differs from it by
// more than `verify` allows. It refutes the program without any rule of a
// proof: whoever runs both on it sees the difference.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_WITNESS_WITNESS_H
#define TESSERA_WITNESS_WITNESS_H

#include "tessera/Interpreter/Verify.h"

namespace tessera::interp {

/// Arguments on which a compiled program differs from its original.
struct Witness {
  /// The global arguments, and the names of those of the original.
  RankTensors arguments;
  std::vector<std::string> names;
  /// The data that an argument is, "small integers of seed 3"; empty for those
  /// that the search made smaller.
  std::vector<std::string> origins;
  /// The output that differs most beyond its bound.
  OutputComparison output;
  unsigned number = 0;
};

/// Searches a witness: ordinary data, small integers and positive data, of
/// several seeds; then makes its arguments smaller (zeros, a single one,
/// integers). Runs both functions at most 64 times to find one and 200 times to
/// make it smaller, fewer times for large programs, so equal programs have
/// equal witnesses. `known` is the comparison of one set of data that `verify`
/// has run, tried first. Returns none if no data shows a difference of finite
/// numbers, or if the programs are too large to interpret.
std::optional<Witness> findWitness(mlir::func::FuncOp original,
                                   mlir::func::FuncOp compiled,
                                   const VerifyOptions &options,
                                   const VerifyReport *known = nullptr);

/// Describes it in a line: "masks[5] = 1, all else 0: result 0 is 0.5 on device
/// 0 and 1 in the reference".
std::string describeWitness(const Witness &witness);

} // namespace tessera::interp

#endif // TESSERA_WITNESS_WITNESS_H
