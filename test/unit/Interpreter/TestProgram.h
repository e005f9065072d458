//===- TestProgram.h - Runs a program given as text -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_INTERPRETER_TESTPROGRAM_H
#define TESSERA_TEST_UNIT_INTERPRETER_TESTPROGRAM_H

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Interpreter/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>

namespace tessera::interp {

/// A module with a function @f, given as text.
class TestProgram {
public:
  explicit TestProgram(llvm::StringRef text)
      : context(makeRegistry()),
        diagnostics(&context, [this](mlir::Diagnostic &d) {
          if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
            error += d.str();
        }) {
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  mlir::func::FuncOp getFunction() {
    return module->lookupSymbol<mlir::func::FuncOp>("f");
  }

  /// A tensor of argument `i`'s type with these elements; a single element
  /// fills it.
  TensorRef argument(unsigned i, std::vector<double> elements) {
    Tensor tensor(getFunction().getArgumentTypes()[i]);
    for (int64_t k = 0, n = tensor.getNumElements(); k < n; ++k) {
      double x = elements[elements.size() == 1 ? 0 : k];
      tensor[k] = tensor.getElementType().isFloat()
                      ? floatCell(x)
                      : intCell(static_cast<int64_t>(x));
    }
    return std::make_shared<Tensor>(std::move(tensor));
  }

  /// Runs @f; `arguments[r][i]` are the elements of rank r's argument i.
  mlir::FailureOr<std::vector<RankTensors>>
  run(std::vector<std::vector<std::vector<double>>> arguments,
      Statistics *statistics = nullptr) {
    EXPECT_TRUE(module) << error;
    if (!module)
      return mlir::failure();
    std::vector<RankTensors> ranks;
    for (auto &rank : arguments) {
      RankTensors tensors;
      for (size_t i = 0; i < rank.size(); ++i)
        tensors.push_back(argument(i, rank[i]));
      ranks.push_back(tensors);
    }
    return interpret(getFunction(), ranks, statistics);
  }

  /// Result 0 of @f on one rank; empty, with a test failure, after an error.
  std::vector<double> runOne(std::vector<std::vector<double>> arguments = {}) {
    auto results = run({std::move(arguments)});
    EXPECT_TRUE(succeeded(results)) << error;
    return succeeded(results) ? elements(*(*results)[0][0])
                              : std::vector<double>();
  }

  /// Result 0 of each rank.
  std::vector<std::vector<double>>
  runAll(std::vector<std::vector<std::vector<double>>> arguments,
         Statistics *statistics = nullptr) {
    auto results = run(std::move(arguments), statistics);
    EXPECT_TRUE(succeeded(results)) << error;
    std::vector<std::vector<double>> all;
    if (succeeded(results))
      for (const RankTensors &rank : *results)
        all.push_back(elements(*rank[0]));
    return all;
  }

  static std::vector<double> elements(const Tensor &tensor) {
    std::vector<double> result;
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      result.push_back(tensor.getElementType().isFloat()
                           ? tensor[i].f
                           : static_cast<double>(tensor[i].i));
    return result;
  }

  /// The errors so far.
  std::string error;

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registry.insert<dist::DistDialect, nn::NNDialect, mlir::func::FuncDialect,
                    mlir::scf::SCFDialect>();
    return registry;
  }

  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A function with one op: `%0 = op : ...` on arguments %a0, %a1, ... of
/// `types`.
inline std::string oneOp(llvm::StringRef op, std::vector<std::string> types,
                         llvm::StringRef result) {
  std::string text = "func.func @f(";
  for (size_t i = 0; i < types.size(); ++i)
    text += (i ? ", %a" : "%a") + std::to_string(i) + ": " + types[i];
  return text + ") -> " + result.str() + " {\n  %0 = " + op.str() +
         "\n  return %0 : " + result.str() + "\n}\n";
}

inline void expectNear(const std::vector<double> &actual,
                       const std::vector<double> &expected,
                       double bound = 1e-6) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << "element " << i;
    else
      EXPECT_NEAR(actual[i], expected[i], bound) << "element " << i;
}

} // namespace tessera::interp

#endif // TESSERA_TEST_UNIT_INTERPRETER_TESTPROGRAM_H
