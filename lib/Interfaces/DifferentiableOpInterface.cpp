//===- DifferentiableOpInterface.cpp - The gradients of an op -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "UpstreamGradients.h"

#include "tessera/Interfaces/DifferentiableOpInterface.cpp.inc"

void tessera::registerUpstreamGradients(mlir::DialectRegistry &registry) {
  registerArithGradients(registry);
  registerTensorGradients(registry);
}
