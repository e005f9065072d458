//===- ModuleTextTest.cpp - Texts that MLIR's parser cannot take ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ModuleText.h"
#include "gtest/gtest.h"

using namespace tessera;

static std::string errorOf(const std::string &text) {
  return llvm::toString(checkModuleText("f.mlir", text));
}

static std::string repeat(const std::string &text, int64_t count) {
  std::string all;
  for (int64_t i = 0; i < count; ++i)
    all += text;
  return all;
}

TEST(ModuleText, depth) {
  for (std::string bracket : {"(", "[", "{", "tuple<"}) {
    EXPECT_EQ(errorOf("\n " + repeat(bracket, kMaxBracketDepth)), "");
    std::string error = errorOf("\n " + repeat(bracket, kMaxBracketDepth + 1));
    EXPECT_EQ(error,
              "f.mlir:2:" +
                  std::to_string(1 + bracket.size() * (kMaxBracketDepth + 1)) +
                  ": expects at most 1000 brackets inside of each "
                  "other");
  }
  // Consecutive brackets, in strings and in comments; arrows.
  EXPECT_EQ(errorOf(repeat("({[<>]}) -> ", 5000)), "");
  EXPECT_EQ(errorOf("\"" + repeat("(\\\"", 5000) + "\""), "");
  EXPECT_EQ(errorOf("// " + repeat("(", 5000)), "");
  EXPECT_EQ(errorOf(repeat("(a) -> (b)", 5000)), "");
  EXPECT_NE(errorOf("//\n" + repeat("(", 5000)), "");
  EXPECT_EQ(errorOf("ML\xefR" + repeat("(", 5000)), "");
}

TEST(ModuleText, results) {
  EXPECT_EQ(errorOf("%a.b-c:100000 = f\n%0#99999, 4294967295, %x : i32"), "");
  EXPECT_EQ(errorOf("x = 3 %a : #4294967295"), "");
  EXPECT_EQ(errorOf("\n%ab#100001"),
            "f.mlir:2:4: expects at most 100000 results of an op");
  EXPECT_NE(errorOf("%0:99999999999999999999999 = f"), "");
}

TEST(ModuleText, arrays) {
  EXPECT_EQ(errorOf("\n{a = array<index: 2>}"),
            "f.mlir:2:11: expects an array of integers or floats but got one "
            "of index");
  EXPECT_NE(errorOf("array< index >"), "");
  EXPECT_EQ(errorOf("array<i64: 2> !llvm.array<index> \"array<index>\""), "");
  EXPECT_EQ(errorOf("array<indexed: 2> // array<index>"), "");
}
