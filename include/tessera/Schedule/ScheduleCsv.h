//===- ScheduleCsv.h - Pipeline schedules as CSV ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format of torch.distributed.pipelining, "compute_only": one line per
// rank, with its actions in order as cells. "0F4" is the forward of stage 0
// with micro-batch 4, "1I2" the gradient of an input (our B), "1W2" of
// parameters, "2B3" both (our BW), "(0F4;3B1)OVERLAP_F_B" a forward overlapped
// with a whole backward. Stages belong to a micro-batch's path; a rank's chunks
// are its stages in order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_SCHEDULECSV_H
#define TESSERA_SCHEDULE_SCHEDULECSV_H

#include "tessera/Schedule/Schedule.h"

namespace tessera::schedule {

/// A schedule and its problem.
struct ListedSchedule {
  ScheduleProblem problem;
  Schedule schedule;
};

/// Writes a schedule without its sends and receives. Fails if a stage is on two
/// ranks, as in a pipeline with two copies of the model.
llvm::Error writeScheduleCsv(const ScheduleProblem &problem,
                             const Schedule &schedule, llvm::raw_ostream &os);

/// Reads a schedule without sends and receives. Skips empty cells and actions
/// on parameters (UNSHARD, RESHARD, REDUCE_GRAD). Errors begin with `name`, and
/// name the line and the cell, from 1: an unknown action, a send or receive, a
/// stage on two ranks, an action that is repeated, missing or before one that
/// it needs, ranks with more stages than others, a deadlock. With
/// `mayBeForward` it may have no backward at all.
llvm::Expected<ListedSchedule> readScheduleCsv(llvm::StringRef text,
                                               llvm::StringRef name,
                                               bool mayBeForward = false);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_SCHEDULECSV_H
