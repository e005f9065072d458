//===- SplitBlocks.h - Equal blocks on the stages of a pipeline -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of equal blocks between a few other layers is split by counts of
// blocks alone: fast enough for the prices of many layouts. SplitPoints.h
// splits a program, whose segments differ.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_SPLITBLOCKS_H
#define TESSERA_SCHEDULE_SPLITBLOCKS_H

#include "tessera/Schedule/Schedule.h"

namespace tessera::schedule {

/// The blocks of each stage, in order of the model, such that the longest rank
/// takes as few seconds with a micro-batch as it can, and of its stages the
/// longest too. `others` are the seconds that each stage takes without blocks,
/// `seconds` those of a block (F, B and W together). Whole blocks, or half ones
/// where they make the longest rank at least 1 % shorter. Of equal stages the
/// last gets more: the first of most schedules keep more.
std::vector<double> splitBlocks(const ScheduleProblem &problem,
                                const std::vector<double> &others,
                                int64_t blocks, double seconds);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_SPLITBLOCKS_H
