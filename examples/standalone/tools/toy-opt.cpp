//===- toy-opt.cpp - An optimizer that partitions its own dialect ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Toy.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tessera/Partitioner/Partitioner.h"
#include "llvm/Support/CommandLine.h"

static llvm::cl::opt<toy::Fault, /*ExternalStorage=*/true> faultOption(
    "toy-fault", llvm::cl::location(toy::fault),
    llvm::cl::desc("A fault in the rules of toy ops"),
    llvm::cl::values(clEnumValN(toy::Fault::None, "none", "no fault"),
                     clEnumValN(toy::Fault::Parallel, "parallel",
                                "the last dimension of l2norm is parallel"),
                     clEnumValN(toy::Fault::LocalSize, "local-size",
                                "row_mean divides by a device's elements"),
                     clEnumValN(toy::Fault::Max, "max",
                                "the sum in row_sum is a maximum")));

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tessera::registerPartitionerDialects(registry);
  registry.insert<toy::ToyDialect>();
  tessera::registerPartitionerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Toy optimizer\n", registry));
}
