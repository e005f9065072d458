//===- RTCost.h - Costs of library calls ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RTCOST_H
#define TESSERA_DIALECTS_RT_RTCOST_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace tessera::rt {

/// Attaches CostOpInterface to the ops on tensors, which must be registered. A
/// call of a kernel passes over its operands and results once, like ops without
/// the interface.
void attachCostModels(mlir::MLIRContext *context);

} // namespace tessera::rt

#endif // TESSERA_DIALECTS_RT_RTCOST_H
