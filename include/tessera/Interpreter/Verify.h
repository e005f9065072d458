//===- Verify.h - Is a program the same before and after? -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets a global function on one rank and what the compiler made of it on
// all ranks of its mesh, on the same data, and compares every output.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_VERIFY_H
#define TESSERA_INTERPRETER_VERIFY_H

#include "tessera/Interfaces/Axes.h"
#include "tessera/Interpreter/InputData.h"
#include "tessera/Interpreter/Interpreter.h"

namespace tessera::interp {

/// The mesh of a function's module; one device if it has none. Failure, with
/// an error, if it has several.
mlir::FailureOr<Mesh> getMeshOf(mlir::func::FuncOp function);

/// Runs a function on global arguments and gives its global results. One with
/// `dist.local` runs on all devices of the mesh: its arguments are sharded and
/// its results assembled by their `dist.sharding` and `dist.global_shape`;
/// those without are copies. Any other runs on one rank. With several steps it
/// runs as often, what is donated (`dist.donate`) with what took its place on
/// each rank; the results are the last. Of a function with `dist.pp_rank` all
/// functions of its program run; a result that several pp ranks have must be
/// the same on all. Failure, with an error: see `interpret`,
/// `readPipelineProgram` and `assembleTensor`.
mlir::FailureOr<RankTensors> interpretGlobal(mlir::func::FuncOp function,
                                             llvm::ArrayRef<TensorRef> inputs,
                                             Statistics *statistics = nullptr,
                                             int64_t steps = 1);

/// Largest difference of two tensors of one shape, relative to the largest
/// element of `expected` that is finite; absolute where that is 0 and for
/// integers. NaN equals NaN, an infinity itself; infinite where they differ.
double relativeDifference(const Tensor &actual, const Tensor &expected);

/// What is allowed whatever the program: 0 for integers, 1e-12 for f64, 1e-5
/// for f32. For narrower floats 2^(1-p) with their p bits of precision, which
/// is what the last rounding of either program may make of one number: 7.8e-3
/// for bf16. `verify` allows more where the roundings of the original do: see
/// docs/Interpreter.md.
double defaultTolerance(const ElementType &type);

/// Inputs, tolerances and number of steps of a comparison.
struct VerifyOptions {
  InputOptions inputs;
  /// Data in place of those of `inputs`, one for each argument or null; or
  /// none.
  RankTensors given;
  /// Exactly what is allowed for floats; by default see `defaultTolerance`.
  std::optional<double> tolerance;
  /// What is allowed at least: of a program that computes in a narrower type
  /// than that of its outputs.
  double leastTolerance = 0;
  /// How often both run, one after the other.
  int64_t steps = 1;
};

/// How one output compares.
struct OutputComparison {
  std::string name;
  mlir::Type type;
  double difference = 0;
  double tolerance = 0;
  bool ok() const { return difference <= tolerance; }
};

/// The result of a comparison: each output's largest difference and its bound.
struct VerifyReport {
  std::vector<OutputComparison> outputs;
  /// Of the partitioned function.
  Statistics statistics;
  RankTensors inputs, expected;
  /// What a reader should know of the data, a line each.
  std::vector<std::string> notes;

  /// Takes over what is worse in a report of the same functions on other data:
  /// the difference that is nearer to its bound, or further beyond it.
  void keepWorse(const VerifyReport &other);

  /// True if each output is within its tolerance.
  bool ok() const {
    return llvm::all_of(outputs, [](auto &output) { return output.ok(); });
  }
};

/// Compares `original`, which is global, with `compiled`. Failure, with an
/// error: one of them cannot be interpreted, or they do not match in the number
/// and shapes of arguments and results.
mlir::FailureOr<VerifyReport> verify(mlir::func::FuncOp original,
                                     mlir::func::FuncOp compiled,
                                     const VerifyOptions &options);

/// Prints an aligned table of the outputs and one of the collectives.
void printReport(const VerifyReport &report, llvm::raw_ostream &os);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_VERIFY_H
