//===- UpstreamModels.h - Rules of upstream ops -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERFACES_UPSTREAMMODELS_H
#define TESSERA_LIB_INTERFACES_UPSTREAMMODELS_H

#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include <optional>

namespace tessera {

/// The reduction that `op` is the combiner of: a maximum or minimum as partial
/// values know it, of signed integers and of booleans as 0 and 1, and NaN where
/// an operand is. None for any other op.
std::optional<ReductionKind> getExtremum(mlir::Operation *op);

/// Attaches one model to all of these ops. The model is compiled once: it
/// derives from the interface's ExternalModel for any op, and overrides each
/// method whose default asks for that op.
template <typename Model, typename... Ops>
void attachToAll(mlir::MLIRContext *context) {
  for (llvm::StringRef name : {Ops::getOperationName()...})
    mlir::RegisteredOperationName::lookup(name, context)
        ->attachInterface<Model>();
}

/// arith and math.
void registerElementwiseModels(mlir::DialectRegistry &registry);
/// tensor: ops that change shapes.
void registerTensorModels(mlir::DialectRegistry &registry);
/// linalg: every structured op.
void registerLinalgModels(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_LIB_INTERFACES_UPSTREAMMODELS_H
