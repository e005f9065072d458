//===- DualPipe.cpp - Two streams of micro-batches from both ends ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule of the DeepSeek-V3 report (2024, section 3.2.1): rank r has the
// stage r of a stream that goes down, and the stage p - 1 - r of one that goes
// up. In the steady state, the forward of one stream overlaps with the backward
// of the other, so that each hides the other's communication.
//
// Both halves of its ranks do the same. If the pipeline is split in the middle,
// a stream turns around within a rank there, instead of going to the other
// half. The half is a schedule of its own, with one stream through 2p stages in
// a V (Qi et al. 2025; DeepSeek's DualPipeV).
//
//===----------------------------------------------------------------------===//

#include "Kinds.h"

using namespace tessera;
using namespace tessera::schedule;

/// The rank at distance `edge` from its end; `half` ranks are between the end
/// and the middle. `near` is the chunk that micro-batches from this end reach
/// first.
static std::vector<Action> makeRank(const ScheduleProblem &problem, int rank,
                                    int half, int edge, int near) {
  int far = 1 - near, inner = half - 1 - edge;
  RankBuilder builder(problem, rank);

  // Warm-up: first the near stream, then forwards of both in turn, then the far
  // stream's first backwards pass through.
  builder.repeat(2 * inner, [&] { builder.forward(near); });
  builder.repeat(edge + 1, [&] {
    builder.forward(near);
    builder.forward(far);
  });
  builder.repeat(inner, [&] {
    builder.inputGrad(far);
    builder.weightGrad();
    builder.forward(far);
  });

  // Steady state. On the innermost ranks, overlapping the first pair gains
  // nothing: the next stage waits for the forward.
  int steady = problem.microBatchesOf() - 2 * half + edge + 1;
  for (int i = 0; i < steady; ++i) {
    if (i == 0 && inner == 0) {
      builder.forward(near);
      builder.backward(far);
    } else {
      builder.overlapped(near, far);
    }
    builder.overlapped(far, near);
  }

  // Cool-down: the near stream has no forwards left. In its second half, weight
  // gradients wait, so that backwards pass through sooner.
  builder.repeat(inner, [&] {
    builder.backward(far);
    builder.overlapped(far, near);
  });
  for (int i = 0; i < 2 * (edge + 1); ++i) {
    int chunk = i % 2 ? near : far;
    if (i < edge + 1)
      builder.backward(chunk);
    else
      builder.inputGrad(chunk);
  }
  builder.repeat(inner, [&] {
    builder.weightGrad();
    builder.inputGrad(near);
  });
  builder.repeat(builder.numOwed(), [&] { builder.weightGrad(); });
  return builder.take();
}

Schedule tessera::schedule::makeDualPipe(const ScheduleProblem &problem,
                                         const AutoOptions &) {
  Schedule schedule;
  int p = problem.ranks, half = p / 2;
  for (int rank = 0; rank < p; ++rank)
    schedule.ranks.push_back(makeRank(problem, rank, half,
                                      std::min(rank, p - 1 - rank),
                                      /*near=*/rank < half ? 0 : 1));
  return schedule;
}

Schedule tessera::schedule::makeDualPipeV(const ScheduleProblem &problem,
                                          const AutoOptions &) {
  Schedule schedule;
  for (int rank = 0; rank < problem.ranks; ++rank)
    schedule.ranks.push_back(
        makeRank(problem, rank, problem.ranks, rank, /*near=*/0));
  return schedule;
}
