//===- Sample.h - One op in a function of its own ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sample is a small instance of an op with the interpreter's semantics. It
// uses no partitioner: an op's claims about itself are checked by evaluating
// the op on other data and on other shapes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_CLAIMS_SAMPLE_H
#define TESSERA_TEST_UNIT_CLAIMS_SAMPLE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Interpreter/Interpreter.h"
#include <optional>

namespace tessera::claims {

/// A function @f that returns the results of one op. The op's operands are the
/// function's arguments, in order, or are computed from constants before it.
class Sample {
public:
  /// Parses a function; none if it is not valid IR. Prints nothing.
  static std::optional<Sample> parse(mlir::MLIRContext &context,
                                     llvm::StringRef text);

  /// Changes to the op in a copy of a sample.
  struct Change {
    /// The types of its operands and results.
    llvm::SmallVector<mlir::Type> operands, results;
    /// Called with the op before its shapes change; may change its body.
    llvm::function_ref<void(ShardingRuleOpInterface)> before = nullptr;
    /// Called with the op of the new shapes, and with a builder before it.
    llvm::function_ref<void(ShardingRuleOpInterface, mlir::OpBuilder &)> after =
        nullptr;
  };
  /// The same op, by its own `cloneWithShapes`; none if it cannot have these
  /// shapes or is not valid with them.
  std::optional<Sample> change(const Change &how) const;

  /// The op decomposed by `factors`; none if it cannot be.
  std::optional<Sample> decompose(const llvm::SmallBitVector &factors) const;

  /// The results on one device; none after an error of the interpreter (a
  /// division by zero, an id outside a table).
  std::optional<interp::RankTensors>
  evaluate(llvm::ArrayRef<interp::TensorRef> arguments) const;

  mlir::func::FuncOp getFunction() const;
  /// The op; in a decomposed sample, the op of the first result.
  ShardingRuleOpInterface getOp() const;
  /// True if operand `i` is an argument of the function.
  bool isArgument(unsigned i) const;
  /// The function's arguments among the operands, by operand; null elsewhere.
  llvm::SmallVector<mlir::BlockArgument> getArguments() const;
  /// The op as text, in one line.
  std::string describe() const;

private:
  explicit Sample(mlir::OwningOpRef<mlir::ModuleOp> module)
      : module(std::move(module)) {}

  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace tessera::claims

#endif // TESSERA_TEST_UNIT_CLAIMS_SAMPLE_H
