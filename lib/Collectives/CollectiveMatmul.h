//===- CollectiveMatmul.h - Matmuls in chunks around a ring -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_COLLECTIVEMATMUL_H
#define TESSERA_LIB_COLLECTIVES_COLLECTIVEMATMUL_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/IRMapping.h"

namespace tessera {

/// Returns the type with dimension `dim` divided by `count`.
mlir::RankedTensorType getChunkType(mlir::RankedTensorType type, int64_t dim,
                                    int64_t count);

/// Clones the op with other operands and a result of another type. `mapping`
/// has its operands.
mlir::Value cloneChunk(mlir::OpBuilder &builder, mlir::Operation *op,
                       mlir::IRMapping &mapping, mlir::RankedTensorType type);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_COLLECTIVEMATMUL_H
