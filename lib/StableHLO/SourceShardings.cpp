//===- SourceShardings.cpp - Meshes and shardings of a source -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceShardings.h"

#include "SourceAttributes.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// The attribute of dist that is written as `#sdy.`'s is; null without one.
template <typename Attr> static Attr parseAs(Attribute attr) {
  StringRef text = getText(attr);
  if (text.empty())
    return Attr();
  ScopedDiagnosticHandler silence(attr.getContext(), [](Diagnostic &) {});
  return dyn_cast_or_null<Attr>(
      parseAttribute(("#dist." + text).str(), attr.getContext()));
}

/// Fails unless the module is for one replica of the mesh's devices.
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
  if (failed(checkCounts(module, found)))
    return failure();
  return found;
}

FailureOr<dist::ShardingAttr>
tessera::stablehlo::readSharding(Operation *op, Attribute attr,
                                 const SourceMesh &mesh, const Twine &what) {
  auto sharding = parseAs<dist::ShardingAttr>(attr);
  if (!sharding || !mesh.mesh ||
      sharding.getMesh().getAttr() != mesh.name.getValue())
    return op->emitError("expects a sharding over the program's mesh as ")
           << what << " but got " << attr;
  return sharding;
}
