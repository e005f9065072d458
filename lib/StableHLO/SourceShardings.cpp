//===- SourceShardings.cpp - Meshes and shardings of a source -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceShardings.h"

#include "SourceAttributes.h"
#include "tessera/StableHLO/DeviceTiles.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// Parses an `#sdy.` attribute as the dist attribute of the same syntax; null
/// if it is none.
template <typename Attr> static Attr parseAs(Attribute attr) {
  StringRef text = getText(attr);
  if (text.empty())
    return Attr();
  ScopedDiagnosticHandler silence(attr.getContext(), [](Diagnostic &) {});
  return dyn_cast_or_null<Attr>(
      parseAttribute(("#dist." + text).str(), attr.getContext()));
}

/// Fails unless the module has one replica on the mesh's devices.
static LogicalResult checkCounts(ModuleOp module, const SourceMesh &mesh) {
  auto find = [&](StringRef name) {
    auto count = module->getAttrOfType<IntegerAttr>(name);
    return count && count.getValue().isIntN(63) ? count.getInt() : 1;
  };
  int64_t replicas = find("mhlo.num_replicas");
  int64_t partitions = find("mhlo.num_partitions");
  if (replicas != 1)
    return module.emitError("expects mhlo.num_replicas = 1 but got ")
           << replicas;
  if (partitions != 1 && partitions != mesh.numDevices())
    return module.emitError("expects a mesh of mhlo.num_partitions = ")
           << partitions << " devices but got "
           << (mesh.mesh ? std::to_string(mesh.numDevices()) + " devices"
                         : "no mesh");
  return success();
}

/// The `mhlo.sharding` texts of arguments, results and ops.
static SmallVector<std::pair<Operation *, StringAttr>>
findTiles(ModuleOp module) {
  SmallVector<std::pair<Operation *, StringAttr>> found;
  auto add = [&](Operation *op, Attribute attr) {
    if (auto text = dyn_cast_or_null<StringAttr>(attr))
      found.push_back({op, text});
  };
  module.walk([&](Operation *op) {
    add(op, op->getDiscardableAttr(kTiles));
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return;
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      add(op, function.getArgAttr(i, kTiles));
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      add(op, function.getResultAttr(i, kTiles));
  });
  return found;
}

/// The mesh of all tiles; none without tiles.
static FailureOr<SourceMesh> refineMesh(ModuleOp module) {
  SmallVector<DeviceTiles> shardings;
  auto count = module->getAttrOfType<IntegerAttr>("mhlo.num_partitions");
  int64_t devices = count && count.getValue().isIntN(32) ? count.getInt() : 1;
  auto found = findTiles(module);
  for (auto [op, text] : found) {
    auto tiles = parseTiles(text);
    if (!tiles)
      return op->emitError("expects tiles of devices in order as mhlo.sharding "
                           "but got ")
             << text;
    if (!tiles->devices)
      continue;
    if (devices == 1)
      devices = tiles->devices;
    if (tiles->devices != devices)
      return op->emitError("expects tiles of ")
             << devices << " devices as mhlo.sharding but got " << text;
    shardings.push_back(*tiles);
  }
  if (found.empty() || devices < 2)
    return SourceMesh();
  std::optional<Mesh> mesh = refineTiles(shardings, devices);
  if (!mesh)
    return module.emitError("expects tiles of mhlo.sharding that nest");
  return SourceMesh{StringAttr::get(module.getContext(), "mesh"),
                    dist::MeshAttr::get(module.getContext(), *mesh)};
}

FailureOr<SourceMesh> tessera::stablehlo::readMesh(ModuleOp module) {
  SourceMesh found;
  for (Operation &op : *module.getBody()) {
    if (op.getName().getStringRef() != "sdy.mesh")
      continue;
    Attribute attr = getSourceAttr(&op, "mesh");
    auto mesh = parseAs<dist::MeshAttr>(attr);
    auto name = dyn_cast_or_null<StringAttr>(getSourceAttr(&op, "sym_name"));
    if (!mesh || !name)
      return op.emitOpError(
                 "expects a mesh of named axes, whose devices are in "
                 "order, but got ")
             << (attr ? attr : Attribute(UnitAttr::get(op.getContext())));
    if (found.mesh)
      return op.emitOpError("expects one mesh but got ")
             << name << " beside " << found.name;
    found = {name, mesh};
  }
  if (!found.mesh) {
    FailureOr<SourceMesh> refined = refineMesh(module);
    if (failed(refined))
      return failure();
    found = *refined;
  } else if (auto tiles = findTiles(module); !tiles.empty()) {
    return tiles[0].first->emitError("expects one kind of shardings but got "
                                     "mhlo.sharding beside sdy.mesh");
  }
  if (failed(checkCounts(module, found)))
    return failure();
  return found;
}

/// The sharding of a text of tiles; none if its rank differs.
static dist::ShardingAttr readTiles(StringAttr text, const SourceMesh &mesh,
                                    int64_t rank) {
  std::optional<DeviceTiles> tiles = parseTiles(text);
  if (!tiles || (tiles->devices && int64_t(tiles->dims.size()) != rank))
    return {};
  Mesh plain = mesh.mesh.toMesh();
  Sharding sharding = Sharding::replicatedOf(rank);
  for (auto [i, strides] : llvm::enumerate(tiles->dims))
    sharding.dims[i].axes = mergeAdjacent(findAxes(strides, plain));
  return dist::ShardingAttr::get(FlatSymbolRefAttr::get(mesh.name), plain,
                                 sharding);
}

FailureOr<dist::ShardingAttr>
tessera::stablehlo::readSharding(Operation *op, Attribute attr,
                                 const SourceMesh &mesh, int64_t rank,
                                 const Twine &what) {
  auto text = dyn_cast_or_null<StringAttr>(attr);
  dist::ShardingAttr sharding;
  if (mesh.mesh)
    sharding =
        text ? readTiles(text, mesh, rank) : parseAs<dist::ShardingAttr>(attr);
  if (!sharding || sharding.getMesh().getAttr() != mesh.name.getValue())
    return op->emitError("expects a sharding over the program's mesh as ")
           << what << " but got " << attr;
  return sharding;
}
