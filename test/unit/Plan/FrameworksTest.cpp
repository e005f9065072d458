//===- FrameworksTest.cpp - Options of frameworks for a plan --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/Frameworks.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

Plan planOf(Framework framework, llvm::StringRef text) {
  GivenPlan own, given;
  EXPECT_EQ(llvm::toString(own.parse(text)), "");
  given = own;
  applyFramework(framework, own, given);
  return given.plan;
}

TEST(Frameworks, names_are_their_presets) {
  EXPECT_EQ(getNames<Framework>().size(), 8u);
  EXPECT_EQ(parseName<Framework>("megatron-2021"), Framework::Megatron2021);
  EXPECT_FALSE(parseName<Framework>("megatron"));
}

TEST(Frameworks, a_framework_of_today_fuses_and_overlaps) {
  for (Framework framework : {Framework::MegatronCore, Framework::NeMo}) {
    Plan plan = planOf(framework, "tp=2");
    EXPECT_EQ(plan.attention, AttentionKind::Flash);
    EXPECT_TRUE(plan.fusedLoss && plan.overlap && plan.sp);
    EXPECT_FALSE(plan.dropout || plan.eager);
    EXPECT_EQ(plan.overlapTp, framework == Framework::NeMo);
  }
  Plan old = planOf(Framework::Megatron2021, "tp=2");
  EXPECT_EQ(old.attention, AttentionKind::Naive);
  EXPECT_TRUE(old.dropout);
  EXPECT_FALSE(old.overlap || old.sp || old.fusedLoss);
}

TEST(Frameworks, what_is_given_holds) {
  Plan plan = planOf(Framework::Megatron2021, "attention=flash,overlap=true");
  EXPECT_EQ(plan.attention, AttentionKind::Flash);
  EXPECT_TRUE(plan.overlap && plan.dropout);
}

TEST(Frameworks, settings_depend_on_the_axes) {
  EXPECT_TRUE(planOf(Framework::Torchtitan, "zero=3").f32Parameters);
  EXPECT_FALSE(planOf(Framework::Torchtitan, "zero=3,pp=2").f32Parameters);
  EXPECT_FALSE(planOf(Framework::Torchtitan, "zero=1").f32Parameters);
  EXPECT_EQ(planOf(Framework::Nanotron, "dp=2").gradCopyBytes, 2);
  EXPECT_EQ(planOf(Framework::Nanotron, "dp=2,zero=1").gradCopyBytes, 4);
  EXPECT_EQ(planOf(Framework::Nanotron, "dp=1").gradCopyBytes, 0);
  EXPECT_EQ(planOf(Framework::FSDP, "dp=2,zero=3").gatherCopyBytes, 18);
  EXPECT_EQ(planOf(Framework::FSDP, "dp=2").gatherCopyBytes, 0);
  EXPECT_EQ(planOf(Framework::DeepSpeed, "precision=f16").optimizerCopyBytes,
            52);
  EXPECT_EQ(
      planOf(Framework::DeepSpeed, "precision=f16,zero=1").optimizerCopyBytes,
      0);
  EXPECT_EQ(planOf(Framework::DeepSpeed, "").optimizerCopyBytes, 0);
}

TEST(Frameworks, settings_are_described) {
  EXPECT_EQ(
      describeSettings(planOf(Framework::NeMo, "tp=2")),
      "attention flash, fused-loss, grad-dtype bf16, overlap, overlap-tp, "
      "sp, stage-layers even");
  EXPECT_EQ(describeSettings(planOf(Framework::Tessera, "tp=2,sp=true")),
            "attention flash, fused-epilogues, fused-loss, keep-gathered, "
            "pad-to-multiple-of 64, grad-dtype f32, overlap, sp, "
            "stage-layers time, host-launch-us 0.1, step-floor-us 100, "
            "no-grad-buffers");
  EXPECT_EQ(describeSettings(planOf(Framework::DeepSpeed, "")),
            "attention naive, grad-dtype bf16, stage-layers even, "
            "host-launch-us 62, no-batch-transfers, no-pxn");
}

} // namespace
