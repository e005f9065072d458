//===- GivenLayout.h - A layout as a user gives it --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A user gives a layout in one of three forms. They become one value before any
// pass runs; axes keep their names:
//
//     --mesh x=2,y=4 --strategy dp@x,tp@y    mesh x=2,y=4    strategy dp@x,tp@y
//     --dp 2 --tp 4                          mesh dp=2,tp=4  strategy dp,tp
//     --plan FILE with {"dp": 2, "tp": 4}    mesh dp=2,tp=4  strategy dp,tp
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_GIVENLAYOUT_H
#define TESSERA_TRAINING_GIVENLAYOUT_H

#include "tessera/Plan/PlanFields.h"
#include "tessera/Training/Strategy.h"

namespace tessera {

/// The layout of a program: devices, what is sharded over them, and training.
struct GivenLayout {
  /// None: the module has a dist.mesh, or is for one device.
  std::optional<Mesh> mesh;
  /// None: the module's own seeds. A searched one seeds nothing but stages:
  /// chooseShardings() then decides (AutoSharding.h).
  Strategy strategy;
  /// The training plan of a program with a loss: the given fields.
  GivenPlan plan;

  /// Completes the plan, and makes mesh and strategy from it if neither is
  /// given. Fails, with one line, if fields contradict each other or cannot be
  /// compiled.
  llvm::Error complete();
};

} // namespace tessera

#endif // TESSERA_TRAINING_GIVENLAYOUT_H
