//===- PlanOptions.h - Options of a plan ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of a plan's fields, made of their table, which subcommands share.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_PLANOPTIONS_H
#define TESSERA_TOOLS_PLANOPTIONS_H

#include "Options.h"
#include "tessera/Support/PlanFields.h"

namespace tessera {

/// `own` with the options of the fields that have this use before its last
/// `numAfter` rows. The rows live as long as the process.
llvm::ArrayRef<OptionSpec> withPlanOptions(llvm::ArrayRef<OptionSpec> own,
                                           size_t numAfter, PlanField::Use use);

/// Gives a plan what the options of these fields say.
llvm::Error readPlanOptions(const ParsedOptions &parsed, PlanField::Use use,
                            GivenPlan &given);

} // namespace tessera

#endif // TESSERA_TOOLS_PLANOPTIONS_H
