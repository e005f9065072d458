//===- ExecutionFields.h - The fields of an execution -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields of an execution, and those of a plan with one: options, JSON, and
// what a report says of them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_EXECUTIONFIELDS_H
#define TESSERA_COST_EXECUTIONFIELDS_H

#include "tessera/Cost/Execution.h"
#include "tessera/Plan/PlanFields.h"

namespace tessera {

/// The table of an execution.
template <> llvm::ArrayRef<Field<cost::Execution>> getFields<cost::Execution>();
/// The fields of the plan come first.
template <>
llvm::ArrayRef<Field<cost::ExecutedPlan>> getFields<cost::ExecutedPlan>();

namespace cost {

using ExecutedPlanField = Field<ExecutedPlan>;
using GivenExecutedPlan = Given<ExecutedPlan>;

/// The object of a plan's JSON that has its execution.
inline constexpr llvm::StringLiteral kExecutionObject = "execution";

/// All fields of an execution.
llvm::json::Object toJson(const Execution &execution);
/// All fields of a plan, and those of its execution in an object "execution".
llvm::json::Object toJson(const ExecutedPlan &plan);

/// Reads fields of an execution. Fails at fields of the plan too.
llvm::Error readExecution(const llvm::json::Object &object,
                          GivenExecutedPlan &given);
/// Reads what toJson() writes. The fields of the execution may also be among
/// the plan's, as older files have them.
llvm::Error readPlan(const llvm::json::Object &object,
                     GivenExecutedPlan &given);

/// "attention flash, fused-loss, overlap-tp": the values of the fields in which
/// frameworks differ, for reports.
std::string describeSettings(const ExecutedPlan &plan);

} // namespace cost

} // namespace tessera

#endif // TESSERA_COST_EXECUTIONFIELDS_H
