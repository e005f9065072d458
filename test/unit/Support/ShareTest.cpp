//===- ShareTest.cpp - Files that come with the tools ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Share.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

std::string resolve(llvm::StringRef value) {
  auto path = resolveShared("clusters", value, "--cluster");
  return path ? *path : llvm::toString(path.takeError());
}

TEST(Share, files_are_found_by_name) {
  std::string path = findShared("clusters", "h100-sxm-ib");
  EXPECT_TRUE(
      llvm::StringRef(path).ends_with("share/clusters/h100-sxm-ib.json"))
      << path;
  EXPECT_TRUE(llvm::sys::fs::exists(path));
  EXPECT_EQ(findShared("clusters", "h100"), "");
  EXPECT_EQ(findShared("clusters", ""), "");
  EXPECT_EQ(findShared("clusters", "../models/gpt2"), "");
  EXPECT_EQ(findShared("planets", "h100-sxm-ib"), "");
}

TEST(Share, names_are_listed_in_order) {
  std::vector<std::string> names = listShared("models");
  EXPECT_TRUE(llvm::is_sorted(names));
  EXPECT_TRUE(llvm::is_contained(names, "llama3-8b"));
  EXPECT_TRUE(listShared("planets").empty());
}

TEST(Share, a_value_is_a_file_or_a_name) {
  EXPECT_EQ(resolve("h100-sxm-ib"), findShared("clusters", "h100-sxm-ib"));
  EXPECT_EQ(resolve("mine.json"), "mine.json");
  EXPECT_EQ(resolve("my/cluster"), "my/cluster");
  std::string text = resolve("h100-sxm-ip");
  llvm::StringRef error = text;
  EXPECT_TRUE(
      error.starts_with("--cluster expects a file, or one of a100-40-sxm-ib, "))
      << text;
  EXPECT_TRUE(
      error.ends_with(", but got 'h100-sxm-ip'; did you mean 'h100-sxm-ib'?"))
      << text;
}

} // namespace
