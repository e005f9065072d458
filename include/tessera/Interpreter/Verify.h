//===- Verify.h - Compares a program before and after -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets a global function on one rank and the compiled function on all
// ranks of its mesh, on the same data, and compares every output.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_VERIFY_H
#define TESSERA_INTERPRETER_VERIFY_H

#include "tessera/Interfaces/Axes.h"
#include "tessera/Interpreter/InputData.h"
#include "tessera/Interpreter/Interpreter.h"
#include "tessera/Interpreter/Shards.h"

namespace tessera::interp {

/// The mesh of a function's module; one device if it has none. Fails, with an
/// error, if it has several.
mlir::FailureOr<Mesh> getMeshOf(mlir::func::FuncOp function);

/// Runs a function on global arguments and returns its global results. A
/// function with `dist.local` runs on all devices of the mesh: arguments are
/// sharded and results assembled by their `dist.sharding` and
/// `dist.global_shape`; values without these are copied to all. Any other
/// function runs on one rank. With several steps it runs that many times, and
/// each donated argument (`dist.donate`) gets the result that replaces it, on
/// each rank; the last step gives the results. For a function with
/// `dist.pp_rank` all functions of its program run; a result that several pp
/// ranks have must be the same on all. Fails, with an error, where `interpret`,
/// `readPipelineProgram` and `assembleTensor` fail.
mlir::FailureOr<RankTensors> interpretGlobal(mlir::func::FuncOp function,
                                             llvm::ArrayRef<TensorRef> inputs,
                                             Statistics *statistics = nullptr,
                                             int64_t steps = 1);

/// A result of a function on the devices of its mesh.
struct DeviceResult {
  /// Its number in the reference.
  unsigned number;
  DeviceBlocks value;
  /// The stored order of its dimensions (`nn.order`), or null.
  mlir::Attribute order;
  /// The pp rank that has it, for the functions of a pipeline.
  std::optional<int64_t> stage;
};

/// Runs a function as interpretGlobal() does, and returns its results as the
/// devices have them. Of a pipeline, several pp ranks may have one result.
mlir::FailureOr<std::vector<DeviceResult>>
interpretOnDevices(mlir::func::FuncOp function,
                   llvm::ArrayRef<TensorRef> inputs,
                   Statistics *statistics = nullptr, int64_t steps = 1);

/// Largest difference of two tensors of one shape, relative to the largest
/// finite element of `expected`; absolute if that is 0 and for integers. NaN
/// equals NaN and an infinity equals itself; any other pair with one of them
/// has an infinite difference.
double relativeDifference(const Tensor &actual, const Tensor &expected);

/// The difference allowed for any program: 0 for integers, 1e-12 for f64, 1e-5
/// for f32. For narrower floats 2^(1-p) with their p bits of precision, which
/// is what the last rounding of either program may make of one number: 7.8e-3
/// for bf16. `verify` allows more where the roundings of the original do: see
/// docs/interpreter.md.
double defaultTolerance(const ElementType &type);

/// Inputs, tolerances and number of steps of a comparison.
struct VerifyOptions {
  InputOptions inputs;
  /// Data that replaces the drawn inputs: one entry per argument, or null; or
  /// empty.
  RankTensors given;
  /// The exact tolerance for floats; by default see `defaultTolerance`.
  std::optional<double> tolerance;
  /// The least tolerance, for a program that computes in a narrower type than
  /// its outputs have.
  double leastTolerance = 0;
  /// Number of steps that both run, one after the other.
  int64_t steps = 1;
};

/// An element of a result that differs on a device.
struct Deviation {
  /// The index in the global result.
  llvm::SmallVector<int64_t> index;
  int64_t device = 0;
  std::optional<int64_t> stage;
  Cell actual, expected;
};

/// The comparison of one output, on all devices that have it.
struct OutputComparison {
  std::string name;
  mlir::Type type;
  double difference = 0;
  double tolerance = 0;
  /// The element with the largest difference; none if there is no difference.
  std::optional<Deviation> worst;
  /// Devices that must hold the same numbers, and do not: "devices 0 and 2".
  std::string conflict;
  bool ok() const { return difference <= tolerance && conflict.empty(); }
};

/// The result of a comparison: each output's largest difference and its bound.
struct VerifyReport {
  std::vector<OutputComparison> outputs;
  /// Statistics of the partitioned function.
  Statistics statistics;
  RankTensors inputs, expected;
  /// Remarks on the data for the reader, one line each.
  std::vector<std::string> notes;

  /// Takes each output's comparison from a report of the same functions on
  /// other data if it is worse: nearer to its bound, or further beyond it.
  void keepWorse(const VerifyReport &other);

  /// True if each output is within its tolerance.
  bool ok() const {
    return llvm::all_of(outputs, [](auto &output) { return output.ok(); });
  }
};

/// Compares `original`, which is global, with `compiled`. Fails, with an error,
/// if one of them cannot be interpreted, or if they differ in the number and
/// shapes of arguments and results.
mlir::FailureOr<VerifyReport> verify(mlir::func::FuncOp original,
                                     mlir::func::FuncOp compiled,
                                     const VerifyOptions &options);

/// The text of a difference or a bound: "2.5e-07", "0".
std::string printDifference(double difference);

/// Prints an aligned table of the outputs and one of the collectives.
void printReport(const VerifyReport &report, llvm::raw_ostream &os);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_VERIFY_H
