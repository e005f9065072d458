//===- StrategyTest.cpp - Written forms of meshes and strategies ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/Strategy.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

std::string meshError(llvm::StringRef text) {
  llvm::Expected<Mesh> mesh = parseMesh(text);
  return mesh ? "none" : llvm::toString(mesh.takeError());
}

std::string strategyError(llvm::StringRef text) {
  llvm::Expected<Strategy> strategy = parseStrategy(text);
  return strategy ? "none" : llvm::toString(strategy.takeError());
}

/// Returns the reason why `strategy` does not fit `mesh`.
std::string mismatch(llvm::StringRef strategy, llvm::StringRef mesh) {
  return llvm::toString(checkStrategy(llvm::cantFail(parseStrategy(strategy)),
                                      llvm::cantFail(parseMesh(mesh))));
}

TEST(Strategy, mesh) {
  Mesh mesh = llvm::cantFail(parseMesh("dp=2,tp=4"));
  EXPECT_EQ(mesh.names[0], "dp");
  EXPECT_EQ(mesh.sizes[1], 4);
  EXPECT_EQ(mesh.numDevices(), 8);
}

TEST(Strategy, mesh_errors) {
  EXPECT_EQ(meshError("dp=2,dp=4"),
            "expects each mesh axis once but got 'dp' twice");
  EXPECT_EQ(meshError("dp=0"),
            "expects mesh axes of size at least 1 but got 0 for 'dp'");
  EXPECT_EQ(meshError("dp=-2"),
            "expects mesh axes of size at least 1 but got -2 for 'dp'");
  EXPECT_EQ(meshError(""), "expects a mesh such as dp=2,tp=4 but got ''");
  EXPECT_EQ(meshError("dp"), "expects a mesh such as dp=2,tp=4 but got 'dp'");
  EXPECT_EQ(meshError("dp=2,"),
            "expects a mesh such as dp=2,tp=4 but got '' in 'dp=2,'");
  EXPECT_EQ(meshError("dp=2,t p=3"),
            "expects a mesh such as dp=2,tp=4 but got 't p=3' in 'dp=2,t p=3'");
  EXPECT_EQ(meshError("dp=2x"),
            "expects a mesh such as dp=2,tp=4 but got 'dp=2x'");
  EXPECT_EQ(meshError("dp=4000000000,tp=4000000000"),
            "expects a mesh of at most 1048576 devices but got "
            "'dp=4000000000,tp=4000000000'");
}

TEST(Strategy, strategy) {
  EXPECT_EQ(llvm::cantFail(parseStrategy("dp,tp,sp,zero=3")),
            (Strategy{false, true, true, true, 3}));
  EXPECT_EQ(llvm::cantFail(parseStrategy("zero=1")),
            (Strategy{false, false, false, false, 1}));
  for (llvm::StringRef text : {"", "none", "zero=0"})
    EXPECT_TRUE(llvm::cantFail(parseStrategy(text)).isNone());
}

TEST(Strategy, context) {
  for (llvm::StringRef text :
       {"dp,cp,tp", "cp=ring", "cp=latent,sp", "cp=all_to_all:2,tp,sp,zero=1"})
    EXPECT_EQ(print(llvm::cantFail(parseStrategy(text))), text);
  EXPECT_EQ(print(llvm::cantFail(parseStrategy("cp=auto"))), "cp");
  EXPECT_TRUE(llvm::cantFail(parseStrategy("pp,auto")).isSearched);
  EXPECT_EQ(
      strategyError("cp=rings"),
      "expects auto, all_gather, ring, all_to_all, all_to_all:U or latent "
      "after cp= in a strategy but got 'rings'");
  EXPECT_EQ(strategyError("cp,cp=ring"),
            "expects each item of a strategy once but got 'cp' twice");
}

TEST(Strategy, experts) {
  for (llvm::StringRef text : {"dp,ep=4", "dp,cp=ring,tp,sp,ep=2,etp,zero=3"})
    EXPECT_EQ(print(llvm::cantFail(parseStrategy(text))), text);
  EXPECT_EQ(print(llvm::cantFail(parseStrategy("dp,ep=1"))), "dp");
  for (llvm::StringRef text : {"ep", "ep=", "ep=0", "ep=x", "ep@dp"})
    EXPECT_EQ(strategyError(text), "expects ep=N with a number of at least 1 "
                                   "in a strategy but got '" +
                                       text.str() + "'");
  EXPECT_EQ(mismatch("dp,ep=4", "dp=4"), "");
  EXPECT_EQ(mismatch("dp,tp,ep=2,etp", "dp=2,tp=2"), "");
  EXPECT_EQ(mismatch("dp,ep=3", "dp=4"),
            "strategy 'ep=3' expects a number of innermost devices of dp, cp "
            "and tp but got mesh 'dp=4'");
  EXPECT_EQ(mismatch("dp,tp,ep=4,etp", "dp=2,tp=2"),
            "strategy 'ep=4' expects a number of innermost devices of dp and "
            "cp but got mesh 'dp=2,tp=2'");
  EXPECT_EQ(mismatch("dp,ep=2,etp", "dp=2"),
            "strategy 'etp' expects 'tp' and 'ep=N' too but got "
            "'dp,ep=2,etp'");
}

/// The innermost devices, in the order of the mesh; an axis may be split.
TEST(Strategy, axes_of_experts) {
  auto axes = [](llvm::StringRef strategy, llvm::StringRef meshText) {
    Mesh mesh = llvm::cantFail(parseMesh(meshText));
    return *getExpertAxes(llvm::cantFail(parseStrategy(strategy)), mesh);
  };
  EXPECT_EQ(axes("dp,tp,ep=2", "dp=4,tp=2"), (AxisList{{1, 1, 2}}));
  EXPECT_EQ(axes("dp,tp,ep=4", "dp=4,tp=2"), (AxisList{{0, 2, 2}, {1, 1, 2}}));
  EXPECT_EQ(axes("dp,tp,ep=2,etp", "dp=4,tp=2"), (AxisList{{0, 2, 2}}));
  EXPECT_EQ(axes("dp,cp,ep=4", "pp=2,cp=2,dp=2"),
            (AxisList{{1, 1, 2}, {2, 1, 2}}));
}

TEST(Strategy, axes_of_other_names) {
  for (llvm::StringRef text :
       {"dp@x,tp@y", "dp@x+y,zero=3", "cp@x=ring,tp", "dp@tp,tp@dp,sp,zero=1"})
    EXPECT_EQ(print(llvm::cantFail(parseStrategy(text))), text);
  EXPECT_EQ(print(llvm::cantFail(parseStrategy("dp@dp"))), "dp");
  EXPECT_EQ(strategyError("dp@"), "expects different axes such as dp@x+y in a "
                                  "strategy but got 'dp@'");
  EXPECT_EQ(strategyError("tp@x+x"), "expects different axes such as dp@x+y in "
                                     "a strategy but got 'tp@x+x'");
  EXPECT_EQ(strategyError("cp@x+y"),
            "expects one axis of cp in a strategy but got 'cp@x+y'");
  EXPECT_EQ(strategyError("dp@x,dp"),
            "expects each item of a strategy once but got 'dp' twice");
  EXPECT_EQ(
      strategyError("sp@x"),
      "expects pp, dp, cp, tp, sp, ep=N, etp, zero=0 to zero=3 or auto in a "
      "strategy but got 'sp@x'");
  EXPECT_EQ(mismatch("dp@x,tp@y", "x=2,y=2"), "");
  EXPECT_EQ(mismatch("dp@x+y,zero=3", "x=2,y=2"), "");
  EXPECT_EQ(mismatch("cp@dp,zero=3", "dp=2"), "");
  EXPECT_EQ(mismatch("dp@x", "x=2,y=2"),
            "expects a strategy that uses every axis but got none for 'y' of "
            "mesh 'x=2,y=2'");
  EXPECT_EQ(mismatch("dp@x", "dp=2"),
            "strategy 'dp' expects an axis 'x' but got mesh 'dp=2'");
  EXPECT_EQ(mismatch("dp,tp@dp", "dp=2"),
            "expects a strategy that uses each axis once but got 'dp' twice in "
            "'dp,tp@dp'");
}

TEST(Strategy, strategy_errors) {
  EXPECT_EQ(strategyError("dp,fsdp"),
            "expects pp, dp, cp, tp, sp, ep=N, etp, zero=0 to zero=3 or auto "
            "in a strategy but got 'fsdp'");
  EXPECT_EQ(strategyError("zero=4"),
            "expects pp, dp, cp, tp, sp, ep=N, etp, zero=0 to zero=3 or auto "
            "in a strategy but got 'zero=4'");
  EXPECT_EQ(strategyError("dp,auto"),
            "expects auto alone or beside pp in a strategy but got 'dp,auto'");
  EXPECT_EQ(strategyError("dp,dp"),
            "expects each item of a strategy once but got 'dp' twice");
  EXPECT_EQ(strategyError("zero=1,zero=3"),
            "expects each item of a strategy once but got 'zero' twice");
}

TEST(Strategy, strategy_must_match_the_mesh) {
  EXPECT_EQ(mismatch("dp,tp", "dp=2,tp=2"), "");
  EXPECT_EQ(mismatch("dp,tp", "dp=2"),
            "strategy 'tp' expects an axis 'tp' but got mesh 'dp=2'");
  EXPECT_EQ(mismatch("tp,sp,zero=3", "tp=2"),
            "strategy 'zero=3' expects an axis 'dp' but got mesh 'tp=2'");
  EXPECT_EQ(mismatch("dp", "dp=2,tp=2"),
            "expects a strategy that uses every axis but got none for 'tp' of "
            "mesh 'dp=2,tp=2'");
  EXPECT_EQ(mismatch("dp", "dp=2,tp=1"), "");
  EXPECT_EQ(mismatch("dp,cp", "dp=2"),
            "strategy 'cp' expects an axis 'cp' but got mesh 'dp=2'");
  EXPECT_EQ(mismatch("dp", "dp=2,cp=2"),
            "expects a strategy that uses every axis but got none for 'cp' of "
            "mesh 'dp=2,cp=2'");
  EXPECT_EQ(mismatch("cp=all_to_all:3", "cp=4"),
            "strategy 'cp=all_to_all:3' expects a divisor of axis 'cp' but got "
            "mesh 'cp=4'");
  EXPECT_EQ(mismatch("cp,sp", "cp=2,tp=2"),
            "strategy 'sp' beside 'cp' expects 'tp' too but got 'cp,sp'");
  EXPECT_EQ(mismatch("auto", "a=2,b=2"), "");
}

} // namespace
