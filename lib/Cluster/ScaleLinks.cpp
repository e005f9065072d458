//===- ScaleLinks.cpp - Clusters with other links -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/ScaleLinks.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tessera;

Error tessera::scaleLevels(ClusterSpec &cluster, StringRef factors) {
  SmallVector<StringRef, 4> parts;
  factors.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, text] = part.split('=');
    double factor = 0;
    if (text.getAsDouble(factor) || !(factor > 0) || factor > 1e6)
      return createStringError("expects levels and factors above 0, as "
                               "infiniband=0.5, but got '" +
                               part + "'");
    auto level = find_if(cluster.levels, [name = name](const LevelSpec &spec) {
      return spec.name == name;
    });
    if (level == cluster.levels.end()) {
      std::string names;
      for (const LevelSpec &spec : cluster.levels)
        names += (names.empty() ? "" : ", ") + spec.name;
      return createStringError("expects a level of the cluster, one of " +
                               names + ", but got '" + name + "'");
    }
    level->bandwidth.value *= factor;
    level->bandwidth.source += ", scaled";
  }
  cluster.name += " with " + factors.str();
  return Error::success();
}
