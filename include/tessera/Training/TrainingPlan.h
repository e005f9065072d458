//===- TrainingPlan.h - Plans that can be compiled --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives the mesh and strategy that the compiler uses for a plan, and rejects
// plans that it cannot build yet.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_TRAININGPLAN_H
#define TESSERA_TRAINING_TRAININGPLAN_H

#include "tessera/Plan/Plan.h"
#include "tessera/Training/Strategy.h"

namespace tessera {

/// The axes of a layout that have more than one device, in the order pp, dp,
/// cp, tp, in which plans are priced; none if there is one device.
std::optional<Mesh> getMesh(const Layout &layout);

/// The strategy that shards as the layout says.
Strategy getStrategy(const Layout &layout);

/// Sets the axes of a layout from those that a strategy uses of a mesh.
void setLayout(Layout &layout, const Strategy &strategy, const Mesh &mesh);

/// Fails if a plan cannot be compiled, even if it can be priced: "pp: expects 1
/// ...".
llvm::Error checkCompiled(const Plan &plan);

} // namespace tessera

#endif // TESSERA_TRAINING_TRAININGPLAN_H
