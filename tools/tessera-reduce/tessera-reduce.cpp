//===- tessera-reduce.cpp - Reduces programs that show a fault ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's reducer with Tessera's dialects, passes, and a pass that makes any of
// their programs smaller (ReduceProgram.h). share/reduce/verify-fails is a test
// that keeps what `tessera verify` fails at.
//
//===----------------------------------------------------------------------===//

#include "ReduceProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Registration/Registration.h"

using namespace mlir;

int main(int argc, char **argv) {
  DialectRegistry registry;
  tessera::registerDialects(registry);
  tessera::registerPasses();
  registerTransformsPasses();
  tessera::registerReduceProgramPass();
  MLIRContext context(registry);
  context.allowUnregisteredDialects();
  context.loadDialect<arith::ArithDialect>();
  return failed(mlirReduceMain(argc, argv, context));
}
