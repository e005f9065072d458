//===- PlanOptions.h - Options of a plan ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a plan's fields, generated from the table of fields and shared
// by subcommands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_PLANOPTIONS_H
#define TESSERA_TOOLS_PLANOPTIONS_H

#include "Options.h"
#include "tessera/AutoSharding/AutoSharding.h"
#include "tessera/Cost/ExecutionFields.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Report/TextPicture.h"

namespace tessera {

/// Returns `own` with the options of the fields that have this use, by section.
/// For kCompiled the options of all commands that partition are added too
/// (--plan, --cluster, the search's, --forward). The rows live as long as the
/// process.
llvm::ArrayRef<OptionSpec> withPlanOptions(llvm::ArrayRef<OptionSpec> own,
                                           FieldUse::Kind use);

/// The text of a field's option, which must be given; for a flag "on", "off" or
/// the text after its "=" if it is neither.
std::string getFieldText(const cost::ExecutedPlanField &field,
                         const ParsedOptions &parsed);

/// A positive number such as 15e12 or 15T; 0 if not given.
llvm::Expected<double> readNumber(const ParsedOptions &parsed,
                                  llvm::StringRef name);

/// Writes the page of a document to the file of --html, if it is given.
llvm::Error writePageOption(const ParsedOptions &parsed,
                            const Document &document);

/// Writes the flags with which Megatron-LM trains as a plan says, one a line;
/// notes on stderr what it has no flags for.
llvm::Error writeMegatronFlags(const Plan &plan, llvm::StringRef output);

/// The style of --picture for text that is written to `output`, as writeOutput
/// takes it; none if there are no pictures.
llvm::Expected<std::optional<PictureStyle>>
readPictureOption(const ParsedOptions &parsed, llvm::StringRef output);

/// Sets the framework of a question from --framework, if it is given.
llvm::Error readFrameworkOf(const ParsedOptions &parsed,
                            cost::PlanQuestion &question);

/// Reads what `tessera plan` is asked in addition to the plan: --tokens and
/// --price.
llvm::Expected<cost::PlanQuestion> readQuestion(const ParsedOptions &parsed,
                                                std::string model);

/// Sets fields of an execution from --execution or from --set, if they are
/// given.
llvm::Error readExecutionFile(const ParsedOptions &parsed,
                              cost::GivenExecutedPlan &given);
llvm::Error readSettings(const ParsedOptions &parsed,
                         cost::GivenExecutedPlan &given);

/// Sets a field from the text of its option.
llvm::Error setField(const cost::ExecutedPlanField &field, llvm::StringRef text,
                     cost::GivenExecutedPlan &given);

/// Sets the fields that have this use from their options, and those of an
/// execution from --execution, before these, and from --set, after them.
llvm::Error readPlanOptions(const ParsedOptions &parsed, FieldUse::Kind use,
                            cost::GivenExecutedPlan &given);

/// Reads --mesh, --strategy, --forward, --pad-to-multiple-of, --sequence-order,
/// the options that withPlanOptions adds, and the plan's; those of the search
/// of --strategy auto into `choice`.
llvm::Error readPipelineOptions(const ParsedOptions &parsed,
                                PipelineOptions &options,
                                AutoShardingOptions &choice);

/// Reads a JSON file.
llvm::Expected<llvm::json::Value> readJsonValue(llvm::StringRef path);
/// Reads a JSON file that holds one object.
llvm::Expected<llvm::json::Object> readJson(llvm::StringRef path);

/// Sets the plan's fields from a file: a plan as JSON, or a report of `tessera
/// plan --json`, which contains its plan.
llvm::Error readPlanFile(llvm::StringRef path, cost::GivenExecutedPlan &given);

} // namespace tessera

#endif // TESSERA_TOOLS_PLANOPTIONS_H
