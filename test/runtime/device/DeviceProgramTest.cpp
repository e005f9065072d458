//===- DeviceProgramTest.cpp - Whole programs for devices -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs programs/Device2.c: emulated, with every way to start ranks, with the
// same numbers each time; and not emulated, without a device.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "runtime/cuda/Device.h"
#include "runtime/src/support/Json.h"

#include <cstdlib>
#include <unistd.h>

using namespace tessera::rt;

namespace {
/// Output of the last program.
std::string report;

/// Runs the emulated program for 5 steps; returns w.
std::vector<float> train(const std::string &arguments,
                         const std::string &before = "") {
  std::string folder = temporary("device");
  EXPECT_EQ(system(("rm -rf " + folder).c_str()), 0);
  Outcome outcome =
      runProgram(DEVICE2_EMULATED,
                 "--steps 5 --random-data --log jsonl --save-final " + folder +
                     " " + arguments,
                 "unset TESSERA_EMULATE_LIBRARIES; " + before);
  report = outcome.out;
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  if (outcome.status)
    return {};
  NpyArray w, step;
  EXPECT_EQ(w.open(folder + "/w.npy"), "");
  EXPECT_EQ(step.open(folder + "/step.npy"), "");
  EXPECT_EQ(floatsOf(step), std::vector<float>{5});
  return floatsOf(w);
}

/// The last line of standard output.
Json reportOf(const std::string &out) {
  size_t begin = out.rfind('\n', out.size() - 2) + 1;
  Json json;
  std::string error;
  EXPECT_TRUE(parseJson(out.substr(begin), json, error)) << error << out;
  return json;
}
} // namespace

TEST(device_program, trains_alike_in_every_way) {
  std::vector<float> w = train("--ranks 2");
  // w' = w (1 - 3 / 4), from numbers between 1 and 2.
  for (float x : w) {
    EXPECT_GE(x, 1.0f / 1024);
    EXPECT_LT(x, 2.0f / 1024);
  }
  Json device = *reportOf(report).find("device");
  EXPECT_EQ(device.getString("matmul"), "host");
  EXPECT_EQ(device.getString("collectives"), "shared memory");
  EXPECT_GT(device.getInteger("graph_nodes", 0), 4);
  EXPECT_EQ(device.getInteger("launches", 0), 3);
  EXPECT_EQ(device.getInteger("allocations_after_two_steps", -1), 0);
  EXPECT_EQ(device.getNumber("matmul_flops", 0), 128);

  EXPECT_EQ(train("--ranks 2 --no-graph"), w);
  EXPECT_EQ(train("--simulate-ranks 2"), w);
  EXPECT_EQ(reportOf(report).find("device")->getString("collectives"),
            "one device");
  EXPECT_EQ(train("--ranks 2 --eval-every 2"), w) << "with evaluation";
}

TEST(device_program, no_order_that_is_left_open_matters) {
  std::vector<float> w = train("--ranks 2");
  for (int seed = 1; seed <= 4; ++seed) {
    std::string set =
        "export TESSERA_EMULATOR_SEED=" + std::to_string(seed) + ";";
    EXPECT_EQ(train("--ranks 2", set), w);
    EXPECT_EQ(train("--ranks 2 --no-graph", set), w);
    EXPECT_EQ(train("--simulate-ranks 2", set), w);
  }
}

TEST(device_program, uses_the_libraries_that_are_named) {
  std::vector<float> w = train("--ranks 2");
  std::string tune = temporary("device.tune");
  unlink(tune.c_str());
  std::string set =
      "export TESSERA_EMULATE_LIBRARIES=1 TESSERA_CUDA_LIBRARY_PATH=" FAKES
      "/good;";
  // The tests' libraries support only the tests' streams, so steps are not
  // recorded.
  std::string options = "--ranks 2 --no-graph --tune-file " + tune;
  EXPECT_EQ(train(options, set), w);
  Json device = *reportOf(report).find("device");
  EXPECT_EQ(device.getString("matmul"), "cublaslt 13.1");
  EXPECT_EQ(device.getString("collectives"), "nccl 2.28.9");
  EXPECT_EQ(access(tune.c_str(), R_OK), 0);
  // A rank may end while another one still closes its communicators.
  EXPECT_EQ(train(options, set + " export FAKE_NCCL_SLOW_CLOSE=1;"), w);
  // The library has another version.
  std::string other =
      "export TESSERA_EMULATE_LIBRARIES=1 TESSERA_CUDA_LIBRARY_PATH=" FAKES
      "/newer:" FAKES "/good;";
  EXPECT_EQ(train(options, other), w);
  EXPECT_NE(readFile(temporary("err")).find("is for version 130100"),
            std::string::npos);
}

TEST(device_program, starts_and_says_what_is_missing) {
  std::string error;
  if (cuda::countCudaDevices(error) > 0)
    GTEST_SKIP() << "there is a device";
  for (const char *ranks : {"--ranks 2", "--simulate-ranks 2", ""}) {
    Outcome outcome = runProgram(DEVICE2_PROGRAM, ranks);
    expectError(outcome, error.c_str());
  }
  EXPECT_EQ(runProgram(DEVICE2_PROGRAM, "--manifest").status, 0);
  Outcome help = runProgram(DEVICE2_PROGRAM, "--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("--tune off|cache|on"), std::string::npos);
}

TEST(device_program, mistakes_are_one_line) {
  expectError(runProgram(DEVICE2_EMULATED, "--simulate-ranks 4"),
              "--simulate-ranks 4, but this program was compiled for 2");
  expectError(runProgram(DEVICE2_EMULATED, "--simulate-ranks 2 --ranks 2"),
              "expects --ranks or --simulate-ranks, but got both");
  expectError(runProgram(DEVICE2_EMULATED, "--simulate-ranks 2 --restarts 1"),
              "--restarts expects ranks that are processes");
  expectError(runProgram(DEVICE2_EMULATED, "--tune now"),
              "--tune expects off, cache or on, but got 'now'");
  expectError(runProgram(DEVICE2_EMULATED, "--memory-limit 1024"),
              "--memory-limit gives 1024");
  // A host program does not have these options.
  expectError(runProgram(MESH4_PROGRAM, "--tune off"),
              "unknown option '--tune'");
}

TEST(device_program, a_late_rank_is_named) {
  expectError(runProgram(DEVICE2_EMULATED,
                         "--random-data --ranks 2 --timeout 1",
                         "export DEVICE2_SLOW=1;"),
              "rank 1 is running, but does not arrive", exitMayRestart);
}

TEST(device_program, joins_the_job_of_another_launcher) {
  std::string folder = temporary("joined");
  EXPECT_EQ(system(("rm -rf " + folder).c_str()), 0);
  std::string arguments =
      " --steps 5 --random-data --quiet --save-final " + folder;
  // The second rank ends first or last.
  Outcome outcome =
      runProgram("RANK=0 " DEVICE2_EMULATED, arguments + "; wait $!",
                 "export WORLD_SIZE=2 TESSERA_RT_JOB_ID=device-" +
                     std::to_string(getpid()) + "; RANK=1 " DEVICE2_EMULATED +
                     arguments + " & ");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  NpyArray w;
  ASSERT_EQ(w.open(folder + "/w.npy"), "");
  EXPECT_EQ(floatsOf(w), train("--ranks 2"));
}

TEST(device_program, a_joined_rank_that_dies_ends_the_other) {
  std::string job = "dead-" + std::to_string(getpid());
  Outcome outcome =
      runProgram("RANK=0 " DEVICE2_EMULATED,
                 "--random-data --quiet; status=$?; wait; exit $status",
                 "export WORLD_SIZE=2 TESSERA_RT_JOB_ID=" + job +
                     "; ( export RANK=1 DEVICE2_SLOW=1; exec " DEVICE2_EMULATED
                     " --random-data --quiet 2>/dev/null ) & pid=$!; "
                     "( sleep 0.5; kill -9 $pid ) & ");
  expectError(outcome, "rank 1 is dead; ", exitMayRestart);
}
