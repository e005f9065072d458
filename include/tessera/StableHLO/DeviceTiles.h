//===- DeviceTiles.h - Tiles of device numbers ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// XLA's own shardings map devices to tiles of a tensor. Along a dimension the
// device numbers increase in strides; all strides of a program together are the
// axes of one mesh.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_STABLEHLO_DEVICETILES_H
#define TESSERA_STABLEHLO_DEVICETILES_H

#include "tessera/Interfaces/Axes.h"

namespace tessera::stablehlo {

/// A sharding by tiles.
struct DeviceTiles {
  /// For each dimension, the sizes and strides of the device numbers along it,
  /// major to minor. Without dimensions the tensor is replicated.
  llvm::SmallVector<llvm::SmallVector<AxisStride>> dims;
  /// The number of devices; 0 if the text does not give it.
  int64_t devices = 0;
};

/// Parses `{replicated}`, `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`,
/// `{devices=[2,2]<=[2,2]T(1,0)}` or `{devices=[2,2]0,2,1,3}`. None for other
/// texts (one device, tuples, manual parts), or if device numbers do not
/// increase in strides.
std::optional<DeviceTiles> parseTiles(llvm::StringRef text);

/// The mesh "d0", "d1", ... whose axes have all strides of the shardings as
/// boundaries. None if they do not nest, as for 2 x 3 and 3 x 2 devices.
std::optional<Mesh> refineTiles(llvm::ArrayRef<DeviceTiles> shardings,
                                int64_t devices);

/// The axes of `mesh`, a result of refineTiles(), for these strides.
AxisList findAxes(llvm::ArrayRef<AxisStride> strides, const Mesh &mesh);

} // namespace tessera::stablehlo

#endif // TESSERA_STABLEHLO_DEVICETILES_H
