//===- FactorProjectionTest.cpp - Shardings of dimensions on factors ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Propagation/FactorProjection.h"
#include "TestProblem.h"

using namespace tessera;

namespace {

/// Mesh a=4, b=2, c=6, d=8.
class FactorProjectionTest : public ::testing::Test {
protected:
  TestProblem p{"a=4,b=2,c=6,d=8"};

  std::string print(const AxisList &axes) {
    std::string text;
    llvm::raw_string_ostream os(text);
    p.problem.mesh.print(os, axes);
    llvm::erase(text, '"');
    return text;
  }
  /// Formats axes factor by factor, then ` + ` and the rest, if any.
  std::string project(llvm::StringRef axes, llvm::ArrayRef<int64_t> sizes) {
    DimProjection projection = projectDim(p.parseAxes(axes), sizes);
    std::string text;
    for (const AxisList &factor : projection.factors)
      text += print(factor);
    if (!projection.rest.empty())
      text += " + " + print(projection.rest);
    return text;
  }
  std::string unproject(std::initializer_list<llvm::StringRef> axes,
                        llvm::ArrayRef<int64_t> sizes) {
    llvm::SmallVector<AxisList> lists;
    for (llvm::StringRef list : axes)
      lists.push_back(p.parseAxes(list));
    return print(unprojectDim(lists, sizes));
  }
};

TEST_F(FactorProjectionTest, one_factor_takes_all) {
  EXPECT_EQ(project("a,b", {8}), "{a, b}");
  EXPECT_EQ(project("a", {17}), "{a}");
  EXPECT_EQ(project("a,b", {4}), "{a, b}");
  EXPECT_EQ(project("", {8}), "{}");
}

TEST_F(FactorProjectionTest, axes_go_major_to_minor) {
  EXPECT_EQ(project("a,b", {4, 8}), "{a}{b}");
  EXPECT_EQ(project("b", {4, 8}), "{b}{}");
  EXPECT_EQ(project("b,a", {2, 8}), "{b}{a}");
}

TEST_F(FactorProjectionTest, axis_is_split_where_a_factor_ends) {
  EXPECT_EQ(project("a", {2, 4}), "{a:(1)2}{a:(2)2}");
  EXPECT_EQ(project("d", {2, 2, 2}), "{d:(1)2}{d:(2)2}{d:(4)2}");
  EXPECT_EQ(project("b,d", {4, 8}), "{b, d:(1)2}{d:(2)4}");
}

TEST_F(FactorProjectionTest, uneven_axis_stays_on_the_major_factor) {
  EXPECT_EQ(project("d", {12, 64}), "{d}{}");
  EXPECT_EQ(project("d,b", {12, 64}), "{d, b}{}");
  EXPECT_EQ(project("d", {3, 64}), "{d}{}");
  // Padded to 8, the dimension is fully sharded.
  EXPECT_EQ(project("d,b", {3, 64}), "{d}{b}");
}

TEST_F(FactorProjectionTest, inner_factors_are_split_exactly) {
  EXPECT_EQ(project("b,c", {2, 4}), "{b}{c:(1)2} + {c:(2)3}");
  EXPECT_EQ(project("b,a,d", {2, 4}), "{b}{a} + {d}");
  EXPECT_EQ(project("d", {2, 2}), "{d:(1)2}{d:(2)2} + {d:(4)2}");
}

TEST_F(FactorProjectionTest, no_factor_takes_nothing) {
  EXPECT_EQ(project("a", {}), " + {a}");
}

TEST_F(FactorProjectionTest, unproject_needs_full_major_factors) {
  EXPECT_EQ(unproject({"a", "b"}, {4, 8}), "{a, b}");
  EXPECT_EQ(unproject({"b", "a"}, {4, 8}), "{b}");
  EXPECT_EQ(unproject({"", "a"}, {4, 8}), "{}");
  EXPECT_EQ(unproject({"d", "b"}, {3, 8}), "{d, b}");
}

TEST_F(FactorProjectionTest, unproject_merges_parts) {
  EXPECT_EQ(unproject({"a:(1)2", "a:(2)2"}, {2, 4}), "{a}");
}

TEST_F(FactorProjectionTest, unproject_inverts_project) {
  for (llvm::StringRef axes : {"a", "a,b", "b,a", "d,b", "d,a"}) {
    AxisList list = p.parseAxes(axes);
    for (const llvm::SmallVector<int64_t> &sizes :
         {llvm::SmallVector<int64_t>{2, 16}, {8, 4}, {2, 2, 8}, {32}}) {
      DimProjection projection = projectDim(list, sizes);
      EXPECT_TRUE(projection.rest.empty());
      EXPECT_EQ(unprojectDim(projection.factors, sizes), list);
    }
  }
}

TEST_F(FactorProjectionTest, exact_prefix) {
  EXPECT_EQ(print(exactPrefix(p.parseAxes("a,b"), 8)), "{a, b}");
  EXPECT_EQ(print(exactPrefix(p.parseAxes("c,b"), 4)), "{c:(1)2}");
  EXPECT_EQ(print(exactPrefix(p.parseAxes("a"), 9)), "{}");
}

} // namespace
