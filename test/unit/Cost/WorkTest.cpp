//===- WorkTest.cpp - Names of a program's work ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Work.h"
#include "gtest/gtest.h"

using namespace tessera::cost;

namespace {

TEST(PlanAxis, names) {
  for (PlanAxis axis : {PlanAxis::PP, PlanAxis::EDP, PlanAxis::Shard})
    EXPECT_EQ(parsePlanAxis(stringify(axis)), axis);
  EXPECT_EQ(parsePlanAxis("cp_heads"), PlanAxis::CPHeads);
  EXPECT_FALSE(parsePlanAxis("x"));
  EXPECT_FALSE(parsePlanAxis(""));
  EXPECT_EQ(stringify({PlanAxis::DP, PlanAxis::CP}), "dp+cp");
  EXPECT_EQ(stringify(llvm::ArrayRef<PlanAxis>()), "");
}

} // namespace
