//===- CostNetworkTest.cpp - Checks, costs and text of networks -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Search/CostNetwork.h"
#include "gtest/gtest.h"
#include <functional>

using namespace tessera::search;

/// Two variables with two states; an edge between them has three rows and one
/// column.
static CostNetwork makeNetwork() {
  CostNetwork network;
  network.addVariable({1, 2});
  network.addVariable({10, kInfinite});
  network.addTable({3, 1, {100, 200, kInfinite}});
  network.addClasses({0, 1});
  network.addClasses({0, 0});
  network.edges.push_back({0, 1, 0, 0, 1, /*weight=*/3});
  return network;
}

TEST(CostNetwork, Evaluate) {
  CostNetwork network = makeNetwork();
  EXPECT_EQ(network.evaluate({0, 0}), 1 + 10 + 3 * 100);
  EXPECT_EQ(network.evaluate({1, 0}), 2 + 10 + 3 * 200);
  EXPECT_EQ(network.evaluate({0, 1}), kInfinite);
  network.classes[0] = {2, 2};
  EXPECT_EQ(network.evaluate({0, 0}), kInfinite);
}

TEST(CostNetwork, SumsSaturate) {
  EXPECT_EQ(addCosts(kInfinite, kInfinite), kInfinite);
  EXPECT_EQ(addCosts(1, kInfinite), kInfinite);
  EXPECT_EQ(addCosts(1, 2), 3);
  EXPECT_EQ(scaleCost(kInfinite, 100), kInfinite);
}

TEST(CostNetwork, Errors) {
  using Change = std::function<void(CostNetwork &)>;
  std::pair<Change, const char *> cases[] = {
      {[](CostNetwork &n) { n.variables[1].costs.clear(); },
       "variable 1: expects a state but got none"},
      {[](CostNetwork &n) { n.variables[0].costs[0] = -1; },
       "variable 0: expects costs from 0 to infinity but got -1"},
      {[](CostNetwork &n) { n.tables[0].costs[1] = kInfinite + 1; },
       "table 0: expects costs from 0 to infinity but got 2305843009213693953"},
      {[](CostNetwork &n) { n.tables[0].costs.pop_back(); },
       "table 0: expects 3 x 1 costs but got 2"},
      {[](CostNetwork &n) { n.edges[0].second = 0; },
       "edge 0: expects two of 2 variables in order but got 0 and 0"},
      {[](CostNetwork &n) { n.edges[0].second = 2; },
       "edge 0: expects two of 2 variables in order but got 0 and 2"},
      {[](CostNetwork &n) { n.edges[0].table = 1; },
       "edge 0: expects one of 1 tables but got 1"},
      {[](CostNetwork &n) { n.edges[0].weight = 0; },
       "edge 0: expects a weight of 1 or more but got 0"},
      {[](CostNetwork &n) { n.edges[0].copies = 0; },
       "edge 0: expects an edge that stands for 1 or more but got 0"},
      {[](CostNetwork &n) { n.edges[0].firstClasses = 2; },
       "edge 0: expects one of 2 lists of classes but got 2"},
      {[](CostNetwork &n) { n.classes[1].push_back(0); },
       "edge 0: expects a class for each of the 2 states of variable 1 but got "
       "3"},
      {[](CostNetwork &n) { n.classes[1][1] = 1; },
       "edge 0: expects classes below 1 but got 1"},
      {[](CostNetwork &n) { n.edges[0].weight = int64_t(1) << 60; },
       "expects finite costs that sum to 36028797018963968 at most but got "
       "about 2.31E+20"},
  };
  EXPECT_EQ(llvm::toString(makeNetwork().check()), "");
  for (auto &[change, message] : cases) {
    CostNetwork network = makeNetwork();
    change(network);
    EXPECT_EQ(llvm::toString(network.check()), message);
  }
}

TEST(CostNetwork, Cfn) {
  std::string text;
  llvm::raw_string_ostream os(text);
  makeNetwork().writeCfn(os);
  EXPECT_EQ(text, R"({"problem": {"name": "tessera", "mustbe": "<614"},
"variables": {
"v0": ["s0", "s1"],
"v1": ["s0", "s1"]
},
"functions": {
"v0": {"scope": ["v0"], "costs": [1, 2]},
"v1": {"scope": ["v1"], "costs": [10, 614]},
"e0": {"scope": ["v0", "v1"], "costs": [300, 300, 600, 600]}
}}
)");
}
