//===- BoundarySlices.cpp - Boundaries sent in slices ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundarySlices.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Interfaces/CostOpInterface.h"

using namespace mlir;
using namespace tessera;

BoundarySlices::BoundarySlices(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  for (auto op : module.getOps<dist::MeshOp>())
    meshOp = op;
  if (!meshOp)
    return;
  mesh = meshOp.getMesh().toMesh();
  links = getMeshLinks(meshOp);
  differs.emplace(function, mesh);
}

std::optional<BoundarySlices::Slices> BoundarySlices::find(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!differs || !mesh.stageAxis || !type)
    return std::nullopt;
  Slices slices;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis) {
    bool isEqual = llvm::none_of(differs->get(value), [&](const AxisRef &ref) {
      return ref.axis == axis;
    });
    if (isEqual && axis != *mesh.stageAxis && mesh.sizes[axis] > 1) {
      slices.axes.push_back(mesh.fullAxis(axis));
      slices.count *= mesh.sizes[axis];
    }
  }
  // Takes the first divisible dimension: its slices are contiguous, or nearly
  // so.
  auto *dim = llvm::find_if(type.getShape(), [&](int64_t size) {
    return size > 0 && size % slices.count == 0;
  });
  if (slices.count == 1 || dim == type.getShape().end())
    return std::nullopt;
  slices.dim = dim - type.getShape().begin();
  double bytes = getTensorBytes(type);
  auto send = [&](double sent) {
    return getCollectiveTime(links, mesh, CollectiveKind::Permute, sent,
                             mesh.fullAxis(*mesh.stageAxis));
  };
  double slice = bytes / double(slices.count);
  double gather = getCollectiveTime(links, mesh, CollectiveKind::AllGather,
                                    slice, slices.axes);
  if (send(slice) + gather < send(bytes))
    return slices;
  return std::nullopt;
}

RankedTensorType BoundarySlices::getSlicedType(Value value) const {
  std::optional<Slices> slices = find(value);
  if (!slices)
    return {};
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[slices->dim] /= slices->count;
  return type.clone(shape);
}

Value BoundarySlices::slice(OpBuilder &builder, Value value, Value here) const {
  std::optional<Slices> slices = find(value);
  dist::ShardingAttr none;
  return dist::AllSliceOp::create(
      builder, value.getLoc(), getSlicedType(value), here, slices->dim,
      dist::AxesAttr::get(value.getContext(), mesh, slices->axes),
      meshOp.getSymName(), none, none);
}

Value BoundarySlices::gather(OpBuilder &builder, Value value,
                             Value received) const {
  std::optional<Slices> slices = find(value);
  dist::ShardingAttr none;
  return dist::AllGatherOp::create(
      builder, value.getLoc(), value.getType(), received, slices->dim,
      dist::AxesAttr::get(value.getContext(), mesh, slices->axes),
      meshOp.getSymName(), none, none);
}
