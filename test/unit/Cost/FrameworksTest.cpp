//===- FrameworksTest.cpp - Options of frameworks for a plan --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Frameworks.h"
#include "tessera/Support/Share.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

Framework readIt(llvm::StringRef name) {
  auto framework = readFramework(name);
  EXPECT_TRUE(bool(framework)) << llvm::toString(framework.takeError());
  return framework ? *framework : Framework();
}

ExecutedPlan apply(const Framework &framework, llvm::StringRef text,
                   const FrameworkRun &run = {}) {
  GivenExecutedPlan own, given;
  EXPECT_EQ(llvm::toString(own.parse(text)), "");
  given = own;
  applyFramework(framework, own, run, given);
  return given.plan;
}

ExecutedPlan planOf(llvm::StringRef name, llvm::StringRef text,
                    const FrameworkRun &run = {}) {
  return apply(readIt(name), text, run);
}

TEST(Frameworks, all_files_are_read) {
  std::vector<std::string> names = listShared("frameworks");
  for (const char *name :
       {"megatron-core", "megatron-2021", "nemo", "torchtitan", "fsdp",
        "deepspeed", "nanotron", "tessera"})
    EXPECT_TRUE(llvm::is_contained(names, name)) << name;
  for (const std::string &name : names)
    EXPECT_EQ(readIt(name).name, name);
  EXPECT_TRUE(readIt("deepspeed-bf16").isFitted);
  EXPECT_FALSE(readIt("tessera").isFitted);
}

TEST(Frameworks, a_framework_of_today_fuses_and_overlaps) {
  for (llvm::StringRef framework : {"megatron-core", "nemo"}) {
    ExecutedPlan plan = planOf(framework, "tp=2");
    EXPECT_EQ(plan.attention, AttentionKind::Flash);
    EXPECT_TRUE(plan.fusedLoss && plan.overlap && plan.sp);
    EXPECT_FALSE(plan.dropout || plan.eager);
    EXPECT_EQ(plan.overlapTp, framework == "nemo");
  }
  ExecutedPlan old = planOf("megatron-2021", "tp=2");
  EXPECT_EQ(old.attention, AttentionKind::Naive);
  EXPECT_TRUE(old.dropout);
  EXPECT_FALSE(old.overlap || old.sp || old.fusedLoss);
}

TEST(Frameworks, what_is_given_holds) {
  ExecutedPlan plan = planOf("megatron-2021", "attention=flash,overlap=true");
  EXPECT_EQ(plan.attention, AttentionKind::Flash);
  EXPECT_TRUE(plan.overlap && plan.dropout);
}

TEST(Frameworks, settings_depend_on_the_axes) {
  EXPECT_TRUE(planOf("torchtitan", "zero=3").f32Parameters);
  EXPECT_FALSE(planOf("torchtitan", "zero=3,pp=2").f32Parameters);
  EXPECT_FALSE(planOf("torchtitan", "zero=1").f32Parameters);
  EXPECT_EQ(planOf("nanotron", "dp=2").gradCopyBytes, 2);
  EXPECT_EQ(planOf("nanotron", "dp=2,zero=1").gradCopyBytes, 4);
  EXPECT_EQ(planOf("nanotron", "dp=1").gradCopyBytes, 0);
  EXPECT_EQ(planOf("fsdp", "dp=2,zero=3").gatherCopyBytes, 18);
  EXPECT_EQ(planOf("fsdp", "dp=2").gatherCopyBytes, 0);
  EXPECT_EQ(planOf("deepspeed", "precision=f16").optimizerCopyBytes, 52);
  EXPECT_EQ(planOf("deepspeed", "precision=f16,zero=1").optimizerCopyBytes, 0);
  EXPECT_EQ(planOf("deepspeed", "").optimizerCopyBytes, 0);
}

TEST(Frameworks, settings_are_described) {
  EXPECT_EQ(
      describeSettings(planOf("nemo", "tp=2")),
      "attention flash, fused-loss, grad-dtype bf16, overlap, overlap-tp, "
      "sp, stage-layers even");
  EXPECT_EQ(describeSettings(planOf("tessera", "tp=2,sp=true")),
            "attention flash, fused-epilogues, fused-loss, keep-gathered, "
            "pad-to-multiple-of 64, grad-dtype f32, overlap, sp, "
            "stage-layers time, host-launch-us 0.1, step-floor-us 100, "
            "grad-buffers off");
  EXPECT_EQ(describeSettings(planOf("deepspeed", "")),
            "attention naive, grad-dtype bf16, stage-layers even, "
            "host-launch-us 62, batch-transfers off, pxn off");
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST(Frameworks, settings_depend_on_model_and_device) {
  FrameworkRun llama{"llama3-8b", "H100-SXM-80GB"},
      gpt{"gpt3-5b", "GB200-186GB"};
  EXPECT_TRUE(planOf("nemo-24.07", "", llama).fusedLoss);
  EXPECT_FALSE(planOf("nemo-24.07", "document-tokens=200", llama).fusedLoss);
  EXPECT_FALSE(planOf("nemo-24.07", "", gpt).fusedLoss);
  EXPECT_FALSE(planOf("nemo-24.07", "tp=2,lora-rank=32", llama).sp);
  EXPECT_TRUE(planOf("megatron-bridge", "zero=3", llama).registeredBuffers);
  EXPECT_FALSE(planOf("megatron-bridge", "zero=3", gpt).registeredBuffers);
}

TEST(Frameworks, versions_differ_from_one_another) {
  EXPECT_EQ(planOf("torchtitan", "tp=2").lossChunks, 8);
  EXPECT_EQ(planOf("torchtitan-2025.12", "tp=2").lossChunks, 1);
  EXPECT_EQ(planOf("torchtitan-2025.07", "tp=2").lossCopies, 3);
  EXPECT_EQ(planOf("torchtitan-2025.07", "").lossCopies, 0);
  EXPECT_EQ(planOf("mlperf-3.0", "").attention, AttentionKind::Flash1);
  EXPECT_EQ(planOf("internevo", "zero=3").gradCopyBytes, 14);
  EXPECT_EQ(planOf("internevo", "zero=1").gradCopyBytes, 18);
}

/// A framework file with these settings.
std::string fileOf(llvm::StringRef settings, llvm::StringRef more = "") {
  return (R"({"name": "mine", "about": "a test", )" + more +
          R"("settings": [)" + settings + "]}")
      .str();
}

ExecutedPlan planOfFile(llvm::StringRef settings, llvm::StringRef text,
                        llvm::StringRef more = "") {
  auto framework = parseFramework(fileOf(settings, more), "mine.json");
  EXPECT_TRUE(bool(framework)) << llvm::toString(framework.takeError());
  return framework ? apply(*framework, text) : ExecutedPlan();
}

TEST(Frameworks, conditions_are_values_ranges_and_alternatives) {
  llvm::StringRef any = R"({"when": [{"dp": "2..4"}, {"zero": 3, "tp": "..2"}],
    "set": {"eager": true}, "source": "a test"})";
  EXPECT_TRUE(planOfFile(any, "dp=2").eager);
  EXPECT_FALSE(planOfFile(any, "dp=5").eager);
  EXPECT_TRUE(planOfFile(any, "dp=5,zero=3").eager);
  EXPECT_FALSE(planOfFile(any, "dp=5,zero=3,tp=4").eager);
  llvm::StringRef value = R"({"when": {"precision": "f16", "sp": true},
    "set": {"host-launch-us": 3.5}, "source": "a test"})";
  EXPECT_EQ(planOfFile(value, "precision=f16,sp=true").hostLaunchMicros, 3.5);
  EXPECT_EQ(planOfFile(value, "precision=bf16,sp=true").hostLaunchMicros, 0);
}

TEST(Frameworks, a_file_adds_to_the_one_that_it_is_like) {
  ExecutedPlan plan =
      planOfFile(R"({"set": {"attention": "flash1"}, "source": "a test"})",
                 "tp=2", R"("like": "nemo", )");
  EXPECT_EQ(plan.attention, AttentionKind::Flash1);
  EXPECT_TRUE(plan.overlapTp && plan.fusedLoss);
}

std::string errorOf(llvm::StringRef settings, llvm::StringRef more = "") {
  auto framework = parseFramework(fileOf(settings, more), "mine.json");
  return framework ? "none" : llvm::toString(framework.takeError());
}

TEST(Frameworks, errors_name_the_field) {
  EXPECT_EQ(
      errorOf(R"({"set": {"eagre": true}, "source": "s"})"),
      "mine.json: settings[0]: set: eagre: expects a known field; did you "
      "mean 'eager'?");
  EXPECT_EQ(errorOf(R"({"set": {"eager": 2}, "source": "s"})"),
            "mine.json: settings[0]: set: eager: expects true or false but got "
            "2");
  EXPECT_EQ(errorOf(R"({"set": {"dp": 2}, "source": "s"})"),
            "mine.json: settings[0]: set: expects no 'dp', which a layout "
            "decides");
  EXPECT_EQ(errorOf(R"({"set": {}})"),
            "mine.json: settings[0]: source: expects a text but got nothing");
  EXPECT_EQ(errorOf(R"({"when": {"zero": 4}, "set": {}, "source": "s"})"),
            "mine.json: settings[0]: when: zero: expects an integer from 0 to "
            "3 but got 4");
  EXPECT_EQ(errorOf(R"({"when": {"host": 4}, "set": {}, "source": "s"})"),
            "mine.json: settings[0]: when: expects a field of a plan, 'model' "
            "or 'device' but got 'host'");
  EXPECT_EQ(errorOf(R"({"when": 1, "set": {}, "source": "s"})"),
            "mine.json: settings[0]: when: expects an object of conditions, or "
            "a list of these but got 1");
  EXPECT_EQ(errorOf("", R"("liek": "nemo", )"),
            "mine.json: expects a known field but got 'liek'; did you mean "
            "'like'?");
  llvm::StringRef error = "mine.json: like: expects one of deepspeed, ";
  EXPECT_EQ(errorOf("", R"("like": "megatron", )").substr(0, error.size()),
            error);
  EXPECT_EQ(llvm::toString(readFramework("none.json").takeError()),
            "none.json: No such file or directory");
}

} // namespace
