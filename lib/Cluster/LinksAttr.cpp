//===- LinksAttr.cpp - The links of a mesh in the IR ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/LinksAttr.h"

using namespace mlir;
using namespace tessera;

/// Numbers the levels: those of higher bandwidth are further inside.
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
        links.axes.back().push_back(
            {static_cast<int64_t>(span[0]), span[1], span[2], 0});
    }
  }
  setLevels(links);
  return links;
}
