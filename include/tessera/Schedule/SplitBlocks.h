//===- SplitBlocks.h - Equal blocks on the stages of a pipeline -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits a model of equal blocks between a few other layers by counts of blocks
// alone: fast enough to price many layouts. SplitPoints.h splits a program,
// whose segments differ.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_SPLITBLOCKS_H
#define TESSERA_SCHEDULE_SPLITBLOCKS_H

#include "tessera/Schedule/Schedule.h"

namespace tessera::schedule {

/// The blocks of each stage, in model order. They minimize the seconds of the
/// longest rank with one micro-batch, and then of its longest stage. `others`
/// are the seconds of each stage without blocks, `seconds` are the seconds of a
/// block (F, B and W together). Counts are whole, or halves if these make the
/// longest rank at least 1 % shorter. Among equal stages the last gets more,
/// since in most schedules the first stages keep more.
std::vector<double> splitBlocks(const ScheduleProblem &problem,
                                const std::vector<double> &others,
                                int64_t blocks, double seconds);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_SPLITBLOCKS_H
