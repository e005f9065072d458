//===- ExecutionFieldsTest.cpp - Fields of plans and executions -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/ExecutionFields.h"
#include "../Plan/FieldValues.h"
#include "gtest/gtest.h"
#include <set>

using namespace tessera;
using namespace tessera::cost;

namespace {

bool isDerived(const ExecutedPlanField &field) {
  return std::holds_alternative<ExecutedPlanField::Derived>(field.type);
}

std::string readError(llvm::StringRef text) {
  GivenExecutedPlan given;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  return llvm::toString(readPlan(*value->getAsObject(), given));
}

/// The execution that a text sets.
Execution readFrom(llvm::StringRef text) {
  GivenExecutedPlan given;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  llvm::cantFail(readPlan(*value->getAsObject(), given));
  return given.plan;
}

TEST(ExecutionFields, all_tables_are_in_one) {
  EXPECT_EQ(getFields<ExecutedPlan>().size(),
            getFields<Layout>().size() + getFields<Numerics>().size() +
                getFields<OptimizerConfig>().size() +
                getFields<Execution>().size());
  std::set<std::string> names;
  std::set<unsigned> settings;
  for (const ExecutedPlanField &field : getFields<ExecutedPlan>()) {
    EXPECT_TRUE(names.insert(field.name.str()).second) << field.name.str();
    EXPECT_TRUE(field.place.setting == 0 ||
                settings.insert(field.place.setting).second)
        << field.name.str();
  }
}

// A row of a table is enough for an option, its help, JSON and the comparison
// of plans.
TEST(ExecutionFields, each_field_there_and_back) {
  for (const ExecutedPlanField &field : getFields<ExecutedPlan>()) {
    if (isDerived(field))
      continue;
    std::string name = field.name.str(), value = findOtherValue(field);
    ASSERT_NE(value, "") << name;
    EXPECT_EQ(field.getOption(), "--" + name);
    EXPECT_NE(field.getHelp(), "");
    EXPECT_NE(field.getForm(), "");
    GivenExecutedPlan given;
    EXPECT_EQ(llvm::toString(given.set(name, value)), "");
    EXPECT_TRUE(given.has(name));
    EXPECT_EQ(field.print(given.plan), value);
    EXPECT_NE(given.plan, ExecutedPlan()) << name;
    if (!(field.uses & FieldUse::kJson))
      continue;
    GivenExecutedPlan again;
    EXPECT_EQ(llvm::toString(readPlan(toJson(given.plan), again)), "");
    EXPECT_EQ(field.print(again.plan), value);
    // Among the fields of the plan, as older files have it.
    GivenExecutedPlan older;
    EXPECT_EQ(
        llvm::toString(readPlan(
            llvm::json::Object{{field.name, field.toJson(given.plan)}}, older)),
        "");
    EXPECT_EQ(older.plan, given.plan) << name;
  }
}

TEST(ExecutionFields, an_execution_is_an_object_of_a_plan) {
  llvm::json::Object json = toJson(ExecutedPlan());
  const llvm::json::Object *execution = json.getObject("execution");
  ASSERT_TRUE(execution);
  for (const Field<Execution> &field : getFields<Execution>()) {
    EXPECT_TRUE(execution->get(field.name)) << field.name.str();
    EXPECT_FALSE(json.get(field.name)) << field.name.str();
    EXPECT_FALSE(field.uses & FieldUse::kAttribute) << field.name.str();
    EXPECT_FALSE(field.uses & FieldUse::kCompiled) << field.name.str();
  }
  EXPECT_EQ(
      readFrom(R"({"tp": 2, "execution": {"loss-copies": 2}})").lossCopies, 2);
  EXPECT_EQ(readFrom(R"({"tp": 2, "loss-copies": 2})").lossCopies, 2);
}

TEST(ExecutionFields, errors) {
  EXPECT_EQ(readError(R"({"execution": {"eagre": true}})"),
            "execution: eagre: expects a known field; did you mean 'eager'?");
  EXPECT_EQ(readError(R"({"execution": {"tp": 2}})"),
            "execution: tp: expects a known field");
  EXPECT_EQ(readError(R"({"execution": {"loss-copies": 9}})"),
            "execution: loss-copies: expects an integer from 0 to 8 but got 9");
  EXPECT_EQ(readError(R"({"execution": 1})"),
            "execution: expects an object of fields but got 1");
}

TEST(ExecutionFields, settings_are_described) {
  ExecutedPlan plan;
  EXPECT_EQ(describeSettings(plan),
            "attention flash, grad-dtype f32, overlap, stage-layers time");
  plan.eager = true;
  plan.lossCopies = 2;
  plan.overlap = plan.pxn = plan.batchTransfers = false;
  EXPECT_EQ(describeSettings(plan),
            "attention flash, eager, loss-copies 2, grad-dtype f32, "
            "stage-layers time, batch-transfers off, pxn off");
}

} // namespace
