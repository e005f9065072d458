//===- ProgramTest.cpp - A whole program, end to end ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs programs/Mesh4.c, which is linked with the runtime as generated code is.
// Checks its exit status, its output and the files that it leaves.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "Ranks.h"

#include "runtime/src/data/Npy.h"
#include "runtime/src/kernels/CpuKernels.h"
#include "runtime/src/support/Json.h"
#include "runtime/src/support/Random.h"

#include <dirent.h>
#include <signal.h>

using namespace tessera::rt;

namespace {
Outcome run(const std::string &arguments, const std::string &before = "") {
  return runProgram(MESH4_PROGRAM, arguments, before);
}

std::string dataFile() {
  return writeText("text", "It was the best of times, it was the worst of "
                           "times, it was the age of wisdom.");
}
} // namespace

TEST(program, results_are_assembled) {
  std::string directory = temporary("results") + "/deeper";
  Outcome outcome = run("--ranks 4 --seed 5 --data " + dataFile() +
                        " --steps 2 --save-outputs " + directory);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  NpyArray whole, blocks, sum;
  ASSERT_EQ(whole.open(directory + "/whole.npy"), "");
  ASSERT_EQ(blocks.open(directory + "/blocks.npy"), "");
  ASSERT_EQ(sum.open(directory + "/sum.npy"), "");
  // The numbers of an unsharded tensor, without the padding.
  std::vector<float> wanted(30);
  cpuKernels().normal(randomKey(5, "w"), 0, 30, 0.0f, 0.5f, wanted.data());
  EXPECT_EQ(whole.shape, (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(floatsOf(blocks), wanted);
  EXPECT_EQ(floatsOf(whole), wanted);
  // The second batch; each row of tokens is on two ranks.
  std::string text = readFile(dataFile());
  int32_t total = 0;
  for (size_t i = 32; i < 64; ++i)
    total += 2 * text[i];
  EXPECT_EQ(*reinterpret_cast<const int32_t *>(sum.elements), total);
  // The folder has only complete files, and their manifest.
  DIR *listing = opendir(directory.c_str());
  int files = 0;
  while (dirent *entry = readdir(listing))
    files += entry->d_name[0] != '.';
  closedir(listing);
  EXPECT_EQ(files, 4);
}

TEST(program, inputs_replace_initialisers) {
  std::string directory = temporary("inputs");
  ASSERT_EQ(system(("mkdir -p " + directory).c_str()), 0);
  std::vector<float> values(30);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i);
  ASSERT_EQ(
      writeNpy(directory + "/w.npy", TESSERA_RT_F32, {5, 6}, values.data()),
      "");
  std::string arguments = "--quiet --random-data --inputs " + directory +
                          " --save-outputs " + directory + "/out";
  ASSERT_EQ(run(arguments).status, 0);
  NpyArray blocks;
  ASSERT_EQ(blocks.open(directory + "/out/blocks.npy"), "");
  EXPECT_EQ(floatsOf(blocks), values);
  // Another shape, another type, half a file.
  ASSERT_EQ(
      writeNpy(directory + "/w.npy", TESSERA_RT_F32, {6, 5}, values.data()),
      "");
  expectError(run(arguments), "expects f32[5, 6], but got f32[6, 5]");
  ASSERT_EQ(
      writeNpy(directory + "/w.npy", TESSERA_RT_I32, {5, 6}, values.data()),
      "");
  expectError(run(arguments), "expects f32[5, 6], but got i32[5, 6]");
  ASSERT_EQ(system(("truncate -s 150 " + directory + "/w.npy").c_str()), 0);
  expectError(run(arguments), "the file is truncated");
}

TEST(program, json_report) {
  Outcome outcome = run("--quiet --report json --steps 3 --data " + dataFile());
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
  Json json;
  std::string error;
  ASSERT_TRUE(parseJson(outcome.out, json, error)) << error;
  EXPECT_EQ(json.getInteger("ranks", 0), 4);
  EXPECT_EQ(json.getArray("step_seconds").size(), 3u);
  EXPECT_EQ(json.getArray("cpu_seconds").size(), 4u);
  // The sums by steps and by ranks are equal.
  EXPECT_GT(json.find("init_cpu_seconds")->number, 0);
  ASSERT_EQ(json.getArray("step_cpu_seconds").size(), 3u);
  double bySteps = 0, byRanks = 0;
  for (const Json &seconds : json.getArray("step_cpu_seconds"))
    bySteps += seconds.number;
  for (const Json &seconds : json.getArray("cpu_seconds"))
    byRanks += seconds.number;
  EXPECT_GT(bySteps, 0);
  EXPECT_NEAR(bySteps, byRanks, 1e-5);
  const std::vector<Json> &collectives = json.getArray("collectives");
  ASSERT_EQ(collectives.size(), 3u);
  EXPECT_EQ(collectives[0].getString("op"), "all_gather");
  EXPECT_EQ(collectives[0].getString("axes"), "tp");
  EXPECT_EQ(collectives[0].getInteger("calls", 0), 3);
  EXPECT_EQ(collectives[0].getInteger("bytes_received_per_rank", 0), 3 * 36);
}

/// A list of many steps is complete.
TEST(program, json_report_of_many_steps) {
  Outcome outcome =
      run("--quiet --report json --steps 500 --data " + dataFile());
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  Json json;
  std::string error;
  ASSERT_TRUE(parseJson(outcome.out, json, error)) << error;
  EXPECT_EQ(json.getArray("step_seconds").size(), 500u);
  EXPECT_EQ(json.getArray("step_cpu_seconds").size(), 500u);
}

TEST(program, mistakes) {
  expectError(run("--ranks 0"), "but got '0'");
  expectError(run("--ranks four"), "but got 'four'");
  expectError(run("--ranks 2"), "compiled for 4");
  expectError(run("--quiet"), "argument 'tokens' needs tokens");
  expectError(run("--quiet --data /nonexistent"), "cannot open '/nonexistent'");
  expectError(run("--quiet --inputs /nonexistent --random-data"),
              "cannot read the directory");
  expectError(run("--quiet --random-data --save-outputs /proc/x"), "/proc/x");
  expectError(run("", "RANK=0 WORLD_SIZE=2"), "starts 2 ranks");
  expectError(run("", "RANK=0 WORLD_SIZE=4 PMI_RANK=1 PMI_SIZE=4"), "PMI says");
}

TEST(program, manifest_and_help) {
  Outcome manifest = run("--manifest");
  EXPECT_EQ(manifest.status, 0);
  Json json;
  std::string error;
  EXPECT_TRUE(parseJson(manifest.out, json, error));
  Outcome help = run("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("--save-outputs"), std::string::npos);
}

TEST(program, output_that_is_lost_is_an_error) {
  for (const char *arguments :
       {"--help", "--manifest", "--random-data --quiet --report json",
        "--random-data --log=jsonl"})
    expectError(run(std::string(arguments) + " >/dev/full"),
                "cannot write all of standard output");
  Outcome text = run("--random-data >/dev/full");
  EXPECT_EQ(text.status, 1);
  EXPECT_NE(text.err.find("cannot write all of standard output"),
            std::string::npos);
  // A forward program's lines about steps.
  EXPECT_EQ(run("--random-data 2>/dev/full").status, 1);
}

TEST(program, faults_at_a_collective) {
  std::string arguments = "--quiet --timeout 0.5 --data " + dataFile();
  expectError(run(arguments, "TESSERA_RT_FAULT=2:2:kill"),
              "rank 2 was killed by signal 9 (Killed); it was at all_gather 2; "
              "its last collective is all_gather #1 (",
              exitMayRestart);
  expectError(run(arguments, "TESSERA_RT_FAULT=3:1:stop"),
              "rank 3 is stopped; it was at all_gather w; its last collective "
              "is the barrier",
              exitMayRestart);
  expectError(run(arguments, "TESSERA_RT_FAULT=0:3:sleep"),
              "rank 0 is running, but does not arrive; it was at the rest; its "
              "last collective is all_gather #2 (",
              exitMayRestart);
}

/// Time after which all ranks have begun their steps.
#ifdef TESSERA_SANITIZED
static const std::string secondsToStart = "2";
#else
static const std::string secondsToStart = "0.3";
#endif

/// A program that gets a signal while it trains.
class SignalTest : public testing::TestWithParam<const char *> {};

TEST_P(SignalTest, ends_it_cleanly) {
  const char *signal = GetParam();
  auto interrupt = [&](const std::string &arguments, const char *fault,
                       const std::string &more) {
    std::string command = arguments + " --random-data & pid=$!; sleep " +
                          secondsToStart + "; kill -" + signal + " $pid; " +
                          more + "wait $pid; exit $?";
    // A shell ignores SIGINT in background jobs: make it default again.
    return run(command, std::string(fault) + " env --default-signal=INT");
  };
  // The run ends after the current step. A scheduler that ends a job is told
  // that steps remain.
  bool isByHand = strcmp(signal, "INT") == 0;
  Outcome outcome = interrupt("--steps 100000000", "", "");
  EXPECT_EQ(outcome.status, isByHand ? 0 : 143) << outcome.err;
  EXPECT_NE(outcome.err.find(format("stopped by SIG%s after step ", signal)),
            std::string::npos);
  EXPECT_NE(outcome.out.find("4 ranks x"), std::string::npos);
  // Rank 1 sleeps, so the step does not end until a second signal ends it.
  std::string again = std::string("sleep 0.2; kill -") + signal + " $pid; ";
  outcome = interrupt("--quiet", "TESSERA_RT_FAULT=1:2:sleep", again);
  int number = isByHand ? 2 : strcmp(signal, "TERM") == 0 ? 15 : 1;
  EXPECT_EQ(outcome.status, 128 + number) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(program, SignalTest,
                         testing::Values("INT", "TERM", "HUP"));

TEST(program, is_not_ended_by_a_signal_that_its_caller_ignores) {
  // nohup.
  Outcome ignored = run("--steps 300 --random-data & pid=$!; sleep 0.1; kill "
                        "-HUP $pid; wait $pid; exit $?",
                        "trap '' HUP; ");
  EXPECT_EQ(ignored.status, 0) << ignored.err;
}

TEST(program, joins_ranks_of_another_launcher) {
  std::string directory = temporary("joined");
  // Starts four processes in the background with torchrun's variables.
  auto start = [&](const std::string &extra) {
    return run("--quiet --timeout 10 --random-data --save-outputs " +
                   directory +
                   " & pids=\"$pids $!\"; done; code=0; for pid in $pids; do "
                   "wait $pid; codes=\"$codes $?\"; done; echo $codes; "
                   "[ \"$codes\" = ' 0 0 0 0' ]",
               "for r in 0 1 2 3; do " + extra +
                   " RANK=$r WORLD_SIZE=4 MASTER_PORT=1234 "
                   "TORCHELASTIC_RUN_ID=test-" +
                   std::to_string(getpid()));
  };
  Outcome outcome = start("");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  NpyArray whole;
  EXPECT_EQ(whole.open(directory + "/whole.npy"), "");
  // A signal to one of them ends all of them after their step.
  Outcome stopped =
      run("--quiet --random-data --steps 100000000 & pids=\"$pids $!\"; done; "
          "sleep 0.5; kill -TERM $!; code=143; for pid in $pids; do wait $pid; "
          "[ $? = 143 ] || code=1; done; exit $code",
          "for r in 0 1 2 3; do RANK=$r WORLD_SIZE=4 MASTER_PORT=1234 "
          "TORCHELASTIC_RUN_ID=stop-" +
              std::to_string(getpid()));
  EXPECT_EQ(stopped.status, 143) << stopped.err;
  // A dead rank is noticed by its peers, and nothing is left in shared memory.
  Outcome fault = start("TESSERA_RT_FAULT=2:2:kill");
  EXPECT_EQ(fault.out, "75 75 137 75\n");
  for (const char *job : {"/test-", "/stop-"}) {
    std::string path = meetingPathOf(job + std::to_string(getpid()) + "/1234");
    EXPECT_NE(access(path.c_str(), F_OK), 0) << path;
  }
}
