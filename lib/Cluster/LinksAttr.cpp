//===- LinksAttr.cpp - Links and devices of a mesh in the IR --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/LinksAttr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tessera;

/// Numbers the levels by descending bandwidth: faster links are further inside.
static void setLevels(MeshLinks &links) {
  SmallVector<std::pair<double, double>> rates;
  for (LinkSpans &axis : links.axes)
    for (LinkSpan &span : axis)
      rates.push_back({-span.bandwidth, span.latency});
  llvm::sort(rates);
  rates.erase(llvm::unique(rates), rates.end());
  for (LinkSpans &axis : links.axes)
    for (LinkSpan &span : axis)
      span.level = llvm::find(rates, std::pair<double, double>(-span.bandwidth,
                                                               span.latency)) -
                   rates.begin();
}

MeshLinks tessera::getMeshLinks(dist::MeshOp mesh) {
  auto attr = mesh->getAttrOfType<ArrayAttr>(dist::DistDialect::kLinksAttr);
  if (!attr)
    return MeshLinks::uniform(mesh.getMesh().toMesh());
  MeshLinks links;
  for (Attribute element : attr) {
    if (auto library = dyn_cast<DenseF64ArrayAttr>(element)) {
      links.library = {library[0], library[1], library[2], library[3]};
      continue;
    }
    auto axis = cast<ArrayAttr>(element);
    links.axes.emplace_back();
    for (auto entry : axis.getAsRange<DenseF64ArrayAttr>()) {
      ArrayRef<double> span = entry.asArrayRef();
      if (span[0] > 1)
        links.axes.back().push_back({static_cast<int64_t>(span[0]), span[1],
                                     span[2], 0,
                                     span.size() > 3 ? span[3] : 1});
    }
  }
  setLevels(links);
  return links;
}

void tessera::setMeshLinks(dist::MeshOp mesh, const MeshLinks &links) {
  Builder b(mesh->getContext());
  SmallVector<Attribute> axes;
  for (const LinkSpans &spans : links.axes) {
    SmallVector<Attribute> entries;
    for (const LinkSpan &span : spans) {
      SmallVector<double> numbers{double(span.size), span.latency,
                                  span.bandwidth};
      if (span.parallel != 1)
        numbers.push_back(span.parallel);
      entries.push_back(b.getDenseF64ArrayAttr(numbers));
    }
    axes.push_back(b.getArrayAttr(entries));
  }
  const CollectiveConstants &library = links.library;
  if (!(library == CollectiveConstants()))
    axes.push_back(
        b.getDenseF64ArrayAttr({library.baseLow, library.baseBulk,
                                library.bulkStep, library.lowShare}));
  mesh->setAttr(dist::DistDialect::kLinksAttr, b.getArrayAttr(axes));
}

std::optional<WorkRates> tessera::findWorkRates(Operation *op) {
  auto module =
      isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto attr = module ? module->getAttrOfType<DenseF64ArrayAttr>(
                           dist::DistDialect::kDeviceAttr)
                     : DenseF64ArrayAttr();
  if (!attr)
    return std::nullopt;
  ArrayRef<double> numbers = attr.asArrayRef();
  WorkRates rates{numbers[0], numbers[1] / numbers[0], numbers[2] / numbers[0],
                  numbers[3]};
  if (numbers.size() > 4) {
    rates.matmulBytes = numbers[4];
    rates.functionSeconds = numbers[5];
    rates.transferShare = numbers[6];
  }
  return rates;
}

WorkRates tessera::getWorkRates(Operation *op) {
  return findWorkRates(op).value_or(kGpuRates);
}

void tessera::setWorkRates(ModuleOp module, const WorkRates &rates) {
  SmallVector<double> numbers{
      rates.bytesPerSecond, rates.matmulFlops * rates.bytesPerSecond,
      rates.otherFlops * rates.bytesPerSecond, rates.kernelFloor};
  WorkRates plain = rates;
  plain.matmulBytes = 1;
  plain.functionSeconds = plain.transferShare = 0;
  if (!(rates == plain))
    numbers.append(
        {rates.matmulBytes, rates.functionSeconds, rates.transferShare});
  module->setAttr(dist::DistDialect::kDeviceAttr,
                  Builder(module->getContext()).getDenseF64ArrayAttr(numbers));
}
