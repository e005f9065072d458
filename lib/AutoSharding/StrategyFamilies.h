//===- StrategyFamilies.h - The named strategies of a mesh ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_AUTOSHARDING_STRATEGYFAMILIES_H
#define TESSERA_LIB_AUTOSHARDING_STRATEGYFAMILIES_H

#include "tessera/Training/Strategy.h"
#include <vector>

namespace tessera {

/// Strategies that differ in the sharding of state.
struct StrategyFamily {
  /// The strategy without ZeRO.
  Strategy plain;
  /// True if each axis has the role that its name suggests.
  bool isNamed = false;
};

/// Returns the strategies that use all axes of a mesh, whatever their names:
/// each axis shards the batch, heads and ffn, or the sequence. Strategies in
/// which each axis has the role of its name come first. `sharesRoles`: two axes
/// may have one role. `hasLatents`: attention has latents (Latents.h), and each
/// strategy that shards the sequence comes with `cp=latent`, too.
std::vector<StrategyFamily> listFamilies(const Mesh &mesh, bool sharesRoles,
                                         bool hasLatents);

/// Returns the strategies that shard `experts` experts, or the MLPs of each
/// over tp too, and are `plain` in all else: over each number of innermost
/// devices that the mesh allows.
std::vector<Strategy> listExpertStrategies(const Strategy &plain,
                                           const Mesh &mesh, int64_t experts);

} // namespace tessera

#endif // TESSERA_LIB_AUTOSHARDING_STRATEGYFAMILIES_H
