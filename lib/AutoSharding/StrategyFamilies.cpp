//===- StrategyFamilies.cpp - The named strategies of a mesh --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrategyFamilies.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tessera;

/// The role of an axis.
enum Role { kData, kTensor, kContext, kNumRoles };

/// Returns the strategy in which each of these axes has its role; none if two
/// axes would shard the sequence.
static std::optional<StrategyFamily> assignRoles(ArrayRef<std::string> axes,
                                                 ArrayRef<unsigned> roles) {
  AxisNames names[kNumRoles];
  StrategyFamily family;
  family.isNamed = true;
  for (auto [axis, role] : llvm::zip_equal(axes, roles)) {
    names[role].push_back(axis);
    const char *usual[] = {"dp", "tp", "cp"};
    family.isNamed &= axis == usual[role];
  }
  if (names[kContext].size() > 1)
    return std::nullopt;
  Strategy &strategy = family.plain;
  auto assign = [&](Role role, bool &isUsed, AxisNames &own) {
    isUsed = !names[role].empty();
    if (isUsed)
      own = std::move(names[role]);
  };
  assign(kData, strategy.dp, strategy.dpAxes);
  assign(kTensor, strategy.tp, strategy.tpAxes);
  assign(kContext, strategy.cp, strategy.cpAxes);
  return family;
}

/// Adds the family with and without `sp`.
static void addFamily(std::vector<StrategyFamily> &all, StrategyFamily family) {
  all.push_back(family);
  family.plain.sp = true;
  if (family.plain.tp)
    all.push_back(family);
}

std::vector<StrategyFamily>
tessera::listFamilies(const Mesh &mesh, bool sharesRoles, bool hasLatents) {
  AxisNames axes;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis)
    if (mesh.sizes[axis] > 1 && mesh.stageAxis != axis)
      axes.push_back(mesh.names[axis]);
  std::vector<StrategyFamily> all;
  if (axes.empty())
    return all;
  std::vector<unsigned> roles(axes.size(), kData);
  auto advance = [&] {
    for (unsigned &role : llvm::reverse(roles)) {
      if (++role < kNumRoles)
        return true;
      role = kData;
    }
    return false;
  };
  do {
    std::vector<unsigned> distinct = roles;
    llvm::sort(distinct);
    if (!sharesRoles &&
        std::unique(distinct.begin(), distinct.end()) != distinct.end())
      continue;
    if (std::optional<StrategyFamily> family = assignRoles(axes, roles)) {
      addFamily(all, *family);
      family->plain.context.kind = ContextMethod::Latent;
      if (family->plain.cp && hasLatents)
        addFamily(all, *family);
    }
  } while (advance());
  llvm::stable_sort(all, [](const StrategyFamily &a, const StrategyFamily &b) {
    return a.isNamed > b.isNamed;
  });
  return all;
}

std::vector<Strategy> tessera::listExpertStrategies(const Strategy &plain,
                                                    const Mesh &mesh,
                                                    int64_t experts) {
  std::vector<Strategy> all;
  for (bool etp : {false, true}) {
    Strategy strategy = plain;
    strategy.etp = etp;
    for (strategy.ep = 2; strategy.ep <= experts; ++strategy.ep)
      if ((!etp || plain.tp) && getExpertAxes(strategy, mesh))
        all.push_back(strategy);
  }
  return all;
}
