//===- ApplyCluster.cpp - Links and device of a cluster file --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Cost/DeviceModel.h"
#include "tessera/Cost/HostCalibration.h"
#include "tessera/Support/Errors.h"
#include "tessera/Training/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_APPLYCLUSTERPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// True if matmuls are in 16 bits: the plan has such a precision, or some
/// argument is.
static bool isNarrow(ModuleOp module) {
  if (auto plan =
          module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
      plan && !plan.getPlan().forward)
    return plan.getPlan().precision != Precision::F32;
  return llvm::any_of(
      module.getOps<FunctionOpInterface>(), [](FunctionOpInterface func) {
        return llvm::any_of(func.getArgumentTypes(), [](Type type) {
          Type element = getElementTypeOrSelf(type);
          return isa<FloatType>(element) &&
                 element.getIntOrFloatBitWidth() < 32;
        });
      });
}

namespace {
struct ApplyClusterPass
    : tessera::impl::ApplyClusterPassBase<ApplyClusterPass> {
  using ApplyClusterPassBase::ApplyClusterPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto fail = [&](llvm::Error error) {
      module.emitError(llvm::toString(std::move(error)));
      signalPassFailure();
    };
    llvm::Expected<ClusterSpec> spec = readClusterSpec(cluster);
    if (!spec)
      return fail(spec.takeError());
    if (llvm::Error error = cost::checkConstants(spec->device))
      return fail(prefixError(cluster + ": ", std::move(error)));
    for (auto meshOp : module.getOps<dist::MeshOp>()) {
      Mesh mesh = meshOp.getMesh().toMesh();
      if (llvm::Error error = spec->checkSize(mesh.numDevices()))
        return fail(prefixError(cluster + ": ", std::move(error)));
      setMeshLinks(meshOp, makeMeshLinks(*spec, mesh));
    }
    setWorkRates(module, cost::makeWorkRates(spec->device, isNarrow(module)));
  }
};
} // namespace
