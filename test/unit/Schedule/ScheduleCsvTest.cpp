//===- ScheduleCsvTest.cpp - Schedules to CSV and back --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/ScheduleCsv.h"
#include "tessera/Schedule/Generators.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::schedule;

namespace {

std::string write(const ScheduleProblem &problem, const Schedule &schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::cantFail(writeScheduleCsv(problem, schedule, os));
  return text;
}

std::string errorOf(llvm::StringRef text) {
  auto read = readScheduleCsv(text, "a.csv");
  return read ? "" : llvm::toString(read.takeError());
}

TEST(ScheduleCsv, writes_the_names_of_stages) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::DualPipeV, 2, 2, 4));
  Schedule schedule = generate(ScheduleKind::DualPipeV, problem);
  std::string text = write(problem, schedule);
  EXPECT_EQ(text, "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,"
                  "(3F2;0B0)OVERLAP_F_B,3B2,(3F3;0B1)OVERLAP_F_B,3B3,0I2,0W2,"
                  "0I3,0W3\n"
                  "1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,"
                  "(1F3;2B1)OVERLAP_F_B,(2F3;1B1)OVERLAP_F_B,2B2,1B2,2I3,1I3,"
                  "2W3,1W3\n");
  // The transfers are determined by the list.
  insertTransfers(problem, schedule);
  EXPECT_EQ(write(problem, schedule), text);
}

TEST(ScheduleCsv, every_kind_comes_back) {
  for (ScheduleKind kind : allScheduleKinds())
    for (int p : {1, 2, 4, 5})
      for (int m : {3, 8, 11}) {
        auto problem = makeProblem(kind, p, 3, m);
        if (!problem || problem->numPaths() > 1) {
          llvm::consumeError(problem.takeError());
          continue;
        }
        SCOPED_TRACE(testing::Message()
                     << stringify(kind).str() << " on " << p << " ranks");
        Schedule schedule = generate(kind, *problem);
        auto read = readScheduleCsv(write(*problem, schedule), "a.csv");
        ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
        EXPECT_EQ(read->schedule, schedule);
        EXPECT_EQ(read->problem.ranks, p);
        EXPECT_EQ(read->problem.chunks, problem->chunks);
        EXPECT_EQ(read->problem.microBatches, m);
        for (int stage = 0; stage < problem->stages(); ++stage)
          EXPECT_EQ(read->problem.slotOf(stage, 0), problem->slotOf(stage, 0));
      }
}

TEST(ScheduleCsv, a_second_copy_of_the_model_has_no_name) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::DualPipe, 2, 2, 4));
  EXPECT_EQ(
      llvm::toString(writeScheduleCsv(
          problem, generate(ScheduleKind::DualPipe, problem), llvm::nulls())),
      "expects each stage on one rank, as CSV has no names for a second "
      "copy of the model, but got 2 copies");
}

/// Lines end as in Python's csv module. Cells without an action and actions on
/// parameters are skipped. Stages may be on any rank.
TEST(ScheduleCsv, passes_over_what_is_no_task) {
  auto read = readScheduleCsv("1UNSHARD,,1F0, 1B0 ,1REDUCE_GRAD,1RESHARD\r\n"
                              "0F0,,,,0I0,0W0\r\n",
                              "a.csv");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->problem.stageOf({0, 0}), 1);
  EXPECT_EQ(read->problem.stageOf({1, 0}), 0);
  std::string text;
  llvm::raw_string_ostream os(text);
  read->schedule.print(os);
  EXPECT_EQ(text, "rank 0: F0.0 BW0.0\nrank 1: F0.0 B0.0 W0.0\n");
}

TEST(ScheduleCsv, errors_name_line_and_cell) {
  EXPECT_EQ(errorOf(""), "a.csv: expects one line of actions per rank but got "
                         "none");
  EXPECT_EQ(errorOf("0F0,0B0\n\n1F0,1B0\n"),
            "a.csv: line 2: expects the actions of a rank but got none");
  for (llvm::StringRef text : {"0G0", "F0", "0F", "x", "0F0x", "0F99999999",
                               "(0F1;0B0)", "-1F0", "(0F1;0B0OVERLAP_F_B"})
    EXPECT_EQ(errorOf(("0F0," + text + "\n").str()),
              ("a.csv: line 1, cell 2: expects an action such as 0F4, 1I2, "
               "1W2, 2B3 or (0F4;3B1)OVERLAP_F_B but got '" +
               text + "'")
                  .str());
  EXPECT_EQ(errorOf("0F0,(0F1;0I0)OVERLAP_F_B\n"),
            "a.csv: line 1, cell 2: expects a forward and a whole backward, as "
            "(0F4;3B1)OVERLAP_F_B, but got '(0F1;0I0)OVERLAP_F_B'");
  EXPECT_EQ(errorOf("0F0,0SEND_F0\n"),
            "a.csv: line 1, cell 2: expects a list without sends and receives, "
            "which follow from it, but got '0SEND_F0'");
}

TEST(ScheduleCsv, names_what_is_missing_doubled_or_misplaced) {
  EXPECT_EQ(errorOf("0F0,0B0\n1F0,0B0,1B0\n"),
            "a.csv: line 2, cell 2: expects stage 0 on one rank but got it at "
            "line 1, cell 1 too");
  EXPECT_EQ(errorOf("0F0,0B0,0F0\n1F0,1B0\n"),
            "a.csv: line 1, cell 3: expects 0F0 once but got it at line 1, "
            "cell 1 too");
  EXPECT_EQ(errorOf("0F0,0B0,,0W0\n1F0,1B0\n"),
            "a.csv: line 1, cell 4: expects 0W0 once but got it at line 1, "
            "cell 2 too");
  EXPECT_EQ(errorOf("0F0,0B0\n1F0,1I0\n"),
            "a.csv: line 2: expects 1W0 of the micro-batches 0 to 0 but it is "
            "missing");
  EXPECT_EQ(errorOf("0F0,0B0\n2F0,2B0\n"),
            "a.csv: expects the stages 0 to 2 but got none of stage 1");
  EXPECT_EQ(errorOf("0F0,0B0,2F0,2B0\n1F0,1B0\n"),
            "a.csv: expects as many stages on each rank but got 2 on rank 0 "
            "and 1 on rank 1");
  EXPECT_EQ(errorOf("0B0,0F0\n1F0,1B0\n"),
            "a.csv: line 1, cell 1: expects 0I0 after 0F0, which is at line 1, "
            "cell 2");
  EXPECT_EQ(errorOf("0F0,0W0,0I0\n1F0,1B0\n"),
            "a.csv: line 1, cell 2: expects 0W0 after 0I0, which is at line 1, "
            "cell 3");
  EXPECT_EQ(errorOf("(0F0;0B0)OVERLAP_F_B\n"),
            "a.csv: line 1, cell 1: expects 0I0 after 0F0, which is at line 1, "
            "cell 1");
}

TEST(ScheduleCsv, names_an_action_that_is_there_by_mistake) {
  EXPECT_EQ(errorOf("0F0,0B0,0F1,0B1\n1F0,1B0,1F9,1B1\n"),
            "a.csv: line 2, cell 3: expects micro-batches that follow each "
            "other but got 1F9 and none of micro-batch 2");
  EXPECT_EQ(errorOf("0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B2\n"),
            "a.csv: line 2, cell 4: expects all actions of micro-batch 2 but "
            "got 1I2 without 0F2");
  // One task is missing, although most are there.
  EXPECT_EQ(errorOf("0F0,0B0,0F1\n1F0,1B0,1F1,1B1\n"),
            "a.csv: line 1: expects 0I1 of the micro-batches 0 to 1 but it is "
            "missing");
}

TEST(ScheduleCsv, names_who_waits_in_a_deadlock) {
  // Rank 1 runs the backward of the second micro-batch first; rank 0 needs the
  // first one's to continue.
  EXPECT_EQ(errorOf("0F0,0B0,0F1,0B1\n1F0,1F1,1B1,1B0\n"),
            "a.csv: deadlock: each of these waits for another: line 1, cell 2: "
            "0B0; line 2, cell 2: 1F1");
}

} // namespace
