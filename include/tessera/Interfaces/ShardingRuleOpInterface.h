//===- ShardingRuleOpInterface.h - Sharding rules of ops --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_SHARDINGRULEOPINTERFACE_H
#define TESSERA_INTERFACES_SHARDINGRULEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"
#include "tessera/Interfaces/ShardingRule.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {

/// Clones `op` (its regions included) with new operands and result types.
mlir::Operation *cloneWithTypes(mlir::OpBuilder &builder, mlir::Operation *op,
                                mlir::ValueRange operands,
                                mlir::TypeRange resultTypes);

/// The rule of an elementwise op: ties every ranked-tensor operand of the
/// result's rank to the result, dimension by dimension; scalars and rank-0
/// tensors are not tied.
ShardingRule getElementwiseRule(mlir::Operation *op);

/// The rule of any op: its own, or, without the interface, one that replicates
/// every dimension (and sets `hasRule` to false).
ShardingRule getShardingRule(mlir::Operation *op, bool *hasRule = nullptr);

/// The neutral element of a reduction, of type `element`: 0, or the least or
/// the greatest value (an infinity for floats).
mlir::TypedAttr getNeutralElement(mlir::Type element, ReductionKind kind);

/// Attaches the interface to the upstream ops that have a rule: elementwise
/// arith and math, arith.constant, tensor.{empty, splat, expand_shape,
/// collapse_shape, extract_slice, insert_slice, concat, cast}, and every linalg
/// op.
void registerUpstreamShardingRules(mlir::DialectRegistry &registry);

} // namespace tessera

#include "tessera/Interfaces/ShardingRuleOpInterface.h.inc"

#endif // TESSERA_INTERFACES_SHARDINGRULEOPINTERFACE_H
