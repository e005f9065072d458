//===- GivenLayoutTest.cpp - Three forms of a layout ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/GivenLayout.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

GivenLayout make(llvm::StringRef mesh, llvm::StringRef strategy,
                 llvm::StringRef plan) {
  GivenLayout layout;
  if (!mesh.empty())
    layout.mesh = llvm::cantFail(parseMesh(mesh));
  layout.strategy = llvm::cantFail(parseStrategy(strategy));
  llvm::cantFail(layout.plan.parse(plan));
  return layout;
}

/// "MESH STRATEGY".
std::string print(GivenLayout layout) {
  llvm::cantFail(layout.complete());
  return (layout.mesh ? print(*layout.mesh) : "none") + " " +
         print(layout.strategy);
}

TEST(GivenLayout, axes_keep_their_names) {
  EXPECT_EQ(print(make("x=2,y=4", "dp@x,tp@y", "lr=0.5")), "x=2,y=4 dp@x,tp@y");
}

TEST(GivenLayout, fields_of_a_plan_give_the_usual_axes) {
  EXPECT_EQ(print(make("", "", "tp=4,dp=2,sp=true,zero=3")),
            "dp=2,tp=4 dp,tp,sp,zero=3");
  EXPECT_EQ(print(make("", "", "gpus=8,tp=4")), "dp=2,tp=4 dp,tp");
}

TEST(GivenLayout, nothing_given_is_the_programs_own) {
  EXPECT_EQ(print(make("", "", "lr=0.5")), "none none");
}

TEST(GivenLayout, a_searched_strategy_keeps_its_mesh) {
  EXPECT_EQ(print(make("a=4", "auto", "")), "a=4 auto");
  EXPECT_EQ(print(make("", "auto", "")), "none auto");
}

TEST(GivenLayout, plans_that_cannot_be_compiled) {
  GivenLayout layout = make("dp=2", "dp", "offload=host");
  EXPECT_EQ(llvm::toString(layout.complete()),
            "offload: expects none to be compiled but got host");
}

} // namespace
