//===- TrainingPlanTest.cpp - Plans that the compiler can compile ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/TrainingPlan.h"
#include "../Plan/FieldValues.h"
#include "../Plan/RandomPlan.h"
#include "dialects/Dist/Dist.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

std::string print(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << attr;
  return text;
}

Plan parse(llvm::StringRef text) {
  GivenPlan given;
  llvm::cantFail(given.parse(text));
  return given.plan;
}

// JSON, struct, attribute, its text, and all the way back.
TEST(TrainingPlan, there_and_back) {
  MLIRContext context;
  context.getOrLoadDialect<dist::DistDialect>();
  for (unsigned seed = 0; seed < 40; ++seed) {
    Plan plan = draw(seed);
    if (plan.gradDType != GradDType::F32)
      plan.precision = Precision::BF16;
    llvm::json::Value json(toJson(plan));
    Plan read = llvm::cantFail(planFromJson(*json.getAsObject()));
    EXPECT_EQ(read, plan);
    auto attr = dist::PlanAttr::get(&context, read);
    auto again =
        dyn_cast_or_null<dist::PlanAttr>(parseAttribute(print(attr), &context));
    ASSERT_TRUE(again) << print(attr);
    EXPECT_EQ(again, attr);
    EXPECT_EQ(llvm::json::Value(toJson(again.getPlan())), json) << print(attr);
  }
}

// A row of a table is enough for the attribute too.
TEST(TrainingPlan, each_field_is_in_the_attribute) {
  MLIRContext context;
  context.getOrLoadDialect<dist::DistDialect>();
  for (const PlanField &field : getFields<Plan>()) {
    if (!(field.uses & FieldUse::kAttribute))
      continue;
    // Sums of gradients in bf16 and a cosine expect these.
    Plan plan = parse("precision=bf16,total-steps=10");
    std::string value = findOtherValue(field);
    ASSERT_TRUE(field.parse(value, plan)) << field.name.str();
    std::string text = print(dist::PlanAttr::get(&context, plan));
    EXPECT_NE(text.find(field.getParameter() + " = "), std::string::npos)
        << text;
    auto again =
        dyn_cast_or_null<dist::PlanAttr>(parseAttribute(text, &context));
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(field.print(again.getPlan()), value) << text;
  }
}

TEST(TrainingPlan, mesh_and_strategy) {
  Plan plan = parse("tp=4,dp=2,sp=true,zero=3");
  std::optional<Mesh> mesh = getMesh(plan);
  ASSERT_TRUE(mesh);
  EXPECT_EQ(print(*mesh), "dp=2,tp=4");
  EXPECT_EQ(print(getStrategy(plan)), "dp,tp,sp,zero=3");
  Plan again;
  setLayout(again, getStrategy(plan), *mesh);
  EXPECT_EQ(again, plan);
  plan = parse("cp=4,cp-method=all_to_all:2");
  EXPECT_EQ(print(getStrategy(plan)), "cp=all_to_all:2");
  Plan shared;
  setLayout(shared, getStrategy(plan), *getMesh(plan));
  EXPECT_EQ(shared, plan);
  // An option without an axis has no effect.
  EXPECT_EQ(print(getStrategy(parse("tp=2,zero=2"))), "tp");
  EXPECT_EQ(print(getStrategy(parse("sp=true"))), "none");
  EXPECT_EQ(print(getStrategy(parse("dp=4,ep=2"))), "dp,ep=2");
  EXPECT_EQ(print(getStrategy(parse("dp=4,tp=2,ep=4"))), "dp,tp,ep=4,etp");
  EXPECT_EQ(print(getStrategy(parse("dp=4,tp=2,ep=4,etp=false"))),
            "dp,tp,ep=4");
  EXPECT_EQ(print(getStrategy(parse("dp=2,cp=2,ep=4"))), "dp,cp,ep=4");
  EXPECT_FALSE(getMesh(Plan()));
}

// Experts of a plan go over dp and cp, and over all of tp or none of it.
TEST(TrainingPlan, experts_of_a_strategy) {
  auto experts = [](llvm::StringRef text, const char *mesh) {
    Layout layout;
    setLayout(layout, llvm::cantFail(parseStrategy(text)),
              llvm::cantFail(parseMesh(mesh)));
    return std::pair(layout.ep, layout.etp);
  };
  using Experts = std::pair<int64_t, bool>;
  EXPECT_EQ(experts("dp,ep=4", "dp=4"), Experts(4, true));
  EXPECT_EQ(experts("dp,cp,ep=4", "dp=2,cp=2"), Experts(4, true));
  EXPECT_EQ(experts("dp,tp,ep=2,etp", "dp=2,tp=2"), Experts(2, true));
  EXPECT_EQ(experts("dp,tp,ep=2", "dp=2,tp=2"), Experts(2, false));
  EXPECT_EQ(experts("dp,cp,tp,ep=8", "dp=2,cp=2,tp=2"), Experts(8, false));
  EXPECT_EQ(experts("dp,tp,ep=2", "dp=2,tp=4"), Experts(1, true));
}

TEST(TrainingPlan, what_is_not_compiled) {
  auto error = [](llvm::StringRef text) {
    return llvm::toString(checkCompiled(parse(text)));
  };
  EXPECT_EQ(error("dp=2,tp=4,sp=true,zero=3,recompute=auto=10,optimizer=sgd,"
                  "precision=fp8,zero2-reduce=last,schedule=zb-h1"),
            "");
  EXPECT_EQ(error("pp=4,schedule=interleaved,vpp=2"), "");
  EXPECT_EQ(error("cp=2,cp-method=all_gather"), "");
  EXPECT_EQ(error("ep=2,dp=2,tp=2"), "");
  EXPECT_EQ(error("ep=2,dp=2,cp=2"), "");
  EXPECT_EQ(error("ep=4,dp=2,tp=2,etp=false"), "");
  EXPECT_EQ(error("offload=host"),
            "offload: expects none to be compiled but got host");
  EXPECT_EQ(error("precision=fp8,weight-bytes=1"),
            "weight-bytes: expects 0 to be compiled but got 1");
  EXPECT_EQ(error("zero2-reduce=round"),
            "zero2-reduce: expects each or last to be compiled but got round");
  EXPECT_EQ(error("recompute=matmuls"),
            "recompute: expects none, selective, full or auto=BYTES to be "
            "compiled but got matmuls");
  EXPECT_EQ(error("grad-dtype=bf16+f32"),
            "grad-dtype: expects f32 or bf16 to be compiled but got bf16+f32");
  EXPECT_EQ(error("optimizer=adamw-no-master"),
            "optimizer: expects adamw or sgd to be compiled but got "
            "adamw-no-master");
}

} // namespace
