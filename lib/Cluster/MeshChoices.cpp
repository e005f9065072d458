//===- MeshChoices.cpp - Meshes of a number of devices --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/MeshChoices.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;

std::vector<Mesh> tessera::listMeshes(const ClusterSpec &cluster,
                                      int64_t devices) {
  auto straddles = [&](int64_t inner) {
    return llvm::any_of(cluster.levels, [&](const LevelSpec &level) {
      return level.devices < devices && inner % level.devices != 0 &&
             level.devices % inner != 0;
    });
  };
  std::vector<Mesh> meshes(1);
  meshes.front().names = {"dp"};
  meshes.front().sizes = {devices};
  for (int64_t inner = 2; inner <= devices / 2; ++inner)
    if (devices % inner == 0 && !straddles(inner)) {
      Mesh &mesh = meshes.emplace_back();
      mesh.names = {"dp", "tp"};
      mesh.sizes = {devices / inner, inner};
    }
  return meshes;
}
