//===- Lowering.h - Parts of the lowering of experts ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_EXPERTS_LOWERING_H
#define TESSERA_LIB_EXPERTS_LOWERING_H

#include "dialects/NN/NN.h"
#include "tessera/Codegen/GenericBuilder.h"

namespace tessera {

/// The type of a tensor.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// True if both are the same position on each device; null is 0.
bool isSameOffset(mlir::Value a, mlir::Value b);

/// Builds the result of nn.top_k from reductions of rows.
mlir::Value lowerTopK(GenericBuilder &b, nn::TopKOp op);
/// Builds the call for nn.expert_capacity.
mlir::Value lowerExpertCapacity(GenericBuilder &b, nn::ExpertCapacityOp op);

/// Casts ids to a type that the library reads: i32 or i64.
mlir::Value castIds(GenericBuilder &b, mlir::Value ids);

/// The routing of tokens to the held experts, and how many of each it has.
struct Routing {
  /// [tokens..., choices], of a type that the library reads.
  mlir::Value ids;
  /// The id of the first held expert; null for 0.
  mlir::Value offset;
  /// The result of rt.route.
  mlir::Value routing;
  int64_t tokens, choices, experts, room;
};

/// Returns `tensor` with one dimension for all but its last `kept`.
mlir::Value mergeTokens(GenericBuilder &b, mlir::Value tensor, int64_t kept);
/// Returns the inverse of mergeTokens, of `type`.
mlir::Value splitTokens(GenericBuilder &b, mlir::Value tensor,
                        mlir::RankedTensorType type, int64_t kept);

/// Reads element `position` of a vector of integers, as an index.
mlir::Value readIndex(GenericBuilder &b, mlir::Value vector,
                      mlir::Value position);

/// Builds rows [room, width] of a tensor by token [tokens..., width].
mlir::Value gatherTokens(GenericBuilder &b, const Routing &r,
                         mlir::Value tokens);
/// Builds rows [room, width] of a tensor by expert.
mlir::Value packRows(GenericBuilder &b, const Routing &r, mlir::Value values);
/// Builds a tensor by expert, of `type`, from its rows.
mlir::Value unpackRows(GenericBuilder &b, const Routing &r, mlir::Value rows,
                       mlir::RankedTensorType type);

} // namespace tessera

#endif // TESSERA_LIB_EXPERTS_LOWERING_H
