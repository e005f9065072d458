//===- tessera-opt.cpp - Runs passes over IR ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tessera/Registration/Registration.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  tessera::registerDialects(registry);
  mlir::registerAllPasses();
  tessera::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv,
      "Tessera's optimizer: partitions tensor programs over a mesh\n",
      registry));
}
