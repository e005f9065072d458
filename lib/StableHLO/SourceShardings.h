//===- SourceShardings.h - Meshes and shardings of a source -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `sdy` says of the devices, in MLIR's generic form, as attributes of
// dist: both write a sharding alike. And what `mhlo.sharding` says, in XLA's
// own text.
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

/// Reads the module's mesh, or makes one of the tiles of `mhlo.sharding`. An
/// error where there are two, where devices are in an order of their own, where
/// tiles do not nest, or where the module says another number of devices.
mlir::FailureOr<SourceMesh> readMesh(mlir::ModuleOp module);

/// The sharding of an attribute `#sdy.sharding<...>`, or of a text of
/// `mhlo.sharding`, of a value of `rank` dimensions; an error at `op`, which
/// calls it `what`, where it is none or of another mesh.
mlir::FailureOr<dist::ShardingAttr>
readSharding(mlir::Operation *op, mlir::Attribute attr, const SourceMesh &mesh,
             int64_t rank, const llvm::Twine &what);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_SOURCESHARDINGS_H
