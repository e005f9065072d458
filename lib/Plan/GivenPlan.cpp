//===- GivenPlan.cpp - Plans as users give them ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields that options, text and JSON give, and the plan that they complete.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/GivenImpl.h"
#include "tessera/Plan/PlanFields.h"

using namespace llvm;
using namespace tessera;

template class tessera::Given<Plan>;

json::Object tessera::toJson(const Plan &plan) {
  json::Object object;
  for (const PlanField &field : getFields<Plan>())
    if (field.uses & FieldUse::kJson)
      object[field.name] = field.toJson(plan);
  return object;
}

Expected<Plan> tessera::planFromJson(const json::Object &object) {
  GivenPlan given;
  if (Error error = given.read(object))
    return std::move(error);
  if (Error error = given.complete())
    return std::move(error);
  return given.plan;
}
