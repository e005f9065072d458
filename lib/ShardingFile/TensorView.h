//===- TensorView.h - Axes of views of a file's tensor ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension of a file's tensor is several dimensions of a parameter, or a
// part of it is:
//
//     file [64 = 4 x 16, 48]      parameter [48, 4, 16], strides [1, 768, 48]
//     axes [["tp"], []]     <-->  axes [[], ["tp"], []]
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGFILE_TENSORVIEW_H
#define TESSERA_SHARDINGFILE_TENSORVIEW_H

#include "tessera/ShardingFile/ShardingFile.h"

namespace tessera {

/// The axes of the dimensions of a tensor of this shape that a view covers
/// whole or in part. None if its shards are no blocks of the tensor, or if an
/// axis shards a dimension that the view does not cover.
std::optional<DimAxes> getTensorAxes(const ShardedView &view,
                                     llvm::ArrayRef<int64_t> shape);

/// Sets the axes of a view from those of the tensor's dimensions. Fails, with
/// the dimension, where the axes are not those of whole dimensions of the view.
llvm::Error setViewAxes(ShardedView &view, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<AxisList> axes, const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_SHARDINGFILE_TENSORVIEW_H
