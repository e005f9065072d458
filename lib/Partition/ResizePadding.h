//===- ResizePadding.h - More or less padding of a value --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an op cannot take padding it gets the true elements of its operands,
// and zeros are put after those of its results: plain slices and
// concatenations along dimensions that are whole on each device.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_RESIZEPADDING_H
#define TESSERA_LIB_PARTITION_RESIZEPADDING_H

#include "dialects/Dist/Dist.h"

namespace tessera {

/// `sharding` without axes on the dimensions whose sizes differ; null if it is
/// null.
dist::ShardingAttr getResizedSharding(dist::ShardingAttr sharding,
                                      mlir::RankedTensorType from,
                                      mlir::RankedTensorType to,
                                      const Mesh &mesh);

/// `value` with other sizes: its first elements along each dimension that gets
/// shorter, zeros after its own along each that gets longer. `sharding` is
/// that of the larger one of the two; the smaller one is whole where they
/// differ.
mlir::Value resizePadding(mlir::OpBuilder &builder, mlir::Value value,
                          mlir::RankedTensorType type,
                          dist::ShardingAttr sharding, const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_RESIZEPADDING_H
