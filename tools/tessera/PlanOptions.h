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
#include "tessera/Cost/PlanReport.h"
#include "tessera/Pipelines/Pipelines.h"
#include "tessera/Support/PlanFields.h"

namespace tessera {

/// `own` with the options of the fields that have this use before its last
/// `numAfter` rows; where programs are compiled also with those of all commands
/// that partition (--plan, --cluster, of a search, --forward). The rows live as
/// long as the process.
llvm::ArrayRef<OptionSpec> withPlanOptions(llvm::ArrayRef<OptionSpec> own,
                                           size_t numAfter, PlanField::Use use);

/// The value of a field's option, which must be given: of a flag "on" or "off",
/// or what is after its "=".
std::string getFieldText(const PlanField &field, const ParsedOptions &parsed);

/// A positive number such as 15e12; 0 if not given.
llvm::Expected<double> readNumber(const ParsedOptions &parsed,
                                  llvm::StringRef name);

/// What `tessera plan` is asked beside the plan: --tokens and --price.
llvm::Expected<cost::PlanQuestion> readQuestion(const ParsedOptions &parsed,
                                                std::string model);

/// Gives a plan what the options of these fields say.
llvm::Error readPlanOptions(const ParsedOptions &parsed, PlanField::Use use,
                            GivenPlan &given);

/// Reads --mesh, --strategy, --forward, --pad-to-multiple-of,
/// --sequence-order, the options that withPlanOptions adds and those of a plan.
llvm::Error readPipelineOptions(const ParsedOptions &parsed,
                                PipelineOptions &options);

/// Reads a JSON file.
llvm::Expected<llvm::json::Value> readJsonValue(llvm::StringRef path);
/// Reads a JSON file that holds one object.
llvm::Expected<llvm::json::Object> readJson(llvm::StringRef path);

/// Gives a plan what a file says: a plan as JSON, or a report of `tessera plan
/// --json`, which has its plan inside.
llvm::Error readPlanFile(llvm::StringRef path, GivenPlan &given);

} // namespace tessera

#endif // TESSERA_TOOLS_PLANOPTIONS_H
