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

/// Returns the reduction with the combiner `op`: a maximum or minimum as used
/// for partial values, of signed integers, and of booleans as 0 and 1, with NaN
/// if an operand is NaN. Returns none for any other op.
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

/// Base of a sharding model that is attached to several ops and derived for
/// `Op`, one of them. It has the method whose default asks for that op.
template <typename Model, typename Op>
struct SharedShardingModel : ShardingRuleOpInterface::ExternalModel<Model, Op> {
  mlir::FailureOr<mlir::Operation *>
  cloneWithShapes(mlir::Operation *op, mlir::OpBuilder &builder,
                  mlir::ValueRange operands,
                  mlir::TypeRange resultTypes) const {
    return cloneWithTypes(builder, op, operands, resultTypes);
  }
};

/// Registers arith and math.
void registerElementwiseModels(mlir::DialectRegistry &registry);
/// Registers tensor: ops that change shapes.
void registerTensorModels(mlir::DialectRegistry &registry);
/// Registers linalg: every structured op.
void registerLinalgModels(mlir::DialectRegistry &registry);
/// Marks the dialects of these models and those of functions and loops.
void registerModelledDialects(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_LIB_INTERFACES_UPSTREAMMODELS_H
