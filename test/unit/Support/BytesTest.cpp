//===- BytesTest.cpp ------------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Bytes.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

TEST(Bytes, ReadsUnits) {
  EXPECT_EQ(parseBytes("0"), 0);
  EXPECT_EQ(parseBytes("4096"), 4096);
  EXPECT_EQ(parseBytes("3MB"), 3'000'000);
  EXPECT_EQ(parseBytes("1.5GB"), 1'500'000'000);
  EXPECT_EQ(parseBytes("2kB"), 2000);
  EXPECT_EQ(parseBytes("2KB"), 2000);
}

TEST(Bytes, KeepsWholeNumbers) {
  EXPECT_EQ(parseBytes("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parseBytes("9007199254740993"), 9007199254740993);
}

TEST(Bytes, RefusesOtherTexts) {
  for (const char *text :
       {"", "MB", "-1", "-1MB", "many", "nanGB", "infGB", "1e30GB", "3 TB"})
    EXPECT_FALSE(parseBytes(text)) << text;
}

} // namespace
