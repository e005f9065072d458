//===- ZeroBubble.cpp - ZB-H1, ZB-H2, ZB-V --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules that fill the bubbles of 1F1B with weight gradients, in a fixed
// pattern. H2 and V have no bubbles if F, B and W take equally long.
//
//===----------------------------------------------------------------------===//

#include "Kinds.h"

using namespace tessera;
using namespace tessera::schedule;

/// Later ranks have fewer forwards before their first backward, and delay
/// weight gradients by as many micro-batches as they are short of. So every
/// rank keeps the activations of at most depth (p - 1) + 1 micro-batches.
static Schedule makeZeroBubbleH(const ScheduleProblem &problem, int depth) {
  Schedule schedule;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    RankBuilder builder(problem, rank);
    builder.repeat(depth * (problem.ranks - 1 - rank),
                   [&] { builder.forward(); });
    builder.repeat(problem.microBatches, [&] {
      builder.forward();
      builder.inputGrad();
      if (builder.numOwed() > size_t(depth * rank))
        builder.weightGrad();
    });
    builder.repeat(builder.numOwed(), [&] { builder.weightGrad(); });
    schedule.ranks.push_back(builder.take());
  }
  return schedule;
}

Schedule tessera::schedule::makeZeroBubbleH1(const ScheduleProblem &problem,
                                             const AutoOptions &) {
  return makeZeroBubbleH(problem, 1);
}

Schedule tessera::schedule::makeZeroBubbleH2(const ScheduleProblem &problem,
                                             const AutoOptions &) {
  return makeZeroBubbleH(problem, 2);
}

/// A rank starts with forwards of its first chunk until its second chunk's
/// first micro-batch can return, then alternates the chunks. At the end, the
/// backwards of first chunks are critical, and weight gradients wait.
Schedule tessera::schedule::makeZeroBubbleV(const ScheduleProblem &problem,
                                            const AutoOptions &) {
  int p = problem.ranks, m = problem.microBatches;
  Schedule schedule;
  for (int rank = 0; rank < p; ++rank) {
    RankBuilder builder(problem, rank);
    builder.repeat(2 * (p - rank) - 1, [&] { builder.forward(0); });
    builder.repeat(rank, [&] {
      builder.forward(1);
      builder.forward(0);
    });
    builder.repeat(p - rank, [&] {
      builder.forward(1);
      builder.inputGrad(1);
      builder.weightGrad(1);
    });
    while (builder.numForwards(1) < m) {
      builder.forward(0);
      builder.inputGrad(0);
      builder.weightGrad(0);
      builder.forward(1);
      builder.inputGrad(1);
      builder.weightGrad(1);
    }
    builder.repeat(rank, [&] {
      builder.inputGrad(0);
      builder.inputGrad(1);
    });
    builder.repeat(p - rank, [&] {
      builder.inputGrad(0);
      builder.weightGrad(0);
    });
    builder.repeat(builder.numOwed(), [&] { builder.weightGrad(); });
    schedule.ranks.push_back(builder.take());
  }
  return schedule;
}
