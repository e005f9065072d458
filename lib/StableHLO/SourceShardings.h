//===- SourceShardings.h - Meshes and shardings of a source -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads shardings of `sdy`, in MLIR's generic form, as attributes of dist: both
// have the same syntax. Also reads `mhlo.sharding`, in XLA's own text.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STABLEHLO_SOURCESHARDINGS_H
#define TESSERA_LIB_STABLEHLO_SOURCESHARDINGS_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/BuiltinOps.h"

namespace tessera::stablehlo {

/// Names of attributes.
inline constexpr llvm::StringLiteral kSdySharding = "sdy.sharding";
inline constexpr llvm::StringLiteral kTiles = "mhlo.sharding";

/// The mesh of a program; without one the program is for one device.
struct SourceMesh {
  mlir::StringAttr name;
  dist::MeshAttr mesh;

  int64_t numDevices() const { return mesh ? mesh.toMesh().numDevices() : 1; }
};

/// Reads the module's mesh, or makes one from the tiles of `mhlo.sharding`.
/// Fails if there are two meshes, devices have a custom order, tiles do not
/// nest, or the module has another number of devices.
mlir::FailureOr<SourceMesh> readMesh(mlir::ModuleOp module);

/// Reads an attribute `#sdy.sharding<...>`, or a text of `mhlo.sharding`, for a
/// value of `rank` dimensions. Fails with an error at `op`, which calls it
/// `what`, if it is invalid or has another mesh.
mlir::FailureOr<dist::ShardingAttr>
readSharding(mlir::Operation *op, mlir::Attribute attr, const SourceMesh &mesh,
             int64_t rank, const llvm::Twine &what);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_SOURCESHARDINGS_H
