//===- StrategyFamiliesTest.cpp - The named strategies of a mesh ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/AutoSharding/StrategyFamilies.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

std::vector<std::string> list(llvm::StringRef mesh, bool sharesRoles = true,
                              bool hasLatents = false) {
  std::vector<std::string> names;
  for (const StrategyFamily &family :
       listFamilies(llvm::cantFail(parseMesh(mesh)), sharesRoles, hasLatents))
    names.push_back(print(family.plain));
  return names;
}

TEST(StrategyFamilies, one_axis) {
  EXPECT_EQ(list("dp=4"),
            (std::vector<std::string>{"dp", "tp@dp", "tp@dp,sp", "cp@dp"}));
}

TEST(StrategyFamilies, several_axes_may_share_a_role) {
  EXPECT_EQ(list("a=2,b=2").size(), 13u);
  EXPECT_EQ(list("a=2,b=2,c=2").size(), 36u);
  EXPECT_EQ(list("a=2,b=2", /*sharesRoles=*/false).size(), 10u);
}

TEST(StrategyFamilies, latents_are_gathered_where_the_sequence_is_sharded) {
  EXPECT_EQ(list("dp=4", /*sharesRoles=*/true, /*hasLatents=*/true),
            (std::vector<std::string>{"dp", "tp@dp", "tp@dp,sp", "cp@dp",
                                      "cp@dp=latent"}));
}

TEST(StrategyFamilies, roles_that_the_names_suggest_come_first) {
  std::vector<std::string> names = list("tp=2,dp=4");
  EXPECT_EQ(names[0], "dp,tp");
  EXPECT_EQ(names[1], "dp,tp,sp");
  auto all = listFamilies(llvm::cantFail(parseMesh("tp=2,dp=4")),
                          /*sharesRoles=*/true, /*hasLatents=*/false);
  EXPECT_TRUE(all[1].isNamed);
  EXPECT_FALSE(all[2].isNamed);
}

TEST(StrategyFamilies, each_strategy_uses_every_axis) {
  Mesh mesh = llvm::cantFail(parseMesh("a=2,b=1,c=3"));
  for (const StrategyFamily &family :
       listFamilies(mesh, /*sharesRoles=*/true, /*hasLatents=*/true))
    EXPECT_FALSE(bool(checkStrategy(family.plain, mesh)))
        << print(family.plain);
}

TEST(StrategyFamilies, stages_have_no_role) {
  Mesh mesh = llvm::cantFail(parseMesh("pp=2,dp=2"));
  mesh.stageAxis = 0;
  EXPECT_EQ(
      listFamilies(mesh, /*sharesRoles=*/true, /*hasLatents=*/false).size(),
      4u);
  EXPECT_TRUE(list("dp=1").empty());
}

} // namespace
