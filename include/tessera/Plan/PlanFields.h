//===- PlanFields.h - The fields of a plan ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields of a plan are those of its bases, each of which has a table.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_PLANFIELDS_H
#define TESSERA_PLAN_PLANFIELDS_H

#include "tessera/Plan/Given.h"
#include "tessera/Plan/Plan.h"

namespace tessera {

using PlanField = Field<Plan>;
using GivenPlan = Given<Plan>;

/// The tables of the three bases of a plan, and all of their fields.
template <> llvm::ArrayRef<Field<Layout>> getFields<Layout>();
template <> llvm::ArrayRef<Field<Numerics>> getFields<Numerics>();
template <> llvm::ArrayRef<Field<OptimizerConfig>> getFields<OptimizerConfig>();
template <> llvm::ArrayRef<PlanField> getFields<Plan>();

/// All fields of a plan.
llvm::json::Object toJson(const Plan &plan);
/// Reads and completes a plan; fields absent from the object have defaults.
llvm::Expected<Plan> planFromJson(const llvm::json::Object &object);

} // namespace tessera

#endif // TESSERA_PLAN_PLANFIELDS_H
