//===- RunRecordTest.cpp - Tests of the record of attempts ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "runtime/src/checkpoint/RunRecord.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace tessera::rt;
namespace fs = std::filesystem;

static Progress makeProgress() {
  Progress progress;
  progress.from = 10;
  progress.to = 30;
  progress.began = 1000;
  progress.now = 1050;
  progress.times = {1, 2, 3, 4, 0};
  return progress;
}

TEST(run_record, progress_there_and_back) {
  Progress progress = makeProgress(), read;
  EXPECT_EQ(parseProgress(describeProgress(progress) + "   ", read), "");
  EXPECT_EQ(describeProgress(read), describeProgress(progress));
  EXPECT_NE(parseProgress("{}", read), "");
  std::swap(progress.from, progress.to);
  EXPECT_NE(parseProgress(describeProgress(progress), read), "");
}

TEST(run_record, steps_before_a_checkpoint_are_kept) {
  // Of 40 s of steps a quarter was after the checkpoint of step 25.
  RunTimes times = timesOf(makeProgress(), 25, 1060);
  EXPECT_EQ(times.stepsKept, 15);
  EXPECT_EQ(times.stepsRepeated, 5);
  EXPECT_DOUBLE_EQ(times.kept, 30);
  EXPECT_DOUBLE_EQ(times.repeated, 10);
  EXPECT_DOUBLE_EQ(times.down, 10);
  EXPECT_DOUBLE_EQ(times.total(), 60);
  EXPECT_DOUBLE_EQ(times.goodput(), 0.5);
  // An attempt that has accounted for itself leaves the time after it.
  Progress closed = makeProgress();
  closed.isClosed = true;
  EXPECT_DOUBLE_EQ(timesOf(closed, 30, 1060).total(), 10);
}

TEST(run_record, attempts_add_up) {
  std::string folder = temporary("record");
  fs::create_directories(folder);
  double now = wallSeconds();
  {
    RunRecord killed;
    ASSERT_EQ(killed.open(folder, 0, now - 100, "\"ranks\": 2"), "");
    ASSERT_EQ(killed.update(8, {10, 20, 0, 0, 0}), "");
  }
  RunRecord last;
  ASSERT_EQ(last.open(folder, 6, now, "\"ranks\": 2"), "");
  ASSERT_EQ(last.close(20, {}), "");
  RunTimes times;
  ASSERT_EQ(last.sum(times), "");
  EXPECT_EQ(times.stepsKept, 20);
  EXPECT_EQ(times.stepsRepeated, 2);
  EXPECT_NEAR(times.total(), 100, 1);
  EXPECT_NEAR(times.kept + times.repeated, 70, 1);
  EXPECT_EQ(linesOf(readFile(folder + "/record.jsonl")).size(), 4u);
  // A line that was cut, and a damaged progress, end no run.
  std::ofstream(folder + "/record.jsonl", std::ios::app) << "{\"event\": \"ti";
  std::ofstream(folder + "/progress") << "{\"from\": 1";
  RunRecord next;
  ASSERT_EQ(next.open(folder, 20, now, "\"ranks\": 2"), "");
  RunTimes again;
  ASSERT_EQ(next.sum(again), "");
  EXPECT_DOUBLE_EQ(again.total(), times.total());
  fs::remove_all(folder);
}
