//===- NNCost.h - Costs of the ops of a transformer -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_NNCOST_H
#define TESSERA_DIALECTS_NN_NNCOST_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace tessera::nn {

/// Attaches CostOpInterface to the ops of the dialect, which must be
/// registered.
void attachCostModels(mlir::MLIRContext *context);

} // namespace tessera::nn

#endif // TESSERA_DIALECTS_NN_NNCOST_H
