//===- RunLogTest.cpp - The log of a run as tables ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/RunLog.h"
#include "gtest/gtest.h"

using namespace tessera;
using llvm::StringRef;

namespace {

DocumentSection read(StringRef text) {
  auto section = readRunLog(text, "run.jsonl");
  EXPECT_TRUE(bool(section)) << llvm::toString(section.takeError());
  return section ? *section : DocumentSection();
}

std::string errorOf(StringRef text) {
  auto section = readRunLog(text, "run.jsonl");
  return section ? "" : llvm::toString(section.takeError());
}

std::string print(const DocumentSection &section, StringRef name) {
  const Table *table = section.find(name);
  if (!table)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  table->print(os);
  return text;
}

const char *const kLog =
    "{\"event\": \"remark\", \"step\": 1, \"text\": \"slow\"}\n"
    "{\"event\": \"step\", \"step\": 1, \"loss\": 5.5, \"lr\": 3e-3, \"ms\": "
    "14.5, \"mfu\": null, \"tokens_per_second\": 17556.25}\n"
    "{\"event\": \"eval\", \"step\": 1, \"loss\": 5.25, \"ms\": 1}\n"
    "{\"event\": \"step\", \"step\": 2, \"loss\": null, \"lr\": 2e-3, \"ms\": "
    "15, \"undone\": true}\n"
    "{\"event\": \"step\", \"step\": 2, \"loss\": null, \"lr\": 2e-3, \"ms\": "
    "15.25, \"undone\": false}\n"
    "{\"event\": \"step\", \"step\": 3, \"loss\": 4.75, \"lr\": 1e-3, \"ms\": "
    "15.5}\n"
    "{\"seconds\": 1}\n"
    "{\"event\": \"st";

/// Steps that were undone, other events and the beginning of a line are left
/// out; so are columns without a number.
TEST(RunLog, steps_and_evaluations) {
  DocumentSection section = read(kLog);
  EXPECT_EQ(section.kind, "run");
  EXPECT_EQ(print(section, "steps"),
            "  step      loss         lr     ms  tokens/s\n"
            "  1     5.500000  3.000e-03  14.50     17556\n"
            "  2            -  2.000e-03  15.25         -\n"
            "  3     4.750000  1.000e-03  15.50         -\n");
  EXPECT_EQ(print(section, "evaluations"), "  step      loss\n"
                                           "  1     5.250000\n");
  ASSERT_EQ(section.findings.size(), 3u);
  EXPECT_EQ(section.findings[0].second, "Loss 4.7500 after 3 steps");
  EXPECT_EQ(section.findings[1].second, "The loss falls from 5.5000 to 4.7500");
  EXPECT_EQ(section.findings[2].second,
            "Half of the steps reach 17,556 tokens a second");
}

/// Steps of both runs are joined; the last step that both have is compared.
TEST(RunLog, two_runs) {
  DocumentSection a = read(kLog);
  DocumentSection b =
      read("{\"event\": \"step\", \"step\": 1, \"loss\": 5.0, \"mfu\": 0.5}\n"
           "{\"event\": \"step\", \"step\": 2, \"loss\": 4.5, \"mfu\": 0.5}\n");
  DocumentSection both = compareRuns(a, b, "a", "b");
  EXPECT_EQ(both.kind, "compare-runs");
  ASSERT_EQ(both.tables.size(), 1u);
  EXPECT_EQ(print(both, "loss"), "  step         a         b\n"
                                 "  1     5.500000  5.000000\n"
                                 "  2            -  4.500000\n"
                                 "  3     4.750000         -\n");
  ASSERT_EQ(both.findings.size(), 1u);
  EXPECT_EQ(both.findings[0].second, "Losses 5.5000 and 5.0000 at step 1");
}

TEST(RunLog, errors) {
  EXPECT_EQ(errorOf(""), "run.jsonl: expects a step of a run, \"event\": "
                         "\"step\", but got none");
  EXPECT_EQ(errorOf("[]\n{}\n"),
            "run.jsonl: line 1: expects an object but got another value");
  EXPECT_NE(errorOf("{\"event\": \"x\"}\n{\n{}\n")
                .find("run.jsonl: line 2: is not JSON: "),
            std::string::npos);
  EXPECT_EQ(errorOf("{\"event\": \"step\"}\n"),
            "run.jsonl: line 1: step: expects a number but got nothing");
  EXPECT_EQ(errorOf("{\"event\": \"step\", \"step\": 1, \"loss\": \"x\"}\n"),
            "run.jsonl: line 1: loss: expects a number or null but got \"x\"");
}

} // namespace
