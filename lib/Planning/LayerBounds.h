//===- LayerBounds.h - Seconds of layers that are not priced ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer that does a part of another's work takes at least that part of its
// time: kernels fill the device no better, collectives move bytes no faster,
// and launches cost the same. So one layer with the largest micro-batch, on all
// of the sequence, bounds the layers of all smaller ones and of all context
// axes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PLANNING_LAYERBOUNDS_H
#define TESSERA_LIB_PLANNING_LAYERBOUNDS_H

#include "tessera/Cost/StepTime.h"

namespace tessera {

/// Layers of which others are parts.
class LayerBounds {
public:
  LayerBounds(const cost::ModelWork &work, const cost::Machine &machine);

  /// A bound of the step of a plan whose layers do `share` of the work, a whole
  /// number of them all of it. `pairs` and `alone` as of leastStepSeconds().
  double leastStepSeconds(const Plan &plan, double share, bool pairs,
                          bool alone) const;

private:
  /// Of a pass: seconds that shrink with the work, and that do not.
  struct PassBound {
    double kernels = 0, launches = 0, host = 0;
    double inLine = 0, inLineBase = 0, beside = 0, besideBase = 0;
  };
  struct Kind {
    PassBound forward, backward;
  };
  /// Sums of the layers before the blocks, of all, and of those after.
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
