//===- LayerBounds.h - Lower bounds of unpriced layers ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer that does a share of another's work takes at least that share of its
// time: kernels fill the device no better, collectives move bytes no faster,
// and launches cost the same. So one layer with the largest micro-batch, on the
// whole sequence, bounds the layers of all smaller ones and of all context
// axes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PLANNING_LAYERBOUNDS_H
#define TESSERA_LIB_PLANNING_LAYERBOUNDS_H

#include "tessera/Cost/StepTime.h"

namespace tessera {

/// Layers that bound the layers with a share of their work.
class LayerBounds {
public:
  LayerBounds(const cost::ModelWork &work, const cost::Machine &machine);

  /// Returns a lower bound of the step of a plan whose layers do `share` of the
  /// work (1 / share is a whole number). See leastStepSeconds() for `pairs` and
  /// `alone`.
  double leastStepSeconds(const Layout &layout, double share, bool pairs,
                          bool alone) const;

private:
  /// The seconds of a pass that shrink with the work, and those that do not.
  struct PassBound {
    double kernels = 0, launches = 0, host = 0;
    double inLine = 0, inLineBase = 0, beside = 0, besideBase = 0;
  };
  struct Kind {
    PassBound forward, backward;
  };
  /// Sums over the layers before the blocks, over all, and over those after.
  struct Sums {
    cost::ChunkTime front, all, back;
  };
  static PassBound boundPass(const cost::PassTime &whole,
                             const cost::PassTime &empty);
  Sums sum(double share, bool pairs) const;

  std::vector<Kind> kinds;
  std::vector<cost::ModelWork::Run> layers;
  cost::DeviceModel device;
};

} // namespace tessera

#endif // TESSERA_LIB_PLANNING_LAYERBOUNDS_H
