//===- ActionList.h - Lists of actions as text ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The form in which a program carries its schedule: a text for the list of each
// rank, and the ranks that micro-batches pass.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_ACTIONLIST_H
#define TESSERA_SCHEDULE_ACTIONLIST_H

#include "tessera/Schedule/Schedule.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera::schedule {

/// Parses the output of printActions(). Errors name the word that is not an
/// action.
llvm::Expected<std::vector<Action>> parseActions(llvm::StringRef text);

/// "F0.0 sA0.0 F0.1": the actions of one rank, separated by blanks.
std::string printActions(llvm::ArrayRef<Action> actions);

/// The rank of each stage, in order, by path: one path, or two paths for the
/// first and the second half of the micro-batches.
using StageRanks = llvm::SmallVector<llvm::SmallVector<int64_t>>;

/// The paths of a problem that passes check().
StageRanks getStageRanks(const ScheduleProblem &problem);

/// The problem with these paths; fails if there is none.
llvm::Expected<ScheduleProblem> findProblem(const StageRanks &paths,
                                            int64_t microBatches);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_ACTIONLIST_H
