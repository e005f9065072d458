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
  EXPECT_EQ(parseBytes("3KiB"), 3072);
  EXPECT_EQ(parseBytes("512MiB"), 512 << 20);
  EXPECT_EQ(parseBytes("1.5GiB"), 1536 << 20);
  EXPECT_EQ(parseBytes("2TB"), 2'000'000'000'000);
  // Programs took these before the tools had units.
  EXPECT_EQ(parseBytes("64K"), 64'000);
  EXPECT_EQ(parseBytes("64Ki"), 65'536);
  EXPECT_EQ(parseBytes("2G"), 2'000'000'000);
}

TEST(Bytes, ReadsCounts) {
  EXPECT_EQ(parseCount("0"), 0);
  EXPECT_EQ(parseCount("9007199254740993"), 9007199254740993);
  EXPECT_EQ(parseCount("4k"), 4'000);
  EXPECT_EQ(parseCount("4Ki"), 4'096);
  EXPECT_EQ(parseCount("1.5M"), 1'500'000);
  EXPECT_EQ(parseCount("2Mi"), 2 << 20);
  EXPECT_EQ(parseCount("300B"), 300'000'000'000);
  EXPECT_EQ(parseCount("15T"), 15'000'000'000'000);
  EXPECT_EQ(parseAmount("15.6T"), 15.6e12);
  EXPECT_EQ(parseAmount("15e12"), 15e12);
  EXPECT_EQ(parseAmount("0.5"), 0.5);
  // A unit of bytes, a fraction, units that are none.
  for (const char *text : {"", "k", "-1", "1.5", "1.0005k", "4KB", "4K", "1G",
                           "4 k", "0x10", "9223372036854775807k"})
    EXPECT_FALSE(parseCount(text)) << text;
}

TEST(Bytes, KeepsWholeNumbers) {
  EXPECT_EQ(parseBytes("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parseBytes("9007199254740993"), 9007199254740993);
}

TEST(Bytes, RefusesOtherTexts) {
  for (const char *text :
       {"", "MB", "-1", "-1MB", "many", "nanGB", "infGB", "1e30GB", "3 TB",
        "100B", "0x10", "1GiBB", "9223372036854775807k"})
    EXPECT_FALSE(parseBytes(text)) << text;
}

} // namespace
