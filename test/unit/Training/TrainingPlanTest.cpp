//===- TrainingPlanTest.cpp - Settings of training ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/TrainingPlan.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

std::string print(const PlanSettings &settings, int zero = 0) {
  MLIRContext context;
  std::string error;
  auto plan = parsePlan(&context, settings, zero, error);
  if (!plan)
    return "error: " + error;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << *plan;
  return text;
}

TEST(TrainingPlan, defaults_are_not_printed) {
  EXPECT_EQ(print({}), "#dist.plan<>");
  EXPECT_EQ(print({{"micro-batches", "1"}, {"lr", "1e-3"}, {"clip", "1"}}),
            "#dist.plan<>");
}

TEST(TrainingPlan, each_setting_has_its_parameter) {
  EXPECT_EQ(print({{"precision", "bf16"}, {"grad-dtype", "bf16"}}, 2),
            "#dist.plan<precision = bf16, grad = bf16, zero = 2>");
  EXPECT_EQ(print({{"optimizer", "sgd"}, {"momentum", "0.5"}}),
            "#dist.plan<optimizer = sgd, momentum = 5.000000e-01 : f64>");
  EXPECT_EQ(print({{"zero2-reduce", "last"}, {"recompute", "auto=100"}}),
            "#dist.plan<zero2_reduce = last, recompute = \"auto=100\">");
  EXPECT_EQ(
      print({{"lr-schedule", "cosine"}, {"warmup", "2"}, {"total-steps", "8"}}),
      "#dist.plan<schedule = cosine, warmup = 2, steps = 8>");
  EXPECT_EQ(print({{"groups", "*.gamma:decay=0;w?:lr=0.5:decay=1"}}),
            "#dist.plan<groups = [#dist.parameters<\"*.gamma\", weight_decay = "
            "0.000000e+00 : f64>, #dist.parameters<\"w?\", lr_scale = "
            "5.000000e-01 : f64, weight_decay = 1.000000e+00 : f64>]>");
}

// No digit of a number is lost.
TEST(TrainingPlan, numbers_are_exact) {
  MLIRContext context;
  std::string error;
  auto plan = parsePlan(&context, {{"lr", "0.1234567890123456"}}, 0, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(plan->getLr().getValueAsDouble(), 0.1234567890123456);
}

TEST(TrainingPlan, errors_name_the_setting) {
  EXPECT_EQ(print({{"micro-batches", "two"}}),
            "error: setting 'micro-batches' has no value 'two'");
  EXPECT_EQ(print({{"recompute", "all"}}),
            "error: setting 'recompute' has no value 'all'");
  EXPECT_EQ(print({{"groups", "w"}}),
            "error: setting 'groups' has no value 'w'");
  EXPECT_EQ(
      print({{"speed", "1"}}),
      "error: expects each setting of training once, and a known one, but "
      "got 'speed'");
  EXPECT_EQ(
      print({{"lr", "1"}, {"lr", "2"}}),
      "error: expects each setting of training once, and a known one, but "
      "got 'lr'");
  EXPECT_EQ(print({{"beta1", "1"}}),
            "error: settings of training: (C4) expects beta1 of at least "
            "0.000000e+00 and below 1.000000e+00 but got 1.000000e+00");
}

// Every setting has a name of its own and a text.
TEST(TrainingPlan, settings_are_described) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const PlanSetting &setting : getPlanSettings()) {
    EXPECT_FALSE(llvm::is_contained(names, setting.name)) << setting.name.str();
    EXPECT_FALSE(setting.help.empty() || setting.value.empty());
    names.push_back(setting.name);
  }
}

} // namespace
