//===- ResizePadding.h - Changes the padding of a value ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op that cannot take padding gets the true elements of its operands, and
// zeros are appended to its results: plain slices and concatenations along
// dimensions that are whole on each device.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_RESIZEPADDING_H
#define TESSERA_LIB_PARTITION_RESIZEPADDING_H

#include "dialects/Dist/Dist.h"

namespace tessera {

/// Returns `sharding` without axes on the dimensions whose sizes differ; null
/// if it is null.
dist::ShardingAttr getResizedSharding(dist::ShardingAttr sharding,
                                      mlir::RankedTensorType from,
                                      mlir::RankedTensorType to,
                                      const Mesh &mesh);

/// Resizes `value`: keeps the first elements along each dimension that gets
/// shorter, and appends zeros along each that gets longer. `sharding` belongs
/// to the larger one of the two values; the smaller one is whole along
/// dimensions that differ.
mlir::Value resizePadding(mlir::OpBuilder &builder, mlir::Value value,
                          mlir::RankedTensorType type,
                          dist::ShardingAttr sharding, const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_RESIZEPADDING_H
